#include <fmt/format.h>

#include <algorithm>

#include "demo/data/text.hpp"
#include "demo/language/read_request.hpp"

namespace karmad {

namespace {

double degrees_of(const Json& anchor, const char* name, Reading& reading) {
  const auto* value = anchor.IsObject() ? find_member(anchor, name) : nullptr;
  if (value != nullptr && value->IsNumber()) return value->GetDouble();
  reading.complaint.say(400, "\"location_anchor\" should have the numbers \"lat\" and \"lon\"");
  return 0;
}

SortKey read_distance_key(const Json& how, Reading& reading) {
  SortKey out{.by = SortKey::By::computed, .computed = reading.computed.size()};
  const auto* order = find_member(how, "order");
  out.descending = order != nullptr && order->IsString() && text_of(*order) == "desc";
  const auto place = read_place(how, reading);
  if (!place) return out;
  reading.computed.push_back(
      {.name = fmt::format("_geo_distance_{}", out.computed),
       .expression = fmt::format("GEODIST({:.6f}, {:.6f}, {}, {}, {{in=deg}})", place->lat,
                                 place->lon, place->columns[0].name, place->columns[1].name),
       .shown = false});
  return out;
}

SortKey read_sort_key(std::string_view name, const Json* direction, Reading& reading) {
  SortKey out;
  std::string_view order;
  bool has_mode = false;
  if (direction != nullptr && direction->IsString()) {
    order = text_of(*direction);
  } else if (direction != nullptr && direction->IsObject()) {
    const auto given = direction->FindMember("order");
    if (given != direction->MemberEnd() && given->value.IsString()) order = text_of(given->value);
    for (const auto* name_not_here : {"missing", "nested_path", "nested_filter"})
      if (direction->HasMember(name_not_here))
        reading.complaint.say(400, fmt::format("\"{}\" property not supported", name_not_here));
    const auto mode = direction->FindMember("mode");
    has_mode = mode != direction->MemberEnd();
    out.largest =
        mode != direction->MemberEnd() && mode->value.IsString() && text_of(mode->value) == "max";
  } else if (direction != nullptr) {
    reading.complaint.say(400, "\"sort\" order should be \"asc\" or \"desc\"");
  }
  if (name == "_score") {
    out.descending = order != "asc";
    return out;
  }
  out.descending = order == "desc";
  if (name == "_random") {
    out.by = SortKey::By::random;
    return out;
  }
  if (name == "_knn_dist" || name == "knn_dist()" || name == "_hybrid_score" ||
      name == "hybrid_score()") {
    out.by = name.find("knn") == name.npos ? SortKey::By::fused : SortKey::By::distance;
    return out;
  }
  if (name == "_geo_distance" && direction != nullptr && direction->IsObject())
    return read_distance_key(*direction, reading);
  const auto named = std::ranges::find(reading.computed, name, &Computed::name);
  if (named != reading.computed.end()) {
    out.by = SortKey::By::computed;
    out.computed = static_cast<std::size_t>(named - reading.computed.begin());
    return out;
  }
  const auto column = column_named(name);
  if (!column)
    reading.complaint.say(
        500, fmt::format("table {}: sort-by attribute '{}' not found", reading.table, name));
  out.by = SortKey::By::column;
  out.column = column.value_or(Column{});
  if (!has_mode) check_sortable(out.column, reading);
  return out;
}

/// The sort keys of a scroll token.
std::vector<SortKey> read_scroll_order(const Json& order, Reading& reading) {
  std::vector<SortKey> out;
  for (const auto& key : order.GetArray()) {
    const auto* name = key.IsObject() ? find_member(key, "attr") : nullptr;
    const auto* descending = key.IsObject() ? find_member(key, "desc") : nullptr;
    if (name == nullptr || !name->IsString()) {
      reading.complaint.say(400, "a key of the scroll token has no attribute");
      continue;
    }
    const bool is_score = text_of(*name) == "weight()";
    out.push_back(read_sort_key(is_score ? "_score" : text_of(*name), nullptr, reading));
    out.back().descending = descending != nullptr && descending->IsTrue();
  }
  return out;
}

/// The parsed token; no object: it is none.
rapidjson::Document parse_scroll(std::string_view text) {
  rapidjson::Document token;
  const auto json = from_base64(text);
  if (json)
    token.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(json->data(),
                                                                                     json->size());
  const auto* order = token.IsObject() ? find_member(token, "order_by") : nullptr;
  if (order == nullptr || !order->IsArray()) token.SetNull();
  return token;
}

}  // namespace

std::optional<Place2d> read_place(const Json& json, Reading& reading) {
  const Json none;
  const auto* anchor = find_member(json, "location_anchor");
  const auto& at = anchor == nullptr ? none : *anchor;
  Place2d out{degrees_of(at, "lat", reading), degrees_of(at, "lon", reading), {}};
  std::string names;
  const auto* source = find_member(json, "location_source");
  if (source != nullptr && source->IsString()) names = text_of(*source);
  if (source != nullptr && source->IsArray())
    for (const auto& item : source->GetArray())
      if (item.IsString()) names += (names.empty() ? "" : ",") + std::string(text_of(item));
  for (std::string_view rest = names; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    auto name = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    out.columns.push_back(reading.column(name));
  }
  if (out.columns.size() != 2)
    reading.complaint.say(400, "\"location_source\" should name two columns");
  if (reading.complaint) return std::nullopt;
  return out;
}

std::optional<std::vector<Literal>> scroll_values(std::string_view token) {
  const auto read = parse_scroll(token);
  if (!read.IsObject()) return std::nullopt;
  std::vector<Literal> out;
  for (const auto& key : find_member(read, "order_by")->GetArray())
    if (const auto* value = key.IsObject() ? find_member(key, "value") : nullptr)
      out.push_back(literal_of(*value));
  return out;
}

std::vector<Computed> read_expressions(const Json& json, Reading& reading) {
  constexpr std::size_t kMostExpressions = 32;
  std::vector<Computed> out;
  if (!json.IsObject() || json.MemberCount() > kMostExpressions) {
    reading.complaint.say(400, "\"expressions\" property value should be a small object");
    return out;
  }
  for (const auto& item : json.GetObject()) {
    const auto name = text_of(item.name);
    if (column_named(name))
      reading.complaint.say(
          500, fmt::format("table {}: alias '{}' must be unique (conflicts with another alias)",
                           reading.table, name));
    if (!item.value.IsString())
      reading.complaint.say(400, fmt::format("expression '{}' should be a string", name));
    else
      out.push_back({.name = std::string(name), .expression = std::string(text_of(item.value))});
  }
  return out;
}

std::vector<SortKey> read_sort(const Json& json, Reading& reading) {
  std::vector<SortKey> out;
  if (json.IsArray()) {
    for (const auto& item : json.GetArray())
      for (auto& key : item.IsArray() ? std::vector<SortKey>{} : read_sort(item, reading))
        out.push_back(std::move(key));
  } else if (json.IsString()) {
    out.push_back(read_sort_key(text_of(json), nullptr, reading));
  } else if (json.IsObject()) {
    for (const auto& item : json.GetObject())
      out.push_back(read_sort_key(text_of(item.name), &item.value, reading));
  } else {
    reading.complaint.say(400, "\"sort\" property value should be an array or an object");
  }
  return out;
}

/// The values after which a page begins, one for each sort key, of a token; or only the wish.
void read_scroll(const Json& json, SearchRequest& out, Reading& reading) {
  if (!json.IsString()) {
    out.scroll.wanted = read_flag(json, "scroll", reading);
    return;
  }
  const auto token = parse_scroll(text_of(json));
  if (!token.IsObject()) {
    reading.complaint.say(400, "unable to parse the scroll token");
    return;
  }
  out.scroll.wanted = true;
  if (out.sort.empty()) out.sort = read_scroll_order(*find_member(token, "order_by"), reading);
  out.scroll.after = *scroll_values(text_of(json));
}

void check_sortable(const Column& column, Reading& reading) {
  if (column.is_multi())
    reading.complaint.say(500, fmt::format("table {}: order by MVA is undefined", reading.table));
}

}  // namespace karmad
