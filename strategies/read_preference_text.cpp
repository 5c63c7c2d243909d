#include "strategies/read_preference_text.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "config/text/closest.hpp"
#include "config/text/enum_names.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"
#include "strategies/words.hpp"

namespace karmad {
namespace {

using Json = rapidjson::Value;
using Parsed = std::expected<ReadPreference, InvalidPreference>;
/// An error, or nothing.
using ErrorAttribution = std::optional<std::string>;

constexpr auto kModeNames = enum_names<Mode>({{Mode::primary, "primary"},
                                              {Mode::primary_preferred, "primaryPreferred"},
                                              {Mode::secondary, "secondary"},
                                              {Mode::secondary_preferred, "secondaryPreferred"},
                                              {Mode::nearest, "nearest"}});
enum class Field : std::uint8_t { mode, tags, limit, hedge };
constexpr auto kFieldNames = enum_names<Field>({{Field::mode, "mode"},
                                                {Field::tags, "tags"},
                                                {Field::limit, "maxStalenessSeconds"},
                                                {Field::hedge, "hedge"}});

std::unexpected<InvalidPreference> wrong(std::string why) {
  return std::unexpected(InvalidPreference{0, std::move(why)});
}

std::string_view view(const Json& string) {
  return {string.GetString(), string.GetStringLength()};
}

std::string unknown(std::string_view what, std::string_view word,
                    std::span<const std::string_view> known) {
  const auto meant = suggestion(word, known);
  if (!meant.empty()) return fmt::format("there is no {} {}{}", what, quoted(word), meant);
  return fmt::format("there is no {} {}; {}s are {}", what, quoted(word), what,
                     fmt::join(known, ", "));
}

ErrorAttribution set_mode(ReadPreference& preference, std::string_view word) {
  const auto mode = kModeNames.find(word);
  if (!mode) return unknown("mode", word, kModeNames.all());
  preference.mode = *mode;
  return std::nullopt;
}

/// -1 means no limit (SS-040); other values are checked by `invalid`.
void set_limit(ReadPreference& preference, std::int64_t limit) {
  if (limit != -1) preference.max_staleness = std::chrono::seconds(limit);
}

constexpr std::string_view kWholeSeconds = "it must be a whole number of seconds, or -1";

// The JSON form.

ErrorAttribution take_tags(ReadPreference& preference, const Json& value) {
  if (!value.IsArray() || value.Empty())
    return R"(tags must be an array of at least one object, such as [{"dc":"ny"},{}])";
  if (value.Size() > kMostTagSets) return fmt::format("more than {} tag sets", kMostTagSets);
  for (const auto& set : value.GetArray()) {
    if (!set.IsObject()) return R"(tags must hold objects only, such as {"dc":"ny"})";
    auto& tags = preference.tag_sets.emplace_back();
    for (const auto& [key, label] : set.GetObject()) {
      if (!label.IsString())
        return fmt::format("the value of the tag {} must be a string", quoted(view(key)));
      if (auto why = add_tag(tags, view(key), view(label))) return why;
    }
  }
  return std::nullopt;
}

ErrorAttribution take_limit(ReadPreference& preference, const Json& value) {
  if (!value.IsInt64()) return fmt::format("maxStalenessSeconds is no integer, {}", kWholeSeconds);
  set_limit(preference, value.GetInt64());
  return std::nullopt;
}

ErrorAttribution take_hedge(ReadPreference& preference, const Json& value) {
  constexpr auto kRight = R"(hedge must be an object, {"enabled":true} or {"enabled":false})";
  if (!value.IsObject()) return kRight;
  const auto enabled = value.FindMember("enabled");
  if (enabled != value.MemberEnd() && !enabled->value.IsBool()) return kRight;
  preference.hedge = enabled == value.MemberEnd() || enabled->value.GetBool();  // SS-071
  return std::nullopt;
}

ErrorAttribution take(ReadPreference& preference, Field field, const Json& value) {
  if (field == Field::mode)
    return value.IsString() ? set_mode(preference, view(value)) : "mode must be a string";
  if (value.IsNull()) return std::nullopt;
  if (field == Field::tags) return take_tags(preference, value);
  if (field == Field::limit) return take_limit(preference, value);
  return take_hedge(preference, value);
}

// The short form.

ErrorAttribution take(ReadPreference& preference, Field field, std::string_view value) {
  if (field == Field::mode) return set_mode(preference, value);
  if (field == Field::tags) {
    auto tag_sets = parse_tag_sets(value);
    if (!tag_sets) return std::move(tag_sets.error());
    preference.tag_sets = std::move(*tag_sets);
  } else if (field == Field::limit) {
    const auto limit = number_in<std::int64_t>(value);
    if (!limit) return fmt::format("maxStalenessSeconds is {}, {}", quoted(value), kWholeSeconds);
    set_limit(preference, *limit);
  } else {
    if (!value.empty() && value != "true" && value != "false")
      return fmt::format("hedge is {}, it must be true or false", quoted(value));
    preference.hedge = value != "false";  // without a value: true (SS-071)
  }
  return std::nullopt;
}

/// Checks of both forms: each field once, a mode, and a valid preference.
class Reading {
 public:
  template <class Value>
  ErrorAttribution field(Field field, const Value& value) {
    if (std::exchange(seen(field), true))
      return fmt::format("{} is given twice", kFieldNames[field]);
    return take(preference_, field, value);
  }

