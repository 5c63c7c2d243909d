#include "agent/dialect/plan/search/search_parts.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/json_tree.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestName = 256;

/// Whether it is a name of an attribute or a path into a JSON attribute, and nothing else that an
/// expression could hold.
bool is_attribute_name(std::string_view name) {
  const auto may_be_in_name = [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '[' || c == ']' ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, may_be_in_name);
}

/// The latitude and the longitude of a place: `{"lat":…,"lon":…}` or `"lat, lon"`. A list has the
/// longitude first.
std::array<std::string, 2> parts_of(const rapidjson::Value* place) {
  const auto text = text_of(place);
  if (const auto comma = text.find(','); comma != text.npos)
    return {std::string(trimmed(text.substr(0, comma), " ")),
            std::string(trimmed(text.substr(comma + 1), " "))};
  const auto part = [](const rapidjson::Value* value) {
    if (value != nullptr && value->IsNumber()) return json_of(*value);
    return std::string(text_of(value));
  };
  if (place != nullptr && place->IsArray() && place->Size() == 2)
    return {part(&(*place)[1]), part(&(*place)[0])};
  return {part(member_of(place, "lat")), part(member_of(place, "lon"))};
}

/// A coordinate in degrees, as exact as the server takes it; nothing if there is none.
std::optional<float> degrees(std::string_view text) {
  const auto number = number_in<float>(text);
  return number && std::abs(*number) <= 360 ? number : std::nullopt;
}

using Keys = std::vector<SortKey>;

/// More than any server sorts by; bounds the work per hit.
constexpr std::size_t kMostSortKeys = 16;
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

/// Reads the keys of `sort`.
struct KeyReader : FirstRefusal {
  Keys keys;

  /// Adds the keys of `"attr"` or of every member of `{"attr": …}`.
  void add_keys(const rapidjson::Value& item) {
    if (item.IsString()) return add_key(text_of(item), nullptr);
    if (!item.IsObject()) return refuse("a sort key must be a string or an object");
    for (const auto& member : item.GetObject()) add_key(text_of(member.name), &member.value);
  }

 private:
  /// `how`: null if it has no properties.
  void add_key(std::string_view attribute, const rapidjson::Value* how) {
    if (attribute.empty()) return refuse("a sort key has no name");
    if (attribute == "_random")
      return refuse("sorting by _random cannot be merged: the table has several shards");
    if (attribute == "_geo_distance") return add_distance(how);
    if (attribute == "_script") return refuse("\"_script\" property not supported");
    const bool computed_here = attribute == kDistance || attribute == kFusedScore;
    if (attribute.find('(') != attribute.npos && !computed_here)
      return refuse(
          "sorting by {} cannot be merged: the table has several shards; give the expression a "
          "name in \"expressions\" and sort by that name",
          attribute);
    auto key = key_named(attribute);
    if (key.path.size() > kMostSteps)
      return refuse("a sort key leads deeper than {} steps into a JSON attribute", kMostSteps);
    if (how != nullptr && how->IsObject()) {
      key.descending = false;  // as the server: best first is only the default of the bare name
      for (const auto* property : {"missing", "nested_path", "nested_filter"})
        if (how->HasMember(property))
          return refuse(R"("{}" property not supported: sort key "{}")", property, attribute);
      if (const auto* const mode = member_of(how, "mode"))
        key = least_or_greatest(attribute, *mode);
      how = member_of(how, "order");
      // Servers take "DESC" here, but not as the direction itself.
      key.descending = same_attribute(text_of(how), "desc");
      if (key.descending) how = nullptr;
    }
    add(std::move(key), attribute, how);
  }

  /// Adds the key in the direction `"asc"` or `"desc"`; null: in its own.
  void add(SortKey key, std::string_view attribute, const rapidjson::Value* order) {
    const auto direction = text_of(order);
    if (order != nullptr && direction != "asc" && direction != "desc")
      return refuse(R"(the order of sort key "{}" must be "asc" or "desc")", attribute);
    if (order != nullptr) key.descending = direction == "desc";
    keys.push_back(std::move(key));
  }

