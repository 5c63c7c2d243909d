#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "demo/data/dice.hpp"
#include "demo/data/text.hpp"
#include "demo/language/query_string.hpp"
#include "demo/language/read_request.hpp"

namespace karmad::demo {
namespace {

/// The only member of `{"name": …}`, or null after a complaint.
const Json::Member* only_member(const Json& json, std::string_view of, Reading& reading) {
  if (json.IsObject() && json.MemberCount() == 1) return &*json.MemberBegin();
  reading.complaint.say(400, "\"{}\" property value should be an object with one member", of);
  return nullptr;
}

/// The words of `match` and its kin: of a text, an object with one, or of `terms` a list of texts.
Query read_match(const Json& json, std::string_view kind, Reading& reading) {
  const auto* member = only_member(json, kind, reading);
  if (member == nullptr) return {};
  const auto fields = read_fields(text_of(member->name), reading.table, reading.complaint);
  const auto& value = member->value;
  const auto* text = find_member(value, kind == "term" ? "value" : "query");
  if (text == nullptr) text = &value;
  std::vector<std::string> found;
  if (text->IsString()) {
    found = words(text_of(*text));
  } else if (kind == "terms" && value.IsArray() &&
             std::ranges::all_of(value.GetArray(), &Json::IsString)) {
    for (const auto& each : value.GetArray())
      for (auto& word : words(text_of(each))) found.push_back(std::move(word));
  } else {
    reading.complaint.say(
        400, "\"{}\" property value should be a string or an object with \"query\"", kind);
  }
  if (kind == "match_phrase") return {Phrase{fields, std::move(found)}};
  const auto* op = find_member(value, "operator");
  const bool all = op != nullptr && op->IsString() && lower_case(text_of(*op)) == "and";
  return {Words{fields, std::move(found), all}};
}

Query read_query_string_node(const Json& json, Reading& reading) {
  if (json.IsString()) return read_query_string(text_of(json), reading.table, reading.complaint);
  if (json.IsObject() && json.HasMember("query") && json["query"].IsString())
    return read_query_string(text_of(json["query"]), reading.table, reading.complaint);
  reading.complaint.say(400, "\"query_string\" property value should be a string");
  return {};
}

/// A column's name, or `any(name)` or `all(name)`.
Condition read_condition_column(std::string_view name, Reading& reading) {
  const bool any = name.starts_with("any(");
  const bool all = name.starts_with("all(");
  const bool explicit_choice = (any || all) && name.ends_with(')');
  if (explicit_choice) name = name.substr(4, name.size() - 5);
  Condition out;
  out.column = reading.column(name);
  out.every = all;
  out.quantified = explicit_choice;
  if (out.column.is_multi() && !explicit_choice)
    reading.warnings.push_back(fmt::format(
        "table {}: use an explicit ANY()/ALL() around a filter on MVA column", reading.table));
  return out;
}

void check_type(const Condition& condition, const Literal& literal, Reading& reading) {
  const auto type = condition.column.type;
  const bool text = std::holds_alternative<std::string>(literal);
  const bool text_wanted = type == Type::string || type == Type::text;
  if (type == Type::json || text == text_wanted) return;
  reading.complaint.say(500, "table {}: unsupported filter type '{}' on attribute '{}'",
                        reading.table, text ? "string" : "intvalues", condition.column.name);
}

Literal read_filter_value(const Json& json, const Condition& condition, Reading& reading) {
  auto out = literal_of(json);
  if (json.IsBool()) {
    reading.complaint.say(400, "\"equals\" filter expects numeric or string values");
  } else if (std::holds_alternative<std::monostate>(out)) {
    reading.complaint.say(400, "value of \"{}\" should be a number or a string",
                          condition.column.name);
  } else {
    check_type(condition, out, reading);
  }
  return out;
}

Query read_equals(const Json& json, Reading& reading) {
  const auto* member = only_member(json, "equals", reading);
  if (member == nullptr) return {};
  auto out = read_condition_column(text_of(member->name), reading);
  out.one_of.push_back(read_filter_value(member->value, out, reading));
  return {std::move(out)};
}

Query read_in(const Json& json, Reading& reading) {
  const auto* member = only_member(json, "in", reading);
  if (member == nullptr) return {};
  if (!member->value.IsArray() || member->value.Empty()) {
    reading.complaint.say(400, "\"in\" property value should be an array with values");
    return {};
  }
  auto out = read_condition_column(text_of(member->name), reading);
  for (const auto& value : member->value.GetArray())
    out.one_of.push_back(read_filter_value(value, out, reading));
  return {std::move(out)};
}

Query read_range(const Json& json, Reading& reading) {
  const auto* member = only_member(json, "range", reading);
  if (member == nullptr) return {};
  auto out = read_condition_column(text_of(member->name), reading);
  if (!member->value.IsObject() || member->value.ObjectEmpty()) {
    reading.complaint.say(400, "\"range\" should name a column with gte, gt, lte or lt");
    return {};
  }
  for (const auto& bound : member->value.GetObject()) {
    const auto kind = text_of(bound.name);
    auto value = read_filter_value(bound.value, out, reading);
    if (kind == "gte" || kind == "gt") {
      out.low = {std::move(value), kind == "gte"};
    } else if (kind == "lte" || kind == "lt") {
      out.high = {std::move(value), kind == "lte"};
    } else {
      reading.complaint.say(400, "unknown bound '{}' in \"range\"", kind);
    }
  }
  return {std::move(out)};
}

Query read_regexp(const Json& json, Reading& reading) {
  constexpr std::size_t kLongest = 100;
  const auto* member = only_member(json, "regexp", reading);
  if (member == nullptr) return {};
  auto out = read_condition_column(text_of(member->name), reading);
  if (!member->value.IsString() || member->value.GetStringLength() > kLongest) {
    reading.complaint.say(400, "\"regexp\" property value should be a short string");
    return {};
  }
  try {
    out.pattern = std::make_shared<const std::regex>(member->value.GetString());
  } catch (const std::regex_error&) {
    reading.complaint.say(500, "table {}: RE2: error parsing '{}'", reading.table,
                          text_of(member->value));
  }
  return {std::move(out)};
}

std::vector<Query> read_parts(const Json& json, std::string_view of, Reading& reading) {
  std::vector<Query> out;
  if (json.IsArray()) {
    for (const auto& part : json.GetArray()) out.push_back(read_query(part, reading));
  } else if (json.IsObject()) {
    out.push_back(read_query(json, reading));
  } else {
    reading.complaint.say(400, "\"{}\" property value should be an array", of);
  }
  return out;
}

/// All documents for a column; for a member of JSON the search server finds none.
Query read_exists(const Json& json, Reading& reading) {
  const auto* field = find_member(json, "field");
  if (field == nullptr || !field->IsString()) {
    reading.complaint.say(400, "\"exists\" should name a \"field\"");
    return {};
  }
  const auto column = reading.column(text_of(*field));
  Condition out;
  out.never = column.type == Type::json;
  out.test = [never = out.never](const Document&) { return !never; };
  return {std::move(out)};
}

/// "500 km", "2000 mi", "100000 m".
double metres_of(std::string_view text) {
  const auto end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = number_of<double>(text.substr(0, end)).value_or(0);
  const auto unit = text.substr(std::min(text.find_first_not_of(' ', end), text.size()));
  return number * (unit == "km" ? 1000 : unit == "mi" ? 1609.344 : unit == "ft" ? 0.3048 : 1);
}

Query read_geo_distance(const Json& json, Reading& reading) {
  const auto distance = find_member(json, "distance");
  const auto place = json.IsObject() ? read_place(json, reading) : std::nullopt;
  if (distance == nullptr || (!distance->IsString() && !distance->IsNumber()) || !place) {
    reading.complaint.say(400, "\"geo_distance\" needs a distance, an anchor and a source");
    return {};
  }
  const auto most = distance->IsNumber() ? distance->GetDouble() : metres_of(text_of(*distance));
  Condition out;
  out.test = [place = *place, most](const Document& document) {
    constexpr double kRadians = std::numbers::pi / 180;
    const auto at = [&](const Column& column) {
      const auto value = value_of(document, column);
      const auto* degrees = std::get_if<double>(&value);
      return degrees == nullptr ? 0.0 : *degrees * kRadians;
    };
    return metres_between(place.lat * kRadians, place.lon * kRadians, at(place.columns[0]),
                          at(place.columns[1])) <= most;
  };
  return {std::move(out)};
}

/// What may stand together: filters and words of a query only in `must` and `filter`. Filters in
/// `should` demand one of them where there are no other filters, and mean nothing else.
void settle(Combination& query, Reading& reading) {
  const auto refuse = [&](std::string_view why) {
    reading.complaint.say(500, "table {}: query error: {}", reading.table, why);
  };
  const auto words_in = [](const std::vector<Query>& parts) {
    return std::ranges::count_if(parts, [](const Query& part) { return ranks(part); });
  };
  const auto wished = words_in(query.should);
  if (wished != 0 && wished != std::ssize(query.should))
    refuse("filter and full-text can be used together only inside \"must\" node at '/query/bool'");
  if (words_in(query.must_not) != 0 && words_in(query.must) + words_in(query.filter) == 0)
    refuse(wished == 0 ? "query is non-computable (single NOT operator)"
                       : "query is non-computable (NOT is not allowed within MAYBE)");
  const auto filters = std::ssize(query.must) + std::ssize(query.filter) - words_in(query.must) -
                       words_in(query.filter);
  if (wished == 0 && !query.should.empty()) {
    Combination one_of;
    one_of.should = std::exchange(query.should, {});
    if (filters == 0) query.filter.push_back({std::move(one_of)});
  }
  for (const auto& part : query.must_not) {
    const auto* condition = std::get_if<Condition>(&part.is);
    if (condition != nullptr && condition->never) query.filter.push_back(part);
    // What is not in a list of JSON is in documents with such a list.
    if (condition != nullptr && condition->column.type == Type::json && condition->quantified) {
      Condition present;
      present.test = [column = condition->column](const Document& document) {
        return !values_of(document, column).empty();
      };
      query.filter.push_back({std::move(present)});
    }
  }
}

Query read_bool(const Json& json, Reading& reading) {
  if (!json.IsObject()) {
    reading.complaint.say(400, "\"bool\" property value should be an object");
    return {};
  }
  Combination out;
  for (const auto& member : json.GetObject()) {
    const auto kind = text_of(member.name);
    if (kind == "must") {
      out.must = read_parts(member.value, kind, reading);
    } else if (kind == "filter") {
      out.filter = read_parts(member.value, kind, reading);
    } else if (kind == "should") {
      out.should = read_parts(member.value, kind, reading);
    } else if (kind == "must_not") {
      out.must_not = read_parts(member.value, kind, reading);
    } else {
      reading.complaint.say(400, "unknown bool query type: \"{}\"", kind);
    }
  }
  if (is_strict()) settle(out, reading);
  return {std::move(out)};
}

Query read_named(std::string_view kind, const Json& json, Reading& reading) {
  constexpr std::string_view kOfWords[] = {"match", "match_phrase", "term", "terms"};
  if (std::ranges::find(kOfWords, kind) != std::end(kOfWords))
    return read_match(json, kind, reading);
  if (kind == "match_all") return {Everything{}};
  if (kind == "query_string") return read_query_string_node(json, reading);
  if (kind == "bool") return read_bool(json, reading);
  if (kind == "equals") return read_equals(json, reading);
  if (kind == "in") return read_in(json, reading);
  if (kind == "range") return read_range(json, reading);
  if (kind == "regexp") return read_regexp(json, reading);
  if (kind == "exists") return read_exists(json, reading);
  if (kind == "geo_distance") return read_geo_distance(json, reading);
  reading.complaint.say(400, "unknown query type: \"{}\"", kind);
  return {};
}

constexpr std::size_t kMostNearest = 100'000;

/// A unit vector for a text, always the same: the demo has no model.
std::array<float, 4> vector_of(std::string_view text) {
  std::array<double, 4> sum{};
  for (const auto& word : words(text)) {
    std::uint64_t seed = 0;
    for (const char letter : word) seed = seed * 131 + static_cast<unsigned char>(letter);
    Dice dice{seed};
    for (auto& number : sum) number += dice.fraction() * 2 - 1;
  }
  double square = 0;
  for (const auto number : sum) square += number * number;
  std::array<float, 4> out{};
  for (std::size_t i = 0; i < sum.size() && square > 0; ++i)
    out[i] = static_cast<float>(sum[i] / std::sqrt(square));
  return out;
}

void read_vector(const Json& json, Knn& out, Reading& reading) {
  if (json.IsString()) {
    out.vector = vector_of(text_of(json));
    return;
  }
  if (!json.IsArray())
    return reading.complaint.say(400, "\"query\" property value should be a string or an array");
  if (json.Size() != out.vector.size())
    return reading.complaint.say(
        500,
        "table {}: KNN index 'embedding' requires a vector of {} entries; {} entries specified",
        reading.table, out.vector.size(), json.Size());
  for (rapidjson::SizeType i = 0; i < json.Size(); ++i) {
    if (!json[i].IsNumber())
      reading.complaint.say(400, "\"query_vector\" should have numbers only");
    else
      out.vector[i] = static_cast<float>(json[i].GetDouble());
  }
}

Knn read_one(const Json& json, Reading& reading) {
  Knn out;
  const auto* field = find_member(json, "field");
  if (field == nullptr || !field->IsString()) {
    reading.complaint.say(400, "\"field\" property missing");
    return out;
  }
  const auto column = column_named(text_of(*field));
  if (!column || column->type != Type::vector)
    reading.complaint.say(500, "table {}: requested KNN search attribute '{}' not found",
                          reading.table, text_of(*field));
  const auto* k = find_member(json, "k");
  if (k != nullptr && (!k->IsUint64() || k->GetUint64() == 0 || k->GetUint64() > kMostNearest))
    reading.complaint.say(400, "\"k\" property value should be a positive integer");
  out.k = k != nullptr && k->IsUint64() ? k->GetUint64() : 10;
  const auto* vector = find_member(json, "query_vector");
  if (vector == nullptr) vector = find_member(json, "query");
  const auto* document = find_member(json, "doc_id");
  if (document != nullptr && document->IsUint64()) {
    out.document = document->GetUint64();
  } else if (vector != nullptr) {
    read_vector(*vector, out, reading);
  } else {
    reading.complaint.say(400, "\"query_vector\" or \"doc_id\" property missing");
  }
  if (const auto* filter = find_member(json, "filter")) out.filter = read_query(*filter, reading);
  return out;
}

}  // namespace

Query read_query(const Json& json, Reading& reading) {
  if (!json.IsObject()) {
    reading.complaint.say(400, "\"query\" property value should be an object");
    return {};
  }
  if (json.ObjectEmpty()) return {Everything{}};
  const auto* member = only_member(json, "query", reading);
  if (member == nullptr) return {};
  return read_named(text_of(member->name), member->value, reading);
}

std::vector<Knn> read_knn(const Json& json, Reading& reading) {
  std::vector<Knn> out;
  if (json.IsArray()) {
    for (const auto& one : json.GetArray()) out.push_back(read_one(one, reading));
  } else {
    out.push_back(read_one(json, reading));
  }
  return out;
}

void read_hybrid(const Json& json, Select& out, Reading& reading) {
  const auto* query = find_member(json, "query");
  if (query == nullptr || !query->IsString())
    return reading.complaint.say(400, "\"hybrid\" should be an object with a \"query\"");
  out.match = read_query_string(text_of(*query), reading.table, reading.complaint);
  Knn knn;
  knn.vector = vector_of(text_of(*query));
  const auto* k = find_member(json, "k");
  knn.k = k != nullptr && k->IsUint() ? k->GetUint() : 10;
  out.knn = {knn};
  out.fusion.emplace();
}

void read_fusion(const Json& options, Fusion& out) {
  const auto* constant = find_member(options, "rank_constant");
  if (constant != nullptr && constant->IsNumber()) out.rank_constant = constant->GetDouble();
  const auto* window = find_member(options, "window_size");
  if (window != nullptr && window->IsUint()) out.window = window->GetUint();
  const auto* weights = find_member(options, "fusion_weights");
  if (weights != nullptr && weights->IsArray())
    for (const auto& weight : weights->GetArray())
      out.weights.push_back(weight.IsNumber() ? weight.GetDouble() : 1);
}

}  // namespace karmad::demo
