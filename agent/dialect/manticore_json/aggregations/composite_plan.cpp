#include "agent/dialect/manticore_json/aggregations/composite_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/manticore_json/parse_part.hpp"
#include "agent/dialect/manticore_json/sort_plan.hpp"

namespace karmad {

namespace {

using rapidjson::Value;
using Refusal = std::optional<ClientError>;

/// Bounds the work: every bucket is compared by every source.
constexpr std::size_t kMostSources = 64;
/// Most sort keys that the search server accepts.
constexpr std::size_t kMostKeys = 5;

Refusal no(const Aggregation& aggregation, std::string_view why) {
  return ClientError{400, fmt::format("aggregation \"{}\": {}", aggregation.name, why)};
}

Refusal add_source(Aggregation& aggregation, const Value& given) {
  constexpr std::string_view kForm = "a source must be an object with one name and one kind";
  if (!given.IsObject() || given.MemberCount() != 1) return no(aggregation, kForm);
  const auto& member = *given.MemberBegin();
  if (!member.value.IsObject() || member.value.MemberCount() != 1) return no(aggregation, kForm);
  const auto& kind = *member.value.MemberBegin();
  CompositeSource source{.name = std::string(text_of(member.name))};
  if (std::ranges::find(aggregation.sources, source.name, &CompositeSource::name) !=
      aggregation.sources.end())
    return no(aggregation, fmt::format("source \"{}\" is given twice", source.name));
  if (!kind.value.IsObject() || !kind.value.HasMember("field") || !kind.value["field"].IsString())
    return no(aggregation, fmt::format("source \"{}\" has no field", source.name));
  source.field = text_of(kind.value["field"]);
  // The keys of a histogram are always numbers.
  if (text_of(kind.name) == "terms") source.kind = key_kind(source.field);
  if (const auto order = kind.value.FindMember("order");
      order != kind.value.MemberEnd() && order->value.IsString())
    source.descending = same_attribute(text_of(order->value), "desc");
  aggregation.sources.push_back(std::move(source));
  return std::nullopt;
}

Refusal add_sources(Aggregation& aggregation, const Value& inner) {
  const auto sources = inner.FindMember("sources");
  if (sources == inner.MemberEnd() || !sources->value.IsArray() || sources->value.Empty())
    return no(aggregation, "it has no sources");
  if (sources->value.Size() > kMostSources)
    return no(aggregation, fmt::format("more than {} sources", kMostSources));
  for (const auto& source : sources->value.GetArray())
    if (auto refusal = add_source(aggregation, source)) return refusal;
  return std::nullopt;
}

/// Moves the sources that the client orders by to the front.
Refusal reorder(Aggregation& aggregation, const std::vector<OrderItem>& items) {
  auto& sources = aggregation.sources;
  auto next = sources.begin();
  for (const auto& item : items) {
    auto named = std::ranges::find_if(
        sources, [&](const auto& source) { return same_field(source.field, item.by); });
    if (named == sources.end()) named = std::ranges::find(sources, item.by, &CompositeSource::name);
    if (named == sources.end())
      return no(aggregation, fmt::format("composite can be ordered by its sources, not by \"{}\": "
                                         "the table has several shards",
                                         item.by));
    if (named < next) continue;  // an earlier key has decided already
    named->descending = item.descending;
    std::rotate(next, named, named + 1);
    ++next;
  }
  return std::nullopt;
}

/// Reads `after`: the page begins behind this group.
Refusal read_after(Aggregation& aggregation, const Value& inner) {
  const auto after = inner.FindMember("after");
  if (after == inner.MemberEnd()) return std::nullopt;
  if (!after->value.IsObject()) return no(aggregation, "\"after\" must be an object");
  if (after->value.ObjectEmpty()) return std::nullopt;
  if (after->value.MemberCount() != aggregation.sources.size())
    return no(aggregation, "\"after\" must have one value for each source");
  for (const auto& source : aggregation.sources) {
    const auto* const value = member_of(&after->value, source.name);
    if (value == nullptr)
      return no(aggregation, fmt::format("\"after\" has no value for source \"{}\"", source.name));
    if (value->IsArray() || value->IsObject())
      return no(aggregation, fmt::format("\"after\" must have a number or a text for source \"{}\"",
                                         source.name));
    aggregation.after.push_back(json_of(*value));
  }
  return std::nullopt;
}

}  // namespace

std::optional<ClientError> plan_composite(Aggregation& aggregation, std::size_t max_matches,
                                          const Value& body, Value& inner) {
  if (auto refusal = add_sources(aggregation, inner)) return refusal;
  const auto items = read_order(aggregation.name, body, inner);
  if (!items) return items.error();
  if (auto refusal = reorder(aggregation, *items)) return refusal;
  if (auto refusal = read_after(aggregation, inner)) return refusal;

  aggregation.sorted_by = std::min(aggregation.sources.size(), kMostKeys);
  aggregation.asked = with_spare(aggregation.size);
  if (!aggregation.after.empty()) aggregation.asked = std::max(aggregation.asked, max_matches);
  inner.RemoveMember("after");
  return std::nullopt;
}

std::vector<OrderItem> composite_order(const Aggregation& aggregation) {
  std::vector<OrderItem> order;
  for (std::size_t i = 0; i < aggregation.sorted_by; ++i)
    order.push_back({aggregation.sources[i].field, aggregation.sources[i].descending});
  return order;
}

}  // namespace karmad
