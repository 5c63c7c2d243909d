#include "strategies/read_preference.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "config/text/closest.hpp"
#include "config/text/enum_names.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"
#include "strategies/words.hpp"

namespace karmad {

namespace {

using std::chrono::seconds;

/// a - b, saturated: values reported by mirrors are not trusted.
Micros difference(Micros a, Micros b) {
  std::int64_t result = 0;
  if (!__builtin_sub_overflow(a.count(), b.count(), &result)) return Micros{result};
  return a < b ? Micros::min() : Micros::max();
}

Micros sum(Micros a, Micros b) {
  std::int64_t result = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &result)) return Micros{result};
  return a < Micros{0} ? Micros::min() : Micros::max();
}

/// Age of the mirror's newest update when it was reported. Uses two clocks, so only differences
/// between mirrors have a meaning.
Micros age(const MirrorFacts& facts) {
  return difference(facts.updated.time_since_epoch(), *facts.last_write);
}

/// The reference for replicas: the primary's age if known, else that of the newest update.
class Freshness {
 public:
  explicit Freshness(const SetDescription& picture) : ping_interval_(picture.ping_interval) {
    for (const auto& facts : picture.mirrors) {
      if (!facts.last_write) continue;
      if (facts.role == Role::primary) primary_age_ = age(facts);
      if (facts.role == Role::replica) newest_ = std::max(newest_, *facts.last_write);
    }
  }

  std::optional<Micros> lag(const MirrorFacts& facts) const {
    if (facts.role != Role::replica) return Micros{0};
    if (!facts.last_write) return std::nullopt;
    const auto behind = primary_age_ ? difference(age(facts), *primary_age_)
                                     : difference(newest_, *facts.last_write);
    return sum(behind, ping_interval_);
  }

 private:
  Micros ping_interval_;
  std::optional<Micros> primary_age_;
  Micros newest_ = Micros::min();
};

Candidates with_role(Role role, const SetDescription& picture, Candidates from) {
  return from.where(
      [&](auto m) { return m < picture.mirrors.size() && picture.mirrors[m].role == role; });
}

Candidates fresh(const ReadPreference& preference, const SetDescription& picture, Candidates from) {
  if (!preference.max_staleness || from.empty()) return from;
  const Freshness freshness(picture);
  Candidates kept;
  for (auto mirror : from) {
    const auto lag = freshness.lag(picture.mirrors[mirror]);
    if (lag && *lag <= *preference.max_staleness) kept.insert(mirror);
  }
  return kept;
}

// Each calls `use` with the levels in order, until it returns true: then the rest is not needed.

/// The first tag set that matches any mirror decides (SS-063).
template <class Use>
bool by_tags(const ReadPreference& preference, const SetDescription& picture, Candidates from,
             Use use) {
  if (preference.tag_sets.empty()) return use(from);
  for (const auto& wanted : preference.tag_sets) {
    Candidates kept;
    for (auto mirror : from)
      if (has_all(picture.mirrors[mirror].tags, wanted)) kept.insert(mirror);
    if (use(kept)) return true;
  }
  return false;
}

template <class Use>
bool by_role(const Need& need, const SetDescription& picture, Candidates from, Use use) {
  const auto& preference = need.preference;
  const auto primary = with_role(Role::primary, picture, from);
  if (need.operation == Operation::write || preference.mode == Mode::primary) return use(primary);
  if (preference.mode == Mode::primary_preferred && use(primary)) return true;
  auto others = with_role(Role::replica, picture, from);
  if (preference.mode == Mode::nearest) others = primary | others;
  if (by_tags(preference, picture, fresh(preference, picture, others), use)) return true;
  return preference.mode == Mode::secondary_preferred && use(primary);
}

template <class Use>
void for_levels(const Need& need, const SetDescription& picture, Candidates from, Use use) {
  if (picture.incompatible) return;  // SS-121
  switch (picture.kind) {
    case SetKind::unknown:
      break;
    case SetKind::balanced:
      use(from);
      break;
    case SetKind::direct:
      use(from.where([&](auto m) {
        return m < picture.mirrors.size() && picture.mirrors[m].role != Role::unknown;
      }));
      break;
    case SetKind::flat: {
      const auto available = with_role(Role::router, picture, from);
      if (picture.tags_in_flat && need.operation == Operation::read)
        by_tags(need.preference, picture, available, use);
      else
        use(available);
      break;
    }
    case SetKind::roles:
      by_role(need, picture, from, use);
      break;
  }
}

}  // namespace

std::optional<InvalidPreference> invalid(const ReadPreference& preference) {
  const auto limit = preference.max_staleness;
  if (limit && (*limit <= seconds(0) || *limit > kLargestStaleness))
    return InvalidPreference{
        0, fmt::format("maxStalenessSeconds is {}, it must be between 1 and {}, or -1 for no limit",
                       limit->count(), kLargestStaleness.count())};
  if (preference.mode != Mode::primary) return std::nullopt;
  constexpr std::string_view kOthers =
      "it always uses the primary; use another mode, such as primaryPreferred";
  if (limit)
    return InvalidPreference{
        0, fmt::format("maxStalenessSeconds has no meaning with mode primary: {}", kOthers)};
  if (!std::ranges::all_of(preference.tag_sets, &Tags::empty))
    return InvalidPreference{0, fmt::format("tags have no meaning with mode primary: {}", kOthers)};
  return std::nullopt;
}

