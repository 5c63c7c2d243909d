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

/// Reads `sort` or `order`, beside the kind (`body`) or inside it (`inner`); empty if there is
/// none. Refuses (400) a malformed order, or two of them; the reason names `aggregation`.
std::expected<std::vector<OrderItem>, ClientError> read_order(std::string_view aggregation,
                                                              const rapidjson::Value& body,
                                                              const rapidjson::Value& inner);

/// Compares names of attributes without case, and names of members of JSON attributes with case.
bool same_field(std::string_view a, std::string_view b);

/// Replaces the order that `read_order` found by `items`, written as `sort` beside the kind.
void write_order(const std::vector<OrderItem>& items, rapidjson::Value& body,
                 rapidjson::Document::AllocatorType& pool);

}  // namespace karmad
