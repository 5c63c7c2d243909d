#pragma once

#include <rapidjson/document.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/data/complaint.hpp"
#include "demo/language/request.hpp"

namespace karmad {

using Json = rapidjson::Value;

/// The member of that name of an object; nullptr if it has none.
inline const Json* find_member(const Json& json, const char* name) {
  const auto found = json.FindMember(name);
  return found == json.MemberEnd() ? nullptr : &found->value;
}

/// Whether one of `tables` has this name (case-insensitive).
bool is_table(std::span<const std::string> tables, std::string_view name);

/// Reads the body of `POST /search`. The request is valid only without a complaint.
SearchRequest read_search(std::string_view body, std::span<const std::string> tables,
                          Complaint& complaint);

/// The state that the parts of a request's reader share.
struct Reading {
  std::string table;
  Complaint& complaint;
  std::vector<std::string> warnings;

  /// The column of that name; if there is none, adds a complaint and returns any column.
  Column column(std::string_view name);
};

/// Complains about a column that cannot be a sort key.
void check_sortable(const Column& column, Reading& reading);

Query read_query(const Json& json, Reading& reading);
std::vector<Aggregation> read_aggregations(const Json& json, Reading& reading);

std::string_view text_of(const Json& json);
Literal literal_of(const Json& json);

}  // namespace karmad