std::optional<InvalidPreference> invalid_for(const ReadPreference& preference, SetKind kind,
                                             Micros ping_interval) {
  if (auto wrong = invalid(preference)) return wrong;
  if (kind != SetKind::roles || !preference.max_staleness) return std::nullopt;
  const auto limit = Micros(*preference.max_staleness);
  const auto least = std::max(Micros(kSmallestStaleness), sum(ping_interval, kIdleWritePeriod));
  if (limit >= least) return std::nullopt;
  return InvalidPreference{
      160, fmt::format("maxStalenessSeconds is {}, it must be at least {} here: {}, and the ping "
                       "interval of {} ms and {}",
                       preference.max_staleness->count(), std::chrono::ceil<seconds>(least).count(),
                       kSmallestStaleness, ping_interval / std::chrono::milliseconds(1),
                       kIdleWritePeriod)};
}

std::optional<Micros> staleness(const SetDescription& picture, std::size_t mirror) {
  return Freshness(picture).lag(picture.mirrors[mirror]);
}

PreferenceLevels levels_for(const Need& need, const SetDescription& picture, Candidates from) {
  PreferenceLevels levels;
  for_levels(need, picture, from, [&](Candidates level) {
    levels.add(level);
    return false;
  });
  return levels;
}

Candidates suitable_for(const Need& need, const SetDescription& picture, Candidates from) {
  Candidates suitable;
  for_levels(need, picture, from, [&](Candidates level) {
    suitable = level;
    return !level.empty();
  });
  return suitable;
}

std::optional<ReadPreference> passed_on(const std::optional<ReadPreference>& asked, SetKind kind,
                                        Role role) {
  const bool says_something = asked && asked->mode != Mode::primary;
  if (kind == SetKind::direct) {
    if (role == Role::standalone) return std::nullopt;  // SS-095
    // SS-096: a single copy of any role must accept the read. A router chooses itself, and a mirror
    // of unknown role may be either.
    const bool one_copy = role != Role::router && role != Role::unknown;
    if (one_copy && !says_something) return ReadPreference{.mode = Mode::primary_preferred};
  }
  return says_something ? asked : std::nullopt;  // SS-090, SS-091, SS-097
}

namespace {

std::string in_seconds(Micros time) {
  return fmt::format("{} s", static_cast<double>(time.count()) / 1e6);
}

/// Empty if it is fresh enough.
std::string why_stale(const ReadPreference& preference, const SetDescription& picture,
                      std::size_t mirror) {
  const auto limit = preference.max_staleness;
  const auto lag = staleness(picture, mirror);
  if (!limit || (lag && *lag <= *limit)) return {};
  if (!lag)
    return fmt::format("does not report its staleness, the limit is {}", in_seconds(*limit));
  return fmt::format("lags {}, the limit is {}", in_seconds(*lag), in_seconds(*limit));
}

bool has_primary(const SetDescription& picture) {
  return std::ranges::find(picture.mirrors, Role::primary, &MirrorFacts::role) !=
         picture.mirrors.end();
}

std::string why_tags(const ReadPreference& preference, const SetDescription& picture,
                     std::size_t mirror) {
  const auto& tags = picture.mirrors[mirror].tags;
  for (const auto& wanted : preference.tag_sets)
    if (has_all(tags, wanted)) return "another mirror has a tag set that is preferred";
  return fmt::format("has no tag set of {}", text(preference.tag_sets));
}

/// For a primary or replica in a set with roles.
std::string why_by_mode(const Need& need, const SetDescription& picture, std::size_t mirror) {
  const auto& preference = need.preference;
  const bool is_primary = picture.mirrors[mirror].role == Role::primary;
  if (need.operation == Operation::write) return "is a replica, updates go to the primary";
  if (preference.mode == Mode::primary) return "is a replica, only the primary is wanted";
  if (is_primary && preference.mode == Mode::secondary)
    return "is the primary, only replicas are wanted";
  if (is_primary && preference.mode == Mode::secondary_preferred)
    return "is the primary, replicas are preferred";
  if (preference.mode == Mode::primary_preferred && has_primary(picture))
    return "is a replica, the primary is preferred";
  if (auto why = why_stale(preference, picture, mirror); !why.empty()) return why;
  return why_tags(preference, picture, mirror);
}

}  // namespace

std::string why_unsuitable(const Need& need, const SetDescription& picture, std::size_t mirror) {
  const auto all = Candidates::first(picture.mirrors.size());
  if (suitable_for(need, picture, all).contains(mirror)) return {};
  if (picture.incompatible) return "no mirror of its set answers pings in a known version";
  if (mirror >= picture.mirrors.size() || picture.mirrors[mirror].role == Role::unknown)
    return "its role is unknown";
  if (picture.kind == SetKind::unknown) return "the kind of its set is not known yet";
  const auto role = picture.mirrors[mirror].role;
  if (picture.kind == SetKind::flat && role == Role::router)
    return why_tags(need.preference, picture, mirror);
  if (picture.kind == SetKind::roles && (role == Role::primary || role == Role::replica))
    return why_by_mode(need, picture, mirror);
  return fmt::format("role is {}", name(role));
}

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
