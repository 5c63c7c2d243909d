#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/data/complaint.hpp"
#include "demo/language/request.hpp"

namespace karmad::demo {

using Json = rapidjson::Value;

/// The member of that name; nullptr if there is none, or no object.
inline const Json* find_member(const Json* json, const char* name) {
  if (json == nullptr || !json->IsObject()) return nullptr;
  const auto found = json->FindMember(name);
  return found == json->MemberEnd() ? nullptr : &found->value;
}
inline const Json* find_member(const Json& json, const char* name) {
  return find_member(&json, name);
}
/// The text of that member; empty if it is missing or no text.
std::string_view text_member(const Json& json, const char* name);

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
  std::vector<SelectItem> items{};  ///< the `expressions`

  /// The column of that name; if there is none, adds a complaint and returns any column.
  Column column(std::string_view name);
};

/// A point, and the two columns that have the points of documents.
struct Place2d {
  double lat = 0, lon = 0;
  std::vector<Column> columns;
};
/// Reads `location_anchor` and `location_source`; nothing after a complaint.
std::optional<Place2d> read_place(const Json& json, Reading& reading);

std::size_t read_count(const Json& json, std::string_view name, Reading& reading);
bool read_flag(const Json& json, std::string_view name, Reading& reading);

/// A key of that type that sorts; a list cannot.
OrderKey order_key(Expression by, bool descending, Reading& reading);

Query read_query(const Json& json, Reading& reading);
std::vector<Aggregation> read_aggregations(const Json& json, Reading& reading);

/// Reads `knn`, an object or an array of them.
std::vector<Knn> read_knn(const Json& json, Reading& reading);
/// Reads `hybrid`, {"query": text}: a search for its words and for its vector, fused.
void read_hybrid(const Json& json, Select& out, Reading& reading);
/// Reads `rank_constant`, `window_size` and `fusion_weights` of `options`.
void read_fusion(const Json& options, Fusion& out);

std::string_view text_of(const Json& json);
Literal literal_of(const Json& json);
/// The values of a scroll token, one for each sort key; nothing: it is none.
std::optional<std::vector<Literal>> scroll_values(std::string_view token);
/// The value as JSON.
std::string json_text(const Json& json);

}  // namespace karmad::demo
