#include "agent/dialect/manticore_json/sort_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "agent/dialect/manticore_json/order/computed_key.hpp"
#include "agent/dialect/manticore_json/parse_part.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

using Keys = std::vector<SortKey>;

/// More than any server sorts by; bounds the work per hit.
constexpr std::size_t kMostKeys = 16;
/// Each step scans the rest of the value, so this also bounds the work per hit.
constexpr std::size_t kMostSteps = 32;

constexpr std::string_view kDistance = "knn_dist()";
constexpr std::string_view kFusedScore = "hybrid_score()";

SortKey key_named(std::string_view attribute) {
  // By default a score sorts best first; everything else ascends.
  if (attribute == "_score") return {.by = SortKey::By::score, .descending = true};
  if (same_attribute(attribute, "id") || attribute == "_id") return {.by = SortKey::By::id};
  if (attribute == kDistance || attribute == "_knn_dist")
    return {.by = SortKey::By::knn_dist, .name = std::string(attribute)};
  if (attribute == kFusedScore || attribute == "_hybrid_score")
    return {.by = SortKey::By::hybrid_score, .name = std::string(attribute)};
  SortKey key{.name = std::string(attribute)};
  if (auto path = read_json_path(attribute)) {
    key.attribute = std::move(path->attribute);
    key.path = std::move(path->steps);
  } else {
    key.attribute = key.name;
  }
  return key;
}

/// Refuses what no shard can sort by.
std::optional<ClientError> unknown_to_server(std::string_view attribute,
                                             const rapidjson::Value& how) {
  for (const auto* property : {"missing", "nested_path", "nested_filter"})
    if (how.HasMember(property))
      return ClientError{
          400, fmt::format("\"{}\" property not supported: sort key \"{}\"", property, attribute)};
  return std::nullopt;
}

std::expected<SortKey, ClientError> key_of(std::string_view attribute,
                                           const rapidjson::Value* how) {
  if (attribute.empty()) return refused("a sort key has no name");
  if (attribute == "_random")
    return refused("sorting by _random cannot be merged: the table has several shards");
  if (attribute == "_geo_distance") return distance_key(how);
  if (attribute == "_script") return refused("\"_script\" property not supported");
  const bool computed_here = attribute == kDistance || attribute == kFusedScore;
  if (attribute.find('(') != attribute.npos && !computed_here)
    return refused(
        fmt::format("sorting by {} cannot be merged: the table has several shards; give the "
                    "expression a name in \"expressions\" and sort by that name",
                    attribute));
  auto key = key_named(attribute);
  if (key.path.size() > kMostSteps)
    return refused(
        fmt::format("a sort key leads deeper than {} steps into a JSON attribute", kMostSteps));
  if (how == nullptr) return key;
  if (how->IsObject()) {
    if (auto refusal = unknown_to_server(attribute, *how))
      return std::unexpected(std::move(*refusal));
    if (const auto mode = how->FindMember("mode"); mode != how->MemberEnd()) {
      auto computed = least_or_greatest_key(attribute, mode->value);
      if (!computed) return computed;
      key = std::move(*computed);
    }
    const auto order = how->FindMember("order");
    if (order == how->MemberEnd()) return key;
    how = &order->value;
  }
  const auto descending = sorts_descending(attribute, *how);
  if (!descending) return std::unexpected(descending.error());
  key.descending = *descending;
  return key;
}

/// Adds the keys of `"attr"` or of every member of `{"attr": …}`.
std::expected<void, ClientError> add_keys(const rapidjson::Value& item, Keys& keys) {
  if (item.IsString()) {
    auto key = key_of(text_of(item), nullptr);
    if (!key) return std::unexpected(key.error());
    keys.push_back(std::move(*key));
    return {};
  }
  if (!item.IsObject()) return refused("a sort key must be a string or an object");
  for (const auto& member : item.GetObject()) {
    auto key = key_of(text_of(member.name), &member.value);
    if (!key) return std::unexpected(key.error());
    keys.push_back(std::move(*key));
  }
  return {};
}

}  // namespace

bool same_attribute(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

bool SortPlan::is_default() const {
  return implied == 0 && asked == 1 && keys.front().by == SortKey::By::score &&
         keys.front().descending;
}

namespace {

/// The keys that servers add to those of a search for vectors; how many they are.
std::size_t add_implied(VectorOrder vectors, Keys& keys) {
  if (vectors == VectorOrder::none) return 0;
  if (vectors == VectorOrder::fused) {
    if (!keys.empty()) return 0;
    keys.push_back(key_named(kFusedScore));
    keys.back().descending = true;
    return 1;
  }
  if (std::ranges::find(keys, SortKey::By::knn_dist, &SortKey::by) != keys.end()) return 0;
  keys.insert(keys.begin(), key_named(kDistance));
  return 1;
}

}  // namespace

std::expected<SortPlan, ClientError> plan_sort(std::string_view text, VectorOrder vectors) {
  Keys given;
  if (!text.empty()) {
    rapidjson::Document sort;
    parse_part(text, sort);
    if (sort.IsArray()) {
      for (const auto& item : sort.GetArray())
        if (const auto added = add_keys(item, given); !added) return std::unexpected(added.error());
    } else if (const auto added = add_keys(sort, given); !added) {
      return std::unexpected(added.error());
    }
  }
  if (given.size() > kMostKeys) return refused(fmt::format("more than {} sort keys", kMostKeys));
  name_computed(given);
  const auto implied = add_implied(vectors, given);
  if (given.empty()) given.push_back(key_named("_score"));

  SortPlan plan{.keys = std::move(given), .implied = implied};
  auto& keys = plan.keys;
  plan.scores = std::ranges::find(keys, SortKey::By::score, &SortKey::by) != keys.end();
  if (const auto id = std::ranges::find(keys, SortKey::By::id, &SortKey::by); id != keys.end()) {
    // Without a key of their own for the distance servers would sort by it first.
    const auto is_distance = [](const SortKey& key) { return key.by == SortKey::By::knn_dist; };
    keys.erase(std::stable_partition(id + 1, keys.end(), is_distance), keys.end());
    plan.asked = keys.size();
    return plan;
  }
  plan.asked = keys.size();
  keys.push_back(key_named("id"));
  if (!plan.is_default() && plan.is_told() && keys.size() <= kMostServerKeys)
    plan.asked = keys.size();
  return plan;
}

std::string write_sort(const SortPlan& plan) {
  std::string text;
  {
    JsonLine out(text);
    out.add('[');
    for (const auto& key : std::span(plan.keys).first(plan.asked).subspan(plan.implied)) {
      out.add(out.size() > 1 ? ",{" : "{");
      out.add_quoted(key.by == SortKey::By::score ? "_score"
                     : key.by == SortKey::By::id  ? "id"
                                                  : std::string_view(key.name));
      out.add(key.descending ? R"(:"desc"})" : R"(:"asc"})");
    }
    out.add(']');
  }
  return text;
}

}  // namespace karmad
