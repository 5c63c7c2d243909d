#pragma once

#include <rapidjson/document.h>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/merge/aggregations.hpp"
#include "agent/dialect/request/client_request.hpp"

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

/// Plans a composite aggregation: fills in `aggregation`, and writes the shards' request without
/// its size into `inner`, the value of `composite`. By default each shard uses an order of its own.
/// So the shards get an explicit order: the client's, then the remaining sources. They start at the
/// first group, because a shard that lacks the group named in `after` could not continue from it.
/// `max_matches`: most groups a shard keeps. Refuses (400) what cannot be merged.
std::optional<ClientError> plan_composite(Aggregation& aggregation, std::size_t max_matches,
                                          const rapidjson::Value& body, rapidjson::Value& inner);

/// The order to request of the shards. The server names the sources by their fields.
std::vector<OrderItem> composite_order(const Aggregation& aggregation);

/// `text`: the bytes of the request's `aggs`, empty if there is none. Refuses what cannot be merged
/// from the shards' results: nested aggregations, percentiles, distinct counts, unknown kinds.
std::expected<AggregationPlan, ClientError> plan_aggregations(std::string_view text,
                                                              const SearchPage& page);

}  // namespace karmad
