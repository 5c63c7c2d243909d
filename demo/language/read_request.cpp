#include "demo/language/read_request.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>

#include "demo/data/text.hpp"
#include "demo/language/query_string.hpp"
#include "demo/sql/read_expression.hpp"

namespace karmad::demo {
namespace {

constexpr unsigned kParse = rapidjson::kParseFullPrecisionFlag | rapidjson::kParseIterativeFlag |
                            rapidjson::kParseValidateEncodingFlag;

/// Bounds the recursion of all functions that walk through a request.
constexpr unsigned kMaxDepth = 128;

bool deeper_than(unsigned limit, std::string_view json) {
  unsigned depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      if (++depth > limit) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

/// The names that `options` may have, as in the search server.
constexpr std::array kOptions{"accurate_aggregation",
                              "agent_query_timeout",
                              "boolean_simplify",
                              "comment",
                              "cutoff",
                              "distinct_precision_threshold",
                              "expand_keywords",
                              "expansion_limit",
                              "field_weights",
                              "fusion_method",
                              "fusion_weights",
                              "global_idf",
                              "idf",
                              "index_weights",
                              "jieba_mode",
                              "layer",
                              "local_df",
                              "low_priority",
                              "max_matches",
                              "max_predicted_time",
                              "max_query_time",
                              "morphology",
                              "not_terms_only_allowed",
                              "rand_seed",
                              "rank_constant",
                              "ranker",
                              "retry_count",
                              "retry_delay",
                              "reverse_scan",
                              "scroll",
                              "sort_method",
                              "threads",
                              "threads_ex",
                              "token_filter",
                              "window_size"};

/// Most keys by which hits and groups are sorted.
constexpr std::size_t kMostKeys = 5;

/// Top-level names that the demo does not support and that would change the answer.
constexpr std::array kNotHere{"join", "script_fields"};

std::vector<std::string> read_strings(const Json& json, std::string_view name, Reading& reading) {
  std::vector<std::string> out;
  if (json.IsString()) {
    out.emplace_back(text_of(json));
  } else if (json.IsArray() && std::all_of(json.Begin(), json.End(),
                                           [](const Json& item) { return item.IsString(); })) {
    for (const auto& item : json.GetArray()) out.emplace_back(text_of(item));
  } else {
    reading.complaint.say(400, "\"{}\" property value should be a string or an array of strings",
                          name);
  }
  return out;
}

Source read_source(const Json& json, Reading& reading) {
  Source out;
  if (json.IsBool()) {
    out.none = !json.GetBool();
  } else if (json.IsObject()) {
    if (const auto* includes = find_member(json, "includes"))
      out.includes = read_strings(*includes, "_source", reading);
    if (const auto* excludes = find_member(json, "excludes"))
      out.excludes = read_strings(*excludes, "_source", reading);
  } else {
    out.includes = read_strings(json, "_source", reading);  // an empty list: everything
    if (json.IsString() && json.GetStringLength() == 0) out.includes.clear();
  }
  return out;
}

std::string read_tag(const Json& json, Reading& reading) {
  const auto tags = read_strings(json, "highlight tags", reading);
  return tags.empty() ? std::string{} : tags[0];
}

Highlight read_highlight(const Json& json, Reading& reading) {
  Highlight out;
  if (!json.IsObject()) {
    reading.complaint.say(400, "\"highlight\" property value should be an object");
    return out;
  }
  for (const auto& item : json.GetObject()) {
    const auto name = text_of(item.name);
    if (name == "pre_tags") out.before = read_tag(item.value, reading);
    if (name == "post_tags") out.after = read_tag(item.value, reading);
    if (name == "limit") out.limit = read_count(item.value, name, reading);
    if (name != "fields") continue;
    out.fields = {};
    std::vector<std::string> fields;
    if (item.value.IsObject()) {
      for (const auto& field : item.value.GetObject()) fields.emplace_back(text_of(field.name));
    } else {
      fields = read_strings(item.value, "fields", reading);
    }
    for (const auto& field : fields) {
      const auto named = read_fields(field, reading.table, reading.complaint);
      out.fields.title |= named.title;
      out.fields.body |= named.body;
    }
  }
  return out;
}

std::string read_table(const Json& json, std::span<const std::string> tables,
                       Complaint& complaint) {
  const auto* found = find_member(json, "table");
  if (found == nullptr) found = find_member(json, "index");
  if (found == nullptr || !found->IsString()) {
    complaint.say(400, "\"table\" property {}",
                  found == nullptr ? "missing" : "value should be a string");
    return {};
  }
  std::string name(text_of(*found));
  if (!is_table(tables, name))
    complaint.say(500, "unknown local table(s) '{}' in search request", name);
  return name;
}

/// The latitude or the longitude of a place; of a list the longitude is the first.
const Json* coordinate(const Json* place, const char* name) {
  if (place != nullptr && place->IsArray() && place->Size() == 2)
    return &(*place)[name == std::string_view("lat") ? 1 : 0];
  return find_member(place, name);
}

double degrees_of(const Json* anchor, const char* name, Reading& reading) {
  const auto* value = coordinate(anchor, name);
  if (value != nullptr && value->IsNumber()) return value->GetDouble();
  reading.complaint.say(400, "\"location_anchor\" should have the numbers \"lat\" and \"lon\"");
  return 0;
}

Expression distance_from(const Place2d& place) {
  return call_expression("geodist",
                         {literal_expression(place.lat), literal_expression(place.lon),
                          column_expression(place.columns[0]), column_expression(place.columns[1]),
                          literal_expression("deg"), literal_expression("")});
}

OrderKey read_distance_key(const Json& how, Reading& reading) {
  OrderKey out;
  out.descending = text_member(how, "order") == "desc";
  if (const auto place = read_place(how, reading)) out.expression = distance_from(*place);
  out.attribute = "_geo_distance";
  return out;
}

/// What the name of a sort key stands for, without `mode` where that is empty.
Expression read_sort_operand(std::string_view name, std::string_view mode, Reading& reading) {
  if (name == "_score") return call_expression("weight", {});
  if (name == "_random") return call_expression("rand", {});
  if (name == "_knn_dist" || name == "knn_dist()") return call_expression("knn_dist", {});
  if (name == "_hybrid_score" || name == "hybrid_score()")
    return call_expression("hybrid_score", {});
  const auto item = std::ranges::find(reading.items, name, &SelectItem::name);
  if (item != reading.items.end()) return item->expression;
  const auto column = column_named(name);
  if (!column)
    reading.complaint.say(500, "table {}: sort-by attribute '{}' not found", reading.table, name);
  auto out = column_expression(column.value_or(Column{}));
  if (mode.empty() || !out.column.is_multi()) return out;
  out = call_expression(mode == "max" ? "greatest" : "least", {std::move(out)});
  out.type = CellType::bigint;
  return out;
}

OrderKey read_sort_key(std::string_view name, const Json* direction, Reading& reading) {
  std::string_view order;
  std::string_view mode;
  if (direction != nullptr && direction->IsString()) {
    order = text_of(*direction);
  } else if (direction != nullptr && direction->IsObject()) {
    const auto* const given_order = find_member(*direction, "order");  // as servers read it
    order = given_order == nullptr || *given_order == "asc" ? "asc" : "desc";
    for (const auto* name_not_here : {"missing", "nested_path", "nested_filter"})
      if (direction->HasMember(name_not_here))
        reading.complaint.say(400, "\"{}\" property not supported", name_not_here);
    if (const auto* given = find_member(*direction, "mode"))
      mode = given->IsString() ? text_of(*given) : "min";
    if (name == "_geo_distance") return read_distance_key(*direction, reading);
  } else if (direction != nullptr) {
    reading.complaint.say(400, "\"sort\" order should be \"asc\" or \"desc\"");
  }
  const bool descending = name == "_score" ? order != "asc" : order == "desc";
  auto out = order_key(read_sort_operand(name, mode, reading), descending, reading);
  if (std::ranges::find(reading.items, name, &SelectItem::name) != reading.items.end())
    out.attribute = name;
  return out;
}

/// The sort keys of a scroll token.
std::vector<OrderKey> read_scroll_order(const Json& order, Reading& reading) {
  std::vector<OrderKey> out;
  for (const auto& key : order.GetArray()) {
    const auto* name = find_member(key, "attr");
    const auto* descending = find_member(key, "desc");
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
  auto token = parse_object(from_base64(text).value_or(""));
  const auto* order = find_member(token, "order_by");
  if (order == nullptr || !order->IsArray()) return {};
  // A first key may be for the filter that servers make of it, and not of the order.
  const auto* written = find_member(token, "order_by_str");
  auto& keys = token["order_by"];
  if (written != nullptr && written->IsString() &&
      std::ptrdiff_t{keys.Size()} > std::ranges::count(text_of(*written), ',') + 1)
    keys.Erase(keys.Begin());
  return token;
}

Expression compiled(std::string_view text, Reading& reading) {
  SqlCursor cursor(text, reading.complaint);
  auto out = read_expression(cursor, {.table = reading.table});
  if (!cursor.at_end()) cursor.wrong();
  return out;
}

std::vector<SelectItem> read_expressions(const Json& json, Reading& reading) {
  constexpr std::size_t kMostExpressions = 32;
  std::vector<SelectItem> out;
  if (!json.IsObject() || json.MemberCount() > kMostExpressions) {
    reading.complaint.say(400, "\"expressions\" property value should be a small object");
    return out;
  }
  for (const auto& item : json.GetObject()) {
    const auto name = text_of(item.name);
    if (column_named(name))
      reading.complaint.say(500,
                            "table {}: alias '{}' must be unique (conflicts with another alias)",
                            reading.table, name);
    if (!item.value.IsString())
      reading.complaint.say(400, "expression '{}' should be a string", name);
    else
      out.push_back({compiled(text_of(item.value), reading), std::string(name)});
  }
  return out;
}

std::vector<OrderKey> read_sort(const Json& json, Reading& reading) {
  std::vector<OrderKey> out;
  if (json.IsArray()) {
    for (const auto& item : json.GetArray())
      for (auto& key : item.IsArray() ? std::vector<OrderKey>{} : read_sort(item, reading))
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
void read_scroll(const Json& json, Select& out, Reading& reading) {
  if (!json.IsString()) {
    out.scrolls = read_flag(json, "scroll", reading);
    return;
  }
  const auto token = parse_scroll(text_of(json));
  if (!token.IsObject()) return reading.complaint.say(400, "unable to parse the scroll token");
  out.scrolls = true;
  if (out.order.empty()) out.order = read_scroll_order(*find_member(token, "order_by"), reading);
  out.after = *scroll_values(text_of(json));
}

void read_options(const Json& json, SearchRequest& out, Reading& reading) {
  if (!json.IsObject())
    return reading.complaint.say(400, "\"options\" property value should be an object");
  for (const auto& item : json.GetObject()) {
    const auto name = text_of(item.name);
    if (std::find(kOptions.begin(), kOptions.end(), name) == kOptions.end())
      reading.complaint.say(400, "unknown option '{}'", name);
    if (name == "cutoff") out.select.cutoff = read_count(item.value, name, reading);
    if (name == "max_matches") out.select.max_matches = read_count(item.value, name, reading);
    if (name == "scroll") read_scroll(item.value, out.select, reading);
    if (name == "fusion_method" && !out.select.fusion) out.select.fusion.emplace();
  }
}

void read_property(std::string_view name, const Json& json, SearchRequest& out, Reading& reading) {
  if (name == "query") {
    out.select.match = read_query(json, reading);
  } else if (name == "limit" || name == "size") {
    out.select.limit = read_count(json, name, reading);
  } else if (name == "offset" || name == "from") {
    out.select.offset = read_count(json, name, reading);
  } else if (name == "max_matches") {
    out.select.max_matches = read_count(json, name, reading);
    if (out.select.max_matches == 0)
      reading.complaint.say(400, "\"max_matches\" should be positive");
  } else if (name == "cutoff") {
    out.select.cutoff = read_count(json, name, reading);
  } else if (name == "sort") {
    out.select.order = read_sort(json, reading);
    if (out.select.order.size() > kMostKeys)
      reading.complaint.say(500, "table {}: too many sort-by attributes; maximum count is {}",
                            reading.table, kMostKeys);
  } else if (name == "track_scores") {
    out.track_scores = read_flag(json, name, reading);
  } else if (name == "_source") {
    out.source = read_source(json, reading);
  } else if (name == "highlight") {
    out.highlight = read_highlight(json, reading);
  } else if (name == "aggs") {
    out.aggregations = read_aggregations(json, reading);
  } else if (name == "profile") {
    out.profile = read_flag(json, name, reading);
  } else if (name == "plan") {
    out.plan = read_flag(json, name, reading);
  } else if (name == "knn") {
    out.select.knn = read_knn(json, reading);
  } else if (name == "hybrid") {
    read_hybrid(json, out.select, reading);
  } else if (std::find(kNotHere.begin(), kNotHere.end(), name) != kNotHere.end()) {
    reading.complaint.say(400, "\"{}\" is beyond the demo agent", name);
  }
}

/// Completes the aggregations with values from the rest of the request.
void finish_aggregations(SearchRequest& out) {
  constexpr std::size_t kBuckets = 20;  // if the request asks for no hits
  constexpr std::size_t kHistogram = 1000;
  for (auto& aggregation : out.aggregations) {
    auto& select = aggregation.select;
    if (aggregation.kind == Aggregation::Kind::terms && !aggregation.sized) {
      select.limit = out.select.limit == 0 ? kBuckets : out.select.limit;
      select.offset = out.select.offset;
    }
    if (aggregation.kind == Aggregation::Kind::composite)
      select.max_matches = std::max(out.select.max_matches, select.limit);
    if (aggregation.kind == Aggregation::Kind::histogram ||
        aggregation.kind == Aggregation::Kind::date_histogram)
      select.limit = std::min(kHistogram, out.select.max_matches);
  }
}

/// Completes the order: vectors are sorted by their distance, and a scroll needs a total order.
void finish_order(SearchRequest& out) {
  auto& select = out.select;
  auto& keys = select.order;
  const auto sorts_by = [&](std::string_view name, Expression::Kind kind) {
    return std::ranges::any_of(keys, [&](const OrderKey& key) {
      return key.expression.kind == kind && key.expression.name == name;
    });
  };
  using enum Expression::Kind;
  select.has_facets = !out.aggregations.empty();
  select.scored =
      out.track_scores || keys.empty() || sorts_by("weight", function) || !select.knn.empty();
  if (select.fusion && keys.empty()) keys.push_back({call_expression("hybrid_score", {}), true});
  if (!select.fusion && !select.knn.empty() && !sorts_by("knn_dist", function))
    keys.insert(keys.begin(), {call_expression("knn_dist", {})});
  if (!select.scrolls) return;
  if (keys.empty()) keys.push_back({call_expression("weight", {}), true});
  if (!sorts_by("id", column)) keys.push_back({column_expression(*column_named("id"))});
}

}  // namespace

std::size_t read_count(const Json& json, std::string_view name, Reading& reading) {
  if (json.IsUint64()) return json.GetUint64();
  reading.complaint.say(400, "\"{}\" property value should {}", name,
                        json.IsInt64() ? "not be negative" : "be an integer");
  return 0;
}

bool read_flag(const Json& json, std::string_view name, Reading& reading) {
  if (json.IsBool()) return json.GetBool();
  if (json.IsInt()) return json.GetInt() != 0;
  reading.complaint.say(400, "\"{}\" property value should be a boolean", name);
  return false;
}

bool is_table(std::span<const std::string> tables, std::string_view name) {
  return std::any_of(tables.begin(), tables.end(),
                     [&](const std::string& table) { return collate(table, name) == 0; });
}

std::string_view text_of(const Json& json) {
  return {json.GetString(), json.GetStringLength()};
}

std::string_view text_member(const Json& json, const char* name) {
  const auto* value = find_member(json, name);
  return value != nullptr && value->IsString() ? text_of(*value) : std::string_view{};
}

std::string json_text(const Json& json) {
  rapidjson::StringBuffer text;
  rapidjson::Writer writer(text);
  json.Accept(writer);
  return {text.GetString(), text.GetSize()};
}

Literal literal_of(const Json& json) {
  if (json.IsInt64()) return json.GetInt64();
  if (json.IsBool()) return std::int64_t{json.GetBool()};
  if (json.IsNumber()) return json.GetDouble();
  if (json.IsString()) return std::string(text_of(json));
  return {};
}

Column Reading::column(std::string_view name) {
  auto found = column_named(name);
  if (!found) complaint.say(500, "table {}: unknown column: {}", table, name);
  return found.value_or(Column{});
}

SearchRequest read_search(std::string_view body, std::span<const std::string> tables,
                          Complaint& complaint) {
  SearchRequest out;
  if (deeper_than(kMaxDepth, body)) {
    complaint.say(400, "unable to parse: nested too deeply");
    return out;
  }
  rapidjson::Document json;
  json.Parse<kParse>(body.data(), body.size());
  if (json.HasParseError()) {
    complaint.say(400, "unable to parse: {} at byte {}",
                  rapidjson::GetParseError_En(json.GetParseError()), json.GetErrorOffset());
    return out;
  }
  if (!json.IsObject()) {
    complaint.say(400, "request should be a JSON object");
    return out;
  }
  out.select.table = read_table(json, tables, complaint);
  Reading reading{out.select.table, complaint, {}};
  if (const auto* expressions = find_member(json, "expressions"))
    reading.items = read_expressions(*expressions, reading);
  for (const auto& item : json.GetObject())
    read_property(text_of(item.name), item.value, out, reading);
  // Last, as in the search server.
  if (const auto* options = find_member(json, "options")) {
    read_options(*options, out, reading);
    if (out.select.fusion && options->IsObject()) read_fusion(*options, *out.select.fusion);
  }
  finish_aggregations(out);
  finish_order(out);
  if (out.select.fusion && out.select.knn.empty())
    complaint.say(400, "fusion_method needs a search for vectors, \"knn\"");
  if (!out.select.fusion && out.select.knn.size() > 1)
    complaint.say(400, "several \"knn\" need options.fusion_method");
  out.select.items = std::move(reading.items);
  out.warnings = std::move(reading.warnings);
  return out;
}

std::optional<Place2d> read_place(const Json& json, Reading& reading) {
  const auto* anchor = find_member(json, "location_anchor");
  Place2d out{degrees_of(anchor, "lat", reading), degrees_of(anchor, "lon", reading), {}};
  std::string names(text_member(json, "location_source"));
  const auto* source = find_member(json, "location_source");
  for (const auto* name : {"lat", "lon"})
    if (const auto* column = coordinate(source, name); column != nullptr && column->IsString())
      names += (names.empty() ? "" : ",") + std::string(text_of(*column));
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
    if (const auto* value = find_member(key, "value")) out.push_back(literal_of(*value));
  return out;
}

OrderKey order_key(Expression by, bool descending, Reading& reading) {
  if (by.type == CellType::multi)
    reading.complaint.say(500, "table {}: order by MVA is undefined", reading.table);
  return {std::move(by), descending};
}

}  // namespace karmad::demo
