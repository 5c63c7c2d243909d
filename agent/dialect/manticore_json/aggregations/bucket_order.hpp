#pragma once

#include <rapidjson/document.h>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// One item of the `sort` or `order` of an aggregation, as the client wrote it.
struct OrderItem {
  std::string by;
  bool descending = false;
};

/// Reads `sort` or `order`, beside the kind (`body`) or in it (`inner`); empty when there is none.
/// Refuses (400) what is no order, and two of them. `aggregation`: its name, for the reason.
std::expected<std::vector<OrderItem>, ClientError> read_order(std::string_view aggregation,
                                                              const rapidjson::Value& body,
                                                              const rapidjson::Value& inner);

/// Attributes have no case, the members of a JSON attribute have.
bool same_field(std::string_view a, std::string_view b);

/// Replaces what `read_order` reads by `items`, written as `sort` beside the kind.
void write_order(const std::vector<OrderItem>& items, rapidjson::Value& body,
                 rapidjson::Document::AllocatorType& pool);

}  // namespace karmad
