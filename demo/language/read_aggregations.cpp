#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "demo/data/text.hpp"
#include "demo/language/dates.hpp"
#include "demo/language/read_request.hpp"

namespace karmad {

namespace {

using Kind = Aggregation::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 11> kKinds{{
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
  reading.complaint.say(400, fmt::format("\"{}\" property value should be numeric", name));
  return otherwise;
}

std::optional<std::size_t> read_size(const Json& json, Reading& reading) {
  const auto* value = find_member(json, "size");
  if (value == nullptr) return std::nullopt;
  if (value->IsUint()) return value->GetUint();
  reading.complaint.say(400, "\"size\" property value should be an integer");
  return std::nullopt;
}

Column read_field(const Json& json, Reading& reading) {
  const auto* field = find_member(json, "field");
  if (field == nullptr || !field->IsString()) {
    reading.complaint.say(400, "\"field\" property missing");
    return {};
  }
  auto found = column_named(text_of(*field));
  if (!found)
    reading.complaint.say(500, fmt::format("table {}: group-by attribute '{}' not found",
                                           reading.table, text_of(*field)));
  return found.value_or(Column{});
}

std::string_view read_word(const Json& json, const char* name) {
  const auto* value = find_member(json, name);
  return value != nullptr && value->IsString() ? text_of(*value) : std::string_view{};
}

Grouping read_grouping(Kind kind, const Json& json, Reading& reading) {
  Grouping out;
  out.column = read_field(json, reading);
  if (kind == Kind::histogram) {
    out.kind = Grouping::Kind::histogram;
    out.interval = read_number(json, "interval", 0, reading);
    out.offset = read_number(json, "offset", 0, reading);
    out.whole = out.interval == std::floor(out.interval) && out.offset == std::floor(out.offset);
    if (out.interval <= 0) reading.complaint.say(400, "\"interval\" should be positive");
  } else if (kind == Kind::date_histogram) {
    out.kind = Grouping::Kind::date_histogram;
    auto step = read_word(json, "calendar_interval");
    if (step.empty()) step = read_word(json, "fixed_interval");
    if (step.empty()) step = read_word(json, "interval");
    const auto read = read_step(step);
    out.calendar = read.calendar;
    out.interval = read.seconds;
    if (read.calendar == Calendar::none && read.seconds <= 0)
      reading.complaint.say(400, fmt::format("unknown interval '{}'", step));
  }
  return out;
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
    if (!item.IsObject()) {
      reading.complaint.say(400, "\"ranges\" should hold objects");
      continue;
    }
    RangeBucket range;
    range.from = read_end(find_member(item, "from"), date, range.from_text, reading);
    range.to = read_end(find_member(item, "to"), date, range.to_text, reading);
    const auto key = read_word(item, "key");
    range.key = key.empty() ? range_key(range) : std::string(key);
    out.push_back(std::move(range));
  }
  return out;
}

void read_composite(const Json& json, Aggregation& out, Reading& reading) {
  out.size = read_size(json, reading).value_or(1000);
  const auto* sources = find_member(json, "sources");
  if (sources == nullptr || !sources->IsArray() || sources->Empty()) {
    reading.complaint.say(400, "\"sources\" property missing");
    return;
  }
  for (const auto& item : sources->GetArray()) {
    if (!item.IsObject() || item.MemberCount() != 1 || !item.MemberBegin()->value.IsObject() ||
        item.MemberBegin()->value.MemberCount() != 1 ||
        !item.MemberBegin()->value.MemberBegin()->value.IsObject()) {
      reading.complaint.say(400, "a source should be an object with one name and one kind");
      return;
    }
    const auto& inner = *item.MemberBegin()->value.MemberBegin();
    const auto kind = text_of(inner.name);
    if (kind != "terms" && kind != "histogram" && kind != "date_histogram") {
      reading.complaint.say(400, fmt::format("unknown source kind '{}'", kind));
      return;
    }
    auto grouping = read_grouping(kind == "terms"       ? Kind::terms
                                  : kind == "histogram" ? Kind::histogram
                                                        : Kind::date_histogram,
                                  inner.value, reading);
    grouping.name = text_of(item.MemberBegin()->name);
    if (grouping.column.is_multi())
      reading.complaint.say(500, fmt::format("table {}: MVA values can't be used in multiple "
                                             "group-by",
                                             reading.table));
    out.sources.push_back(std::move(grouping));
  }
  const auto* after = find_member(json, "after");
  if (after == nullptr) return;
  for (const auto& source : out.sources) {
    const auto* value = after->IsObject() ? find_member(*after, source.name.c_str()) : nullptr;
    out.after.push_back(value != nullptr ? literal_of(*value) : Literal{});
    if (out.after.back().index() == 0)
      reading.complaint.say(400, fmt::format("\"after\" lacks a value for '{}'", source.name));
  }
}

/// The source of a composite aggregation, or the single grouping, that `key` orders; as in the
/// search server, `key` is the name of its column.
std::optional<std::size_t> ordered_source(const Aggregation& aggregation, std::string_view key) {
  if (aggregation.kind != Kind::composite) {
    const bool its =
        key == "_key" || key == "key" || collate(key, aggregation.grouping.column.name) == 0;
    return its ? std::optional<std::size_t>(0) : std::nullopt;
  }
  const auto& sources = aggregation.sources;
  const auto found = std::find_if(sources.begin(), sources.end(), [&](const Grouping& source) {
    return collate(key, source.column.name) == 0;
  });
  if (found == sources.end()) return std::nullopt;
  return static_cast<std::size_t>(found - sources.begin());
}

BucketOrder read_order(std::string_view key, const Json& direction, const Aggregation& aggregation,
                       Reading& reading) {
  std::string_view word;
  if (direction.IsString()) word = text_of(direction);
  if (direction.IsObject()) word = read_word(direction, "order");
  BucketOrder out;
  out.by_count = key == "count(*)" || key == "_count";
  out.descending = lower_case(word) == "desc";
  if (out.by_count) return out;
  const auto source = ordered_source(aggregation, key);
  if (!source)
    reading.complaint.say(
        500, fmt::format("table {}: sort-by attribute '{}' not found", reading.table, key));
  const auto& column = source && aggregation.kind == Kind::composite
                           ? aggregation.sources[*source].column
                           : aggregation.grouping.column;
  if (source) check_sortable(column, reading);
  out.source = source.value_or(0);
  return out;
}

void read_orders(const Json& json, Aggregation& out, Reading& reading) {
  if (json.IsArray()) {
    for (const auto& item : json.GetArray()) read_orders(item, out, reading);
  } else if (json.IsObject()) {
    for (const auto& item : json.GetObject())
      out.order.push_back(read_order(text_of(item.name), item.value, out, reading));
  } else if (json.IsString()) {
    out.order.push_back(read_order(text_of(json), Json{}, out, reading));
  } else {
    reading.complaint.say(400, "\"sort\" property value should be an array or an object");
  }
}

void check_summable(const Aggregation& aggregation, Reading& reading) {
  const auto& column = aggregation.column;
  if (column.type == Type::string || column.is_multi())
    reading.complaint.say(500, fmt::format("table {}: can not aggregate non-scalar attribute '{}'",
                                           reading.table, column.name));
  if (column.type == Type::json && aggregation.kind != Kind::avg)
    reading.complaint.say(
        500, fmt::format("table {}: ambiguous attribute type '{}', use INTEGER(), BIGINT() or "
                         "DOUBLE() conversion functions",
                         reading.table, column.name));
}

void read_body(const Json& json, Aggregation& out, Reading& reading) {
  const auto* keyed = find_member(json, "keyed");
  out.keyed = keyed != nullptr && keyed->IsBool() && keyed->GetBool();
  switch (out.kind) {
    case Kind::terms:
      out.size = read_size(json, reading);
      [[fallthrough]];
    case Kind::histogram:
    case Kind::date_histogram:
      out.grouping = read_grouping(out.kind, json, reading);
      if (const auto* order = find_member(json, "order"); order != nullptr && !order->IsString())
        read_orders(*order, out, reading);
      break;
    case Kind::range:
    case Kind::date_range:
      out.column = read_field(json, reading);
      if (out.column.type == Type::json && out.kind == Kind::range)
        reading.complaint.say(500, fmt::format("table {}: parse error: range() argument 1 must be "
                                               "number, or evaluated to number",
                                               reading.table));
      out.ranges = read_ranges(json, out.kind == Kind::date_range, reading);
      break;
    case Kind::composite:
      read_composite(json, out, reading);
      break;
    case Kind::min:
    case Kind::max:
    case Kind::sum:
    case Kind::avg:
      out.column = read_field(json, reading);
      check_summable(out, reading);
      break;
    case Kind::percentiles:
      out.column = read_field(json, reading);
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

Aggregation read_aggregation(const Json::Member& from, Reading& reading) {
  Aggregation out;
  out.name = text_of(from.name);
  if (!from.value.IsObject() || from.value.ObjectEmpty()) {
    reading.complaint.say(400, fmt::format("\"aggs\" bucket '{}' should be an object", out.name));
    return out;
  }
  const Json* sort = nullptr;
  for (const auto& item : from.value.GetObject()) {
    const auto word = text_of(item.name);
    if (word == "aggs" || word == "aggregations") {
      reading.complaint.say(400, "nested \"aggs\" is not supported");
    } else if (word == "sort" || word == "order") {
      sort = &item.value;
    } else if (const auto* kind =
                   std::find_if(kKinds.begin(), kKinds.end(),
                                [&](const auto& known) { return known.first == word; });
               kind != kKinds.end()) {
      out.kind = kind->second;
      if (item.value.IsObject()) {
        read_body(item.value, out, reading);
      } else {
        reading.complaint.say(400, fmt::format("\"{}\" should be an object", word));
      }
    }
  }
  if (sort != nullptr) read_orders(*sort, out, reading);
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

}  // namespace karmad
