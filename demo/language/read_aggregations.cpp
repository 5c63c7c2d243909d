#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "demo/data/text.hpp"
#include "demo/language/dates.hpp"
#include "demo/language/read_request.hpp"
#include "demo/sql/read_expression.hpp"

namespace karmad::demo {

namespace {

using Kind = Aggregation::Kind;

using NamedKind = std::pair<std::string_view, Kind>;
constexpr std::array<NamedKind, 11> kKinds{{
    {"terms", Kind::terms},
    {"histogram", Kind::histogram},
    {"date_histogram", Kind::date_histogram},
    {"range", Kind::range},
    {"date_range", Kind::date_range},
    {"composite", Kind::composite},
    {"min", Kind::min},
    {"max", Kind::max},
    {"sum", Kind::sum},
    {"avg", Kind::avg},
    {"percentiles", Kind::percentiles},
}};

double read_number(const Json& json, const char* name, double otherwise, Reading& reading) {
  const auto* value = find_member(json, name);
  if (value == nullptr) return otherwise;
  if (value->IsNumber()) return value->GetDouble();
  reading.complaint.say(400, "\"{}\" property value should be numeric", name);
  return otherwise;
}

void read_size(const Json& json, Aggregation& out, Reading& reading) {
  const auto* value = find_member(json, "size");
  if (value == nullptr) return;
  out.sized = value->IsUint();
  if (out.sized) out.select.limit = value->GetUint();
  if (!out.sized) reading.complaint.say(400, "\"size\" property value should be an integer");
}

/// The column or the expression that an aggregation is about.
Expression read_field(const Json& json, Reading& reading) {
  const auto* field = find_member(json, "field");
  if (field == nullptr || !field->IsString()) {
    reading.complaint.say(400, "\"field\" property missing");
    return {};
  }
  const auto item = std::ranges::find(reading.items, text_of(*field), &SelectItem::name);
  if (item != reading.items.end()) return item->expression;
  const auto found = column_named(text_of(*field));
  if (!found)
    reading.complaint.say(500, "table {}: group-by attribute '{}' not found", reading.table,
                          text_of(*field));
  return column_expression(found.value_or(Column{}));
}

/// The key of the buckets: a field, or the step of a histogram that its value is in.
Expression read_key(Kind kind, const Json& json, Reading& reading) {
  auto field = read_field(json, reading);
  if (kind == Kind::histogram) {
    const auto step = read_number(json, "interval", 0, reading);
    const auto offset = read_number(json, "offset", 0, reading);
    if (step <= 0) reading.complaint.say(400, "\"interval\" should be positive");
    const bool whole = step == std::floor(step) && offset == std::floor(offset);
    auto out = call_expression(
        "histogram", {std::move(field), literal_expression(fmt::format(
                                            ";hist_interval={};hist_offset={}", step, offset))});
    if (!whole) out.type = CellType::exact;
    return out;
  }
  if (kind == Kind::date_histogram) {
    auto step = text_member(json, "calendar_interval");
    if (step.empty()) step = text_member(json, "fixed_interval");
    if (step.empty()) step = text_member(json, "interval");
    const auto read = read_step(step);
    if (read.calendar == Calendar::none && read.seconds <= 0)
      reading.complaint.say(400, "unknown interval '{}'", step);
    auto out = call_expression(
        "date_histogram",
        {std::move(field), literal_expression(fmt::format(";calendar_interval={}", step))});
    out.type = CellType::bigint;
    return out;
  }
  return field;
}

/// The field that a key of buckets is made from.
const Expression& column_of(const Expression& key) {
  return key.name == "histogram" || key.name == "date_histogram" ? key.arguments[0] : key;
}

/// Adds a key to what is grouped by and shown.
void add_key(Expression key, Select& out) {
  auto shown = call_expression("groupby", {});
  shown.literal = std::ssize(out.keys);
  shown.type = key.type;
  out.items.push_back({std::move(shown), key.name});
  out.keys.push_back(std::move(key));
}

std::string number_text(double number) {
  if (number == std::floor(number)) return fmt::format("{:.0f}", number);
  return fmt::format("{:.6f}", number);
}

/// One end of a range: a number, or for dates a text that names a day.
std::optional<double> read_end(const Json* value, bool date, std::string& text, Reading& reading) {
  if (value == nullptr || value->IsNull()) return std::nullopt;
  if (value->IsNumber()) {
    const auto number = value->GetDouble();
    text = date ? json_string(date_text(static_cast<std::int64_t>(number))) : number_text(number);
    return number;
  }
  if (date && value->IsString()) {
    if (const auto seconds = read_date(text_of(*value))) {
      text = json_string(date_text(*seconds));
      return static_cast<double>(*seconds);
    }
  }
  reading.complaint.say(400, "ends of \"ranges\" should be numeric");
  return std::nullopt;
}

std::string range_key(const RangeBucket& range) {
  const auto bare = [](const std::string& text) {
    if (text.empty()) return std::string("*");
    return text.front() == '"' ? text.substr(1, text.size() - 2) : text;
  };
  return bare(range.from_text) + "-" + bare(range.to_text);
}

std::vector<RangeBucket> read_ranges(const Json& json, bool date, Reading& reading) {
  std::vector<RangeBucket> out;
  const auto* ranges = find_member(json, "ranges");
  if (ranges == nullptr || !ranges->IsArray() || ranges->Empty()) {
    reading.complaint.say(400, "\"ranges\" property missing");
    return out;
  }
  for (const auto& item : ranges->GetArray()) {
    if (!item.IsObject()) reading.complaint.say(400, "\"ranges\" should hold objects");
    RangeBucket range;
    range.from = read_end(find_member(item, "from"), date, range.from_text, reading);
    range.to = read_end(find_member(item, "to"), date, range.to_text, reading);
    const auto key = text_member(item, "key");
    range.key = key.empty() ? range_key(range) : std::string(key);
    out.push_back(std::move(range));
  }
  return out;
}

void read_composite(const Json& json, Aggregation& out, Reading& reading) {
  out.select.limit = 1000;
  read_size(json, out, reading);
  const auto* sources = find_member(json, "sources");
  if (sources == nullptr || !sources->IsArray() || sources->Empty())
    return reading.complaint.say(400, "\"sources\" property missing");
  for (const auto& item : sources->GetArray()) {
    if (!item.IsObject() || item.MemberCount() != 1 || !item.MemberBegin()->value.IsObject() ||
        item.MemberBegin()->value.MemberCount() != 1 ||
        !item.MemberBegin()->value.MemberBegin()->value.IsObject())
      return reading.complaint.say(400, "a source should be an object with one name and one kind");
    const auto& inner = *item.MemberBegin()->value.MemberBegin();
    const auto kind = text_of(inner.name);
    if (kind != "terms" && kind != "histogram" && kind != "date_histogram")
      return reading.complaint.say(400, "unknown source kind '{}'", kind);
    auto key = read_key(kind == "terms"       ? Kind::terms
                        : kind == "histogram" ? Kind::histogram
                                              : Kind::date_histogram,
                        inner.value, reading);
    if (column_of(key).type == CellType::multi)
      reading.complaint.say(500, "table {}: MVA values can't be used in multiple group-by",
                            reading.table);
    add_key(std::move(key), out.select);
    out.sources.emplace_back(text_of(item.MemberBegin()->name));
  }
  const auto* after = find_member(json, "after");
  if (after == nullptr) return;
  for (const auto& source : out.sources) {
    const auto* value = find_member(after, source.c_str());
    out.after.push_back(value != nullptr ? literal_of(*value) : Literal{});
    if (out.after.back().index() == 0)
      reading.complaint.say(400, "\"after\" lacks a value for '{}'", source);
  }
}

/// What `key` names: the number of documents, or a key of the buckets by its column.
Expression ordered_by(std::string_view key, const Aggregation& aggregation, Reading& reading) {
  const auto& select = aggregation.select;
  if (key == "count(*)" || key == "_count") return call_expression("count", {});
  for (std::size_t i = 0; i < select.keys.size(); ++i) {
    const bool only = aggregation.kind != Kind::composite && (key == "_key" || key == "key");
    if (only || collate(key, column_of(select.keys[i]).name) == 0)
      return select.items[i].expression;
  }
  reading.complaint.say(500, "table {}: sort-by attribute '{}' not found", reading.table, key);
  return {};
}

OrderKey read_order(std::string_view key, const Json& direction, const Aggregation& aggregation,
                    Reading& reading) {
  std::string_view word;
  if (direction.IsString()) word = text_of(direction);
  if (direction.IsObject()) word = text_member(direction, "order");
  return order_key(ordered_by(key, aggregation, reading), lower_case(word) == "desc", reading);
}

void read_orders(const Json& json, Aggregation& out, Reading& reading) {
  if (json.IsArray()) {
    for (const auto& item : json.GetArray()) read_orders(item, out, reading);
  } else if (json.IsObject()) {
    for (const auto& item : json.GetObject())
      out.select.order.push_back(read_order(text_of(item.name), item.value, out, reading));
  } else if (json.IsString()) {
    out.select.order.push_back(read_order(text_of(json), Json{}, out, reading));
  } else {
    reading.complaint.say(400, "\"sort\" property value should be an array or an object");
  }
}

void read_metric(const Json& json, std::string_view name, Aggregation& out, Reading& reading) {
  const auto field = read_field(json, reading);
  out.select.items = {{call_expression(std::string(name), {field}), out.name}};
  if (field.type == CellType::text || field.type == CellType::multi)
    reading.complaint.say(500, "table {}: can not aggregate non-scalar attribute '{}'",
                          reading.table, field.name);
  if ((field.type == CellType::member || field.type == CellType::json) && out.kind != Kind::avg)
    reading.complaint.say(500,
                          "table {}: ambiguous attribute type '{}', use INTEGER(), BIGINT() or "
                          "DOUBLE() conversion functions",
                          reading.table, field.name);
}

void read_body(std::string_view name, const Json& json, Aggregation& out, Reading& reading) {
  const auto* keyed = find_member(json, "keyed");
  out.keyed = keyed != nullptr && keyed->IsBool() && keyed->GetBool();
  out.select.limit = out.select.max_matches = std::numeric_limits<std::size_t>::max();
  out.select.first_spelling = true;
  switch (out.kind) {
    case Kind::terms:
      read_size(json, out, reading);
      [[fallthrough]];
    case Kind::histogram:
    case Kind::date_histogram:
      add_key(read_key(out.kind, json, reading), out.select);
      if (const auto* order = find_member(json, "order"); order != nullptr && !order->IsString())
        read_orders(*order, out, reading);
      break;
    case Kind::range:
    case Kind::date_range:
      out.column = read_field(json, reading).column;
      if (out.column.type == Type::json && out.kind == Kind::range)
        reading.complaint.say(
            500, "table {}: parse error: range() argument 1 must be number, or evaluated to number",
            reading.table);
      out.ranges = read_ranges(json, out.kind == Kind::date_range, reading);
      break;
    case Kind::composite:
      read_composite(json, out, reading);
      break;
    case Kind::min:
    case Kind::max:
    case Kind::sum:
    case Kind::avg:
      read_metric(json, name, out, reading);
      break;
    case Kind::percentiles:
      out.column = read_field(json, reading).column;
      if (const auto* percents = find_member(json, "percents");
          percents != nullptr && percents->IsArray()) {
        out.percents.clear();
        for (const auto& percent : percents->GetArray())
          out.percents.push_back(percent.IsNumber() ? percent.GetDouble() : 0);
      }
      break;
    case Kind::unknown:
      break;
  }
}

/// Leaves groups out that have no value for that key.
void demand(const Expression& key, Select& out) {
  auto present = operation_of("not", {operation_of("is null", {key})});
  out.having = out.having ? operation_of("and", {*out.having, std::move(present)}) : present;
}

/// Adds the number of documents, and the order that buckets have without another.
void finish(Aggregation& out) {
  auto& select = out.select;
  if (select.keys.empty()) return;
  if (out.kind != Kind::terms)
    for (const auto& key : select.items) demand(key.expression, select);
  const auto count = call_expression("count", {});
  select.items.push_back({count, "count(*)"});
  if (out.kind == Kind::composite)
    select.order.push_back({call_expression("scattered", {})});
  else if (select.order.empty() && out.kind == Kind::terms)
    select.order.push_back({count, true});
  else if (select.order.empty())
    select.order.push_back({select.items[0].expression});
}

Aggregation read_aggregation(const Json::Member& from, Reading& reading) {
  Aggregation out;
  out.name = text_of(from.name);
  if (!from.value.IsObject() || from.value.ObjectEmpty()) {
    reading.complaint.say(400, "\"aggs\" bucket '{}' should be an object", out.name);
    return out;
  }
  const Json* sort = nullptr;
  for (const auto& item : from.value.GetObject()) {
    const auto word = text_of(item.name);
    if (word == "aggs" || word == "aggregations") {
      reading.complaint.say(400, "nested \"aggs\" is not supported");
    } else if (word == "sort" || word == "order") {
      sort = &item.value;
    } else if (const auto* kind = std::ranges::find(kKinds, word, &NamedKind::first);
               kind != kKinds.end()) {
      out.kind = kind->second;
      if (!item.value.IsObject())
        reading.complaint.say(400, "\"{}\" should be an object", word);
      else
        read_body(word, item.value, out, reading);
    }
  }
  if (sort != nullptr) read_orders(*sort, out, reading);
  finish(out);
  return out;
}

}  // namespace

std::vector<Aggregation> read_aggregations(const Json& json, Reading& reading) {
  std::vector<Aggregation> out;
  if (!json.IsObject()) {
    reading.complaint.say(400, "\"aggs\" property value should be an object");
    return out;
  }
  for (const auto& item : json.GetObject()) out.push_back(read_aggregation(item, reading));
  return out;
}

}  // namespace karmad::demo