  Parsed result() {
    if (!seen(Field::mode)) return wrong("it has no mode, such as mode=nearest");
    if (auto why = invalid(preference_)) return std::unexpected(std::move(*why));
    if (preference_.mode == Mode::primary && preference_.hedge)  // SS-093
      return wrong("hedge has no meaning with mode primary: there is one mirror to ask");
    return std::move(preference_);
  }

 private:
  bool& seen(Field field) { return seen_[static_cast<std::size_t>(field)]; }

  ReadPreference preference_;
  std::array<bool, kFieldNames.all().size()> seen_{};
};

Parsed parse_json(std::string_view text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError())
    return wrong(fmt::format("not JSON at byte {}: {}", document.GetErrorOffset(),
                             rapidjson::GetParseError_En(document.GetParseError())));
  Reading reading;
  for (const auto& [key, value] : document.GetObject()) {
    const auto field = kFieldNames.find(view(key));
    if (!field) continue;  // SS-094
    if (auto why = reading.field(*field, value)) return wrong(std::move(*why));
  }
  return reading.result();
}

Parsed parse_short(std::string_view text) {
  Reading reading;
  ErrorAttribution why;
  each_part(text, ';', [&](std::string_view part) {
    part = trimmed(part);
    if (part.empty()) return true;  // after the last `;`
    const auto equals = std::min(part.find('='), part.size());
    const auto word = trimmed(part.substr(0, equals));
    const auto value = trimmed(part.substr(std::min(equals + 1, part.size())));
    const auto field = kFieldNames.find(word);
    why = field ? reading.field(*field, value) : unknown("field", word, kFieldNames.all());
    return !why;
  });
  return why ? wrong(std::move(*why)) : reading.result();
}

}  // namespace

Parsed parse_read_preference(std::string_view text) {
  if (text.size() > kLongestPreference)
    return wrong(
        fmt::format("it has {} bytes, at most {} are read", text.size(), kLongestPreference));
  text = trimmed(text);
  if (text.empty())
    return wrong(fmt::format("it is empty; modes are {}", fmt::join(kModeNames.all(), ", ")));
  if (!is_utf8(text)) return wrong("it is not UTF-8");
  if (text.front() == '{') return parse_json(text);
  if (text.find_first_of("=;") != std::string_view::npos) return parse_short(text);
  Reading reading;
  if (auto why = reading.field(Field::mode, text)) return wrong(std::move(*why));
  return reading.result();
}

std::string_view name(Mode mode) {
  return kModeNames[mode];
}

std::string text(const ReadPreference& preference) {
  rapidjson::StringBuffer out;
  rapidjson::Writer writer(out);
  const auto put = [&](std::string_view word) {
    writer.String(word.data(), static_cast<rapidjson::SizeType>(word.size()));
  };
  writer.StartObject();
  put("mode");
  put(name(preference.mode));
  if (!preference.tag_sets.empty()) {
    put("tags");
    writer.StartArray();
    for (const auto& tags : preference.tag_sets) {
      writer.StartObject();
      for (const auto& tag : tags) {
        put(tag.name);
        put(tag.value);
      }
      writer.EndObject();
    }
    writer.EndArray();
  }
  if (preference.max_staleness) {
    put("maxStalenessSeconds");
    writer.Int64(preference.max_staleness->count());
  }
  if (preference.hedge) {  // SS-072
    put("hedge");
    writer.StartObject();
    put("enabled");
    writer.Bool(*preference.hedge);
    writer.EndObject();
  }
  writer.EndObject();
  return {out.GetString(), out.GetSize()};
}

}  // namespace karmad
