#pragma once

#include <rapidjson/document.h>

#include <expected>
#include <string>
#include <string_view>

#include "balancer/discovery/found.hpp"

namespace karmad {

// Reading the JSON of sources, which may hold anything.

using JsonValue = rapidjson::Value;

/// At most kLongestSource bytes; nesting costs no stack. The error names line and column.
std::expected<rapidjson::Document, std::string> parse_source(std::string_view text);

/// A value for people, at most 60 characters.
std::string shown(const JsonValue& value);

/// `{"address": "10.0.0.1:9308", "table": …, "shard": 1, "remote": …, "role": …, "tags": …,
/// "weight": 1, "state": …}`; only the address is required. The error names the member.
std::expected<FoundEntry, std::string> read_entry(const JsonValue& value);

/// A list of such objects, with at least one. The error names line and column, or the entry.
std::expected<FoundEntries, std::string> read_entries(std::string_view json);

/// What is wrong with the entries: too many, one address twice in a shard, or one that no server
/// has.
std::expected<void, std::string> check_entries(const FoundEntries& entries);

/// As a JSON object,
/// `{"tables":[{"name","mirrors":[…]}],"names":[{"host","srv","addresses","mirrors"
/// :[{"address","port","weight"}]}]}`. `mirrors` of a table: entries as above.
std::string last_found_json(const LastFound& found);
/// Reads the member `found` of a JSON object. What is missing or wrong is left out.
LastFound last_found_in(std::string_view json);

}  // namespace karmad
