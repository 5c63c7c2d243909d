#include "demo/language/read_request.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>

#include "demo/data/text.hpp"
#include "demo/language/query_string.hpp"

namespace karmad {

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
    reading.complaint.say(400,
                          fmt::format("\"{}\" property value should be a string or an array of "
                                      "strings",
                                      name));
  }
  return out;
}

Source read_source(const Json& json, Reading& reading) {
  Source out;
  if (json.IsBool()) {
    out.none = !json.GetBool();
  } else if (json.IsObject()) {
    const auto includes = json.FindMember("includes");
    if (includes != json.MemberEnd())
      out.includes = read_strings(includes->value, "_source", reading);
    const auto excludes = json.FindMember("excludes");
    if (excludes != json.MemberEnd())
      out.excludes = read_strings(excludes->value, "_source", reading);
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

void read_options(const Json& json, SearchRequest& out, Reading& reading) {
  if (!json.IsObject()) {
    reading.complaint.say(400, "\"options\" property value should be an object");
    return;
  }
  for (const auto& item : json.GetObject()) {
    const auto name = text_of(item.name);
    if (std::find(kOptions.begin(), kOptions.end(), name) == kOptions.end())
      reading.complaint.say(400, fmt::format("unknown option '{}'", name));
    if (name == "cutoff") out.cutoff = read_count(item.value, name, reading);
    if (name == "max_matches") out.max_matches = read_count(item.value, name, reading);
    if (name == "scroll") read_scroll(item.value, out, reading);
    if (name == "fusion_method" && !out.fusion) out.fusion.emplace();
  }
}

/// Completes the aggregations with values from the rest of the request.
void finish_aggregations(SearchRequest& out) {
  constexpr std::size_t kBuckets = 20;  // if the request asks for no hits
  for (auto& aggregation : out.aggregations) {
    if (!aggregation.size) {
      aggregation.size = out.limit == 0 ? kBuckets : out.limit;
      if (is_strict()) aggregation.skip = out.offset;
    }
    aggregation.most_groups = std::max(out.max_matches, *aggregation.size);
  }
}

void read_property(std::string_view name, const Json& json, SearchRequest& out, Reading& reading) {
  if (name == "query") {
    out.query = read_query(json, reading);
  } else if (name == "limit" || name == "size") {
    out.limit = read_count(json, name, reading);
  } else if (name == "offset" || name == "from") {
    out.offset = read_count(json, name, reading);
  } else if (name == "max_matches") {
    out.max_matches = read_count(json, name, reading);
    if (out.max_matches == 0) reading.complaint.say(400, "\"max_matches\" should be positive");
  } else if (name == "cutoff") {
    out.cutoff = read_count(json, name, reading);
  } else if (name == "sort") {
    out.sort = read_sort(json, reading);
    if (out.sort.size() > kMostKeys)
      reading.complaint.say(
          500, fmt::format("table {}: too many sort-by attributes; maximum count is {}",
                           reading.table, kMostKeys));
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
    out.knn = read_knn(json, reading);
  } else if (name == "hybrid") {
    read_hybrid(json, out, reading);
  } else if (std::find(kNotHere.begin(), kNotHere.end(), name) != kNotHere.end()) {
    reading.complaint.say(400, fmt::format("\"{}\" is beyond the demo agent", name));
  }
}

std::string read_table(const Json& json, std::span<const std::string> tables,
                       Complaint& complaint) {
  auto found = json.FindMember("table");
  if (found == json.MemberEnd()) found = json.FindMember("index");
  if (found == json.MemberEnd()) {
    complaint.say(400, "\"table\" property missing");
    return {};
  }
  if (!found->value.IsString()) {
    complaint.say(400, "\"table\" property value should be a string");
    return {};
  }
  std::string name(text_of(found->value));
  if (!is_table(tables, name))
    complaint.say(500, fmt::format("unknown local table(s) '{}' in search request", name));
  return name;
}

}  // namespace

std::size_t read_count(const Json& json, std::string_view name, Reading& reading) {
  if (json.IsUint64()) return json.GetUint64();
  reading.complaint.say(400, json.IsInt64()
                                 ? fmt::format("\"{}\" property value should not be negative", name)
                                 : fmt::format("\"{}\" property value should be an integer", name));
  return 0;
}

bool read_flag(const Json& json, std::string_view name, Reading& reading) {
  if (json.IsBool()) return json.GetBool();
  if (json.IsInt()) return json.GetInt() != 0;
  reading.complaint.say(400, fmt::format("\"{}\" property value should be a boolean", name));
  return false;
}

bool is_table(std::span<const std::string> tables, std::string_view name) {
  return std::any_of(tables.begin(), tables.end(),
                     [&](const std::string& table) { return collate(table, name) == 0; });
}

std::string_view text_of(const Json& json) {
  return {json.GetString(), json.GetStringLength()};
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
  if (!found) complaint.say(500, fmt::format("table {}: unknown column: {}", table, name));
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
    complaint.say(
        400, fmt::format("unable to parse: {} at byte {}",
                         rapidjson::GetParseError_En(json.GetParseError()), json.GetErrorOffset()));
    return out;
  }
  if (!json.IsObject()) {
    complaint.say(400, "request should be a JSON object");
    return out;
  }
  out.table = read_table(json, tables, complaint);
  Reading reading{out.table, complaint, {}};
  if (const auto* expressions = find_member(json, "expressions"))
    reading.computed = read_expressions(*expressions, reading);
  for (const auto& item : json.GetObject())
    read_property(text_of(item.name), item.value, out, reading);
  // Last, as in the search server.
  if (const auto* options = find_member(json, "options")) {
    read_options(*options, out, reading);
    if (out.fusion && options->IsObject()) read_fusion(*options, *out.fusion);
  }
  finish_aggregations(out);
  if (out.fusion && out.knn.empty())
    complaint.say(400, "fusion_method needs a search for vectors, \"knn\"");
  if (!out.fusion && out.knn.size() > 1)
    complaint.say(400, "several \"knn\" need options.fusion_method");
  out.computed = std::move(reading.computed);
  out.warnings = std::move(reading.warnings);
  return out;
}

}  // namespace karmad