  /// Adds the key of `"_geo_distance":{…}`: the distance in metres, computed as the search server
  /// does. `how`: null if it has no properties.
  void add_distance(const rapidjson::Value* how) {
    if (how == nullptr || !how->IsObject())
      return refuse(
          R"(_geo_distance must be an object with "location_anchor" and "location_source")");
    const auto anchor = parts_of(member_of(how, "location_anchor"));
    const auto latitude = degrees(anchor[0]);
    const auto longitude = degrees(anchor[1]);
    if (!latitude || !longitude)
      return refuse(
          "\"location_anchor\" of _geo_distance must be {{\"lat\": …, \"lon\": …}}, \"lat, lon\" "
          "or "
          "[lon, lat] in degrees");
    const auto source = parts_of(member_of(how, "location_source"));
    if (!std::ranges::all_of(source, is_attribute_name))
      return refuse(
          "\"location_source\" of _geo_distance must name two attributes, the latitude and the "
          "longitude: \"lat, lon\", {{\"lat\": \"lat\", \"lon\": \"lon\"}} or [\"lon\", \"lat\"]");
    const auto* const type = member_of(how, "distance_type");
    if (type != nullptr && text_of(type) != "adaptive" && text_of(type) != "haversine")
      return refuse(R"("distance_type" of _geo_distance must be "adaptive" or "haversine")");
    const bool haversine = text_of(type) == "haversine";
    SortKey key;
    // The server itself takes six decimals of the anchor.
    key.expression =
        fmt::format("GEODIST({:.6f}, {:.6f}, {}, {}, {{in=deg{}}})", *latitude, *longitude,
                    source[0], source[1], haversine ? ", method=haversine" : "");
    add(std::move(key), "_geo_distance", member_of(how, "order"));
  }

  /// The key of `"attribute":{"mode":…}`: the least or greatest of several values.
  SortKey least_or_greatest(std::string_view attribute, const rapidjson::Value& mode) {
    const bool least = text_of(&mode) == "min";
    if (!least && text_of(&mode) != "max")
      refuse(R"("mode" of sort key "{}" must be "min" or "max")", attribute);
    if (!is_attribute_name(attribute))
      refuse(R"("mode" needs the name of an attribute, not "{}")", attribute);
    SortKey key;
    key.expression = fmt::format("{}({})", least ? "LEAST" : "GREATEST", attribute);
    return key;
  }
};

/// Names the computed keys by their position.
void name_computed(std::vector<SortKey>& keys) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].expression.empty()) continue;
    keys[i].name = fmt::format("karmad_sort_{}", i);
    keys[i].attribute = keys[i].name;
  }
}

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

void take_named_expressions(std::string_view expressions, std::vector<SortKey>& keys) {
  const auto has_path = [](const SortKey& key) { return !key.path.empty(); };
  if (std::ranges::none_of(keys, has_path)) return;
  PassedMembers members(expressions);
  while (const auto member = members.next())
    for (auto& key : keys) {
      if (key.path.empty() || !json_says(member->name, key.name)) continue;
      key.path.clear();
      key.attribute = key.name;
    }
}

std::string expressions_of(const std::vector<SortKey>& keys) {
  std::string text;
  for (const auto& key : keys) {
    if (key.expression.empty()) continue;
    if (!text.empty()) text += ',';
    JsonLine(text).add(Quoted(key.name), ':', Quoted(key.expression));
  }
  return text;
}

OrError<SortPlan> plan_sort(std::string_view text, VectorOrder vectors) {
  KeyReader reader;
  if (!text.empty()) {
    rapidjson::Document sort;
    parse_part(text, sort);
    for (const auto& item : each_of(sort)) reader.add_keys(item);
  }
  if (reader.why) return std::unexpected(*std::move(reader.why));
  auto& given = reader.keys;
  if (given.size() > kMostSortKeys) return refused("more than {} sort keys", kMostSortKeys);
  name_computed(given);
  const auto own = given.size();
  const auto implied = add_implied(vectors, given);
  if (given.empty()) given.push_back(key_named("_score"));

  SortPlan plan{.keys = std::move(given), .implied = implied, .given = own};
  auto& keys = plan.keys;
  plan.scores = std::ranges::find(keys, SortKey::By::score, &SortKey::by) != keys.end();
  if (const auto id = std::ranges::find(keys, SortKey::By::id, &SortKey::by); id != keys.end()) {
    // Without a key of their own for the distance servers would sort by it first.
    const auto is_distance = [](const SortKey& key) { return key.by == SortKey::By::knn_dist; };
    keys.erase(std::stable_partition(id + 1, keys.end(), is_distance), keys.end());
    plan.asked = keys.size();
    plan.given = std::min(plan.given, keys.size() - implied);
    return plan;
  }
  plan.asked = keys.size();
  // Only the score, best first: the order of a request without `sort`.
  const bool is_default = implied == 0 && plan.asked == 1 &&
                          keys.front().by == SortKey::By::score && keys.front().descending;
  keys.push_back(key_named("id"));
  if (!is_default && plan.is_told() && keys.size() <= kMostServerKeys) plan.asked = keys.size();
  return plan;
}

std::string write_sort(const SortPlan& plan) {
  std::string text = "[";
  for (const auto& key : std::span(plan.keys).first(plan.asked).subspan(plan.implied)) {
    if (text.size() > 1) text += ',';
    const auto name = key.by == SortKey::By::score ? "_score"
                      : key.by == SortKey::By::id  ? "id"
                                                   : std::string_view(key.name);
    JsonLine(text).add('{', Quoted(name), key.descending ? R"(:"desc"})" : R"(:"asc"})");
  }
  return text += ']';
}

}  // namespace karmad
