#include "agent/dialect/manticore_json/order/computed_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "agent/dialect/manticore_json/parse_part.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

constexpr std::size_t kLongestName = 256;

/// Whether it is a name of an attribute or a path into a JSON attribute, and nothing else that an
/// expression could hold.
bool is_attribute_name(std::string_view name) {
  const auto may_be_in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '[' || c == ']' || static_cast<unsigned char>(c) >= 0x80;
  };
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, may_be_in_name);
}

std::string_view without_spaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::unexpected<ClientError> bad_source() {
  return refused(
      "\"location_source\" of _geo_distance must name two attributes, the latitude and the "
      "longitude: \"lat, lon\" or [\"lat\", \"lon\"]");
}

/// `lat, lon`.
std::expected<std::string, ClientError> source_of(const rapidjson::Value& how) {
  const auto* const source = member_of(&how, "location_source");
  std::string_view latitude;
  std::string_view longitude;
  if (source != nullptr && source->IsArray() && source->Size() == 2) {
    latitude = text_of(&(*source)[0]);
    longitude = text_of(&(*source)[1]);
  } else {
    const auto text = text_of(source);
    const auto comma = text.find(',');
    if (comma == text.npos) return bad_source();
    latitude = without_spaces(text.substr(0, comma));
    longitude = without_spaces(text.substr(comma + 1));
  }
  if (!is_attribute_name(latitude) || !is_attribute_name(longitude)) return bad_source();
  return fmt::format("{}, {}", latitude, longitude);
}

/// A coordinate in degrees; nothing if there is none.
std::optional<double> degrees(const rapidjson::Value* anchor, std::string_view name) {
  const auto* const value = member_of(anchor, name);
  if (value == nullptr || !value->IsNumber()) return std::nullopt;
  const auto number = value->GetDouble();
  return std::abs(number) <= 360 ? std::optional(number) : std::nullopt;
}

}  // namespace

std::expected<bool, ClientError> sorts_descending(std::string_view attribute,
                                                  const rapidjson::Value& order) {
  if (order.IsString()) {
    if (text_of(order) == "asc") return false;
    if (text_of(order) == "desc") return true;
  }
  return refused(
      fmt::format("the order of sort key \"{}\" must be \"asc\" or \"desc\"", attribute));
}

std::expected<SortKey, ClientError> distance_key(const rapidjson::Value* how) {
  if (how == nullptr || !how->IsObject())
    return refused(
        "_geo_distance must be an object with \"location_anchor\" and "
        "\"location_source\"");
  const auto* const anchor = member_of(how, "location_anchor");
  const auto latitude = degrees(anchor, "lat");
  const auto longitude = degrees(anchor, "lon");
  if (!latitude || !longitude)
    return refused(
        "\"location_anchor\" of _geo_distance must be {\"lat\": …, \"lon\": …}, two "
        "numbers in degrees");
  const auto source = source_of(*how);
  if (!source) return std::unexpected(source.error());
  const auto* const type = member_of(how, "distance_type");
  if (type != nullptr && text_of(type) != "adaptive" && text_of(type) != "haversine")
    return refused("\"distance_type\" of _geo_distance must be \"adaptive\" or \"haversine\"");
  const bool haversine = type != nullptr && text_of(type) == "haversine";
  SortKey key;
  // The server itself takes six decimals of the anchor.
  key.expression = fmt::format("GEODIST({:.6f}, {:.6f}, {}, {{in=deg{}}})", *latitude, *longitude,
                               *source, haversine ? ", method=haversine" : "");
  const auto* const order = member_of(how, "order");
  if (order == nullptr) return key;
  const auto descending = sorts_descending("_geo_distance", *order);
  if (!descending) return std::unexpected(descending.error());
  key.descending = *descending;
  return key;
}

std::expected<SortKey, ClientError> least_or_greatest_key(std::string_view attribute,
                                                          const rapidjson::Value& mode) {
  const bool least = text_of(&mode) == "min";
  if (!least && text_of(&mode) != "max")
    return refused(
        fmt::format("\"mode\" of sort key \"{}\" must be \"min\" or \"max\"", attribute));
  if (!is_attribute_name(attribute))
    return refused(fmt::format("\"mode\" needs the name of an attribute, not \"{}\"", attribute));
  SortKey key;
  key.expression = fmt::format("{}({})", least ? "LEAST" : "GREATEST", attribute);
  return key;
}

void name_computed(std::vector<SortKey>& keys) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].expression.empty()) continue;
    keys[i].name = fmt::format("karmad_sort_{}", i);
    keys[i].attribute = keys[i].name;
  }
}

void take_named_expressions(std::string_view expressions, std::vector<SortKey>& keys) {
  const auto has_path = [](const SortKey& key) { return !key.path.empty(); };
  if (!is_object(expressions) || std::ranges::none_of(keys, has_path)) return;
  visit_members(expressions, [&](std::string_view name, std::string_view) {
    for (auto& key : keys) {
      if (key.path.empty() || !json_says(name, key.name)) continue;
      key.path.clear();
      key.attribute = key.name;
    }
    return true;
  });
}

std::string expressions_of(const std::vector<SortKey>& keys) {
  std::string text;
  {
    JsonLine out(text);
    for (const auto& key : keys) {
      if (key.expression.empty()) continue;
      if (out.size() != 0) out.add(',');
      out.add_quoted(key.name);
      out.add(':');
      out.add_quoted(key.expression);
    }
  }
  return text;
}

}  // namespace karmad
