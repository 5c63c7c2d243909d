#pragma once

#include <rapidjson/document.h>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/order/sort_key.hpp"

namespace karmad {

/// The key of `"_geo_distance":{…}`: the distance in metres, computed as the search server does.
/// `how`: null if it has no properties.
std::expected<SortKey, ClientError> distance_key(const rapidjson::Value* how);

/// The key of `"attribute":{"mode":…}`: the least or greatest of several values.
std::expected<SortKey, ClientError> least_or_greatest_key(std::string_view attribute,
                                                          const rapidjson::Value& mode);

/// Names the computed keys by their position.
void name_computed(std::vector<SortKey>& keys);

/// Keys that are names in the request's `expressions` (an object; may be empty) lead into no JSON
/// attribute.
void take_named_expressions(std::string_view expressions, std::vector<SortKey>& keys);

/// The members of `expressions` for the shards, without braces: empty if no key is computed.
std::string expressions_of(const std::vector<SortKey>& keys);

/// `"asc"` or `"desc"`.
std::expected<bool, ClientError> sorts_descending(std::string_view attribute,
                                                  const rapidjson::Value& order);

}  // namespace karmad
