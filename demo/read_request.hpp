#pragma once

#include <rapidjson/document.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/complaint.hpp"
#include "demo/request.hpp"

namespace karmad {

using Json = rapidjson::Value;

/// Whether one of `tables` is called `name`, letter case aside.
bool is_table(std::span<const std::string> tables, std::string_view name);

/// Reads the body of `POST /search`. The request is only of use when there is no complaint.
SearchRequest read_search(std::string_view body, std::span<const std::string> tables,
                          Complaint& complaint);

/// What the parts of a request's reader share.
struct Reading {
  std::string table;
  Complaint& complaint;
  std::vector<std::string> warnings;

  /// The column of that name, or a complaint and some column.
  Column column(std::string_view name);
};

/// Complains about a column that nothing can be sorted by.
void check_sortable(const Column& column, Reading& reading);

Query read_query(const Json& json, Reading& reading);
std::vector<Aggregation> read_aggregations(const Json& json, Reading& reading);

std::string_view text_of(const Json& json);
Literal literal_of(const Json& json);

}  // namespace karmad
