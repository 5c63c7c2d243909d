#include "agent/dialect/fronts/json/read_request.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "agent/json/equals_literal.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_grammar.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/simd_skip.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "config/text/enum_names.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

constexpr unsigned kDeepest = 32;
constexpr std::ptrdiff_t kFastDigits = 18;  // fit into 64 bits

/// Every step takes a position and returns the position after what it skipped, or null.
class Reader {
 public:
  Reader(std::string_view body, unsigned max_depth, SearchRequest& request)
      : begin_(body.data()),
        end_(body.data() + body.size()),
        deepest_(std::min(max_depth, kDeepest)),
        request_(request) {}

  bool read() {
    const auto* at = behind(begin_, '{');
    if (at != nullptr) at = object(at, 1);
    if (at == nullptr) return false;
    request_.closing_brace = offset(at) - 1;
    return spaces(at) == end_;
  }

 private:
  std::size_t offset(const char* at) const { return static_cast<std::size_t>(at - begin_); }

  const char* spaces(const char* at) const {
    while (at != end_ && is_space(*at)) ++at;
    return at;
  }

  /// Skips white space and `wanted`.
  [[gnu::always_inline]] const char* behind(const char* at, char wanted) const {
    if (at != end_ && *at == wanted) return at + 1;  // clients send little white space
    at = spaces(at);
    return at != end_ && *at == wanted ? at + 1 : nullptr;
  }

  /// Starts after the opening quote.
  const char* string(const char* at) const {
    at = find_special(at, end_);
    return at != end_ && *at == '"' ? at + 1 : nullptr;
  }

  /// Starts after the opening brace.
  const char* object(const char* at, unsigned depth) {
    if (depth > deepest_) return nullptr;
    if (const auto* const closed = behind(at, '}')) return closed;
    for (;;) {
      const auto* const key = behind(at, '"');
      if (key == nullptr || (at = string(key)) == nullptr) return nullptr;
      const std::string_view name(key, static_cast<std::size_t>(at - 1 - key));
      if ((at = behind(at, ':')) == nullptr) return nullptr;
      if (depth == 2 && in_options_ && names_option(name)) return nullptr;
      at = depth == 1 ? member(spaces(at), name) : value(spaces(at), depth);
      if (at == nullptr) return nullptr;
      const auto* const next = behind(at, ',');
      if (next == nullptr) return behind(at, '}');
      at = next;
    }
  }

  /// Starts after the opening bracket.
  const char* array(const char* at, unsigned depth) {
    if (depth > deepest_) return nullptr;
    if (const auto* const closed = behind(at, ']')) return closed;
    for (;;) {
      if ((at = value(spaces(at), depth)) == nullptr) return nullptr;
      const auto* const next = behind(at, ',');
      if (next == nullptr) return behind(at, ']');
      at = next;
    }
  }

  /// The value of a top-level member of the request.
  const char* member(const char* at, std::string_view key) {
    const auto property = property_named(key);
    if (!property) return may_name_property(key) ? nullptr : value(at, 1);
    auto& range = request_.properties[static_cast<std::size_t>(*property)];
    if (range.found()) return nullptr;
    const auto* const from = at;
    in_options_ = *property == Property::options;
    if (*property == Property::table || *property == Property::index) {
      if (at == end_ || *at != '"' || (at = string(at + 1)) == nullptr) return nullptr;
      if (*property == Property::table || !request_[Property::table].found())
        request_.table.assign(from + 1, at - 1);
    } else if ((at = value(at, 1)) == nullptr) {
      return nullptr;
    }
    in_options_ = false;
    range = {offset(from), offset(at)};
    return at;
  }

  /// A value inside `depth` brackets.
  const char* value(const char* at, unsigned depth) {
    if (at == end_) return nullptr;
    switch (*at) {
      case '"':
        return string(at + 1);
      case '{':
        return object(at + 1, depth + 1);
      case '[':
        return array(at + 1, depth + 1);
      case 't':
      case 'f':
      case 'n':
        return after_scalar(at, end_);
      default:
        return number(at);
    }
  }

  const char* digits(const char* at) const {
    while (at != end_ && *at >= '0' && *at <= '9') ++at;
    return at;
  }

  const char* number(const char* at) const {
    if (*at == '-') ++at;
    const auto* const whole = at;
    at = digits(at);
    if (at == whole || at - whole > kFastDigits || (*whole == '0' && at - whole > 1))
      return nullptr;
    if (at == end_ || *at != '.') return at;
    const auto* const fraction = at + 1;
    at = digits(fraction);
    return at == fraction ? nullptr : at;
  }

  const char* begin_;
  const char* end_;
  unsigned deepest_;
  bool in_options_ = false;
  SearchRequest& request_;
};

constexpr auto kNames = []() consteval {
  auto names = enumerators<Property>().all();
  names[static_cast<std::size_t>(Property::source)] = "_source";
  return EnumNames<Property, kProperties>(names);
}
();

enum class Option : std::uint8_t {
  agent_query_timeout,
  retry_count,
  retry_delay,
  scroll,
  cutoff,
  max_matches
};
constexpr auto kOptionNames = enumerators<Option>();

/// Keys of a request whose values name tables.
constexpr std::array<std::string_view, 3> kTableKeys{"table", "index", "join"};

/// The one of kTableKeys that an engine may read this key as; empty: none.
std::string_view table_key_meant(std::string_view key) {
  const auto read = key.substr(0, key.find('\0'));
  for (const auto meant : kTableKeys)
    if (wire::same_word(read, meant)) return meant;
  return {};
}

/// Bounds the nesting of a text.
class NestingLimit : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, NestingLimit> {
 public:
  explicit NestingLimit(unsigned deepest) : left_(deepest) {}

  bool StartObject() { return StartArray(); }
  bool StartArray() { return left_-- != 0; }
  bool EndObject(rapidjson::SizeType size) { return EndArray(size); }
  bool EndArray(rapidjson::SizeType) { return ++left_ != 0; }

 private:
  unsigned left_;
};

/// Why a body is no JSON, or nests too deep; empty: it is neither.
std::string mistake_in_json(std::string_view body, unsigned max_depth) {
  // Large enough for strings and nesting of ordinary requests, so that reading allocates nothing.
  alignas(16) char workspace[8192];
  rapidjson::MemoryPoolAllocator<> pool(workspace, sizeof workspace);
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::MemoryPoolAllocator<>>
      reader(&pool, 1024);
  rapidjson::MemoryStream stream(body.data(), body.size());
  const auto deepest = std::min(max_depth, kDeepestRequest);
  NestingLimit limit(deepest);
  const auto parsed =
      reader.Parse<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseIterativeFlag |
                   rapidjson::kParseFullPrecisionFlag>(stream, limit);
  if (parsed.Code() == rapidjson::kParseErrorTermination)
    return fmt::format("nests deeper than max_json_depth = {} at offset {}", deepest,
                       parsed.Offset());
  if (parsed.IsError()) return why_not_json(body, parsed.Code(), parsed.Offset());
  if (stream.Tell() != body.size())  // the parser takes a zero byte as the end
    return fmt::format("is not JSON: a zero byte at offset {}", stream.Tell());
  return {};
}

/// Where a part of the body is in it.
ByteRange place_of(std::string_view part, std::string_view body) {
  const auto begin = static_cast<std::size_t>(part.data() - body.data());
  return {begin, begin + part.size()};
}

/// Notes karmad's members of `options`, if it is an object; returns why they are refused, or an
/// empty text.
std::string note_options(std::string_view options, std::string_view body, SearchRequest& request) {
  PassedMembers members(options);
  while (const auto member = members.next()) {
    const auto option = kOptionNames.find(json_unescaped(member->name));
    if (!option) continue;
    if (*option == Option::max_matches) {
      request.max_matches_option = place_of(member->value, body);
    } else if (*option == Option::cutoff) {
      request.cutoff_option = true;
    } else if (*option == Option::scroll) {
      if (request.scroll_option.found()) return "options.scroll is given twice";
      request.scroll_option = place_of(member->value, body);
    } else if (const auto why = set_query_option(request.options, kOptionNames[*option],
                                                 number_in<std::uint64_t>(member->value))) {
      return fmt::format("options.{} {}", kOptionNames[*option], *why);
    }
  }
  return {};
}

/// Reads any body; returns why it is refused, or an empty text.
std::string read(std::string_view body, unsigned max_depth, SearchRequest& request) {
  if (const auto mistake = mistake_in_json(body, max_depth); !mistake.empty())
    return "the request " + mistake;
  const auto object = whole_object(body);
  if (!object) return "the request must be a JSON object";
  request.closing_brace = place_of(*object, body).end - 1;
  PassedMembers members(*object);
  while (const auto member = members.next()) {
    const auto key = json_unescaped(member->name);
    const auto property = property_named(key);
    if (!property && may_name_table(key)) return "the request " + why_key_is_refused(key);
    if (!property && may_name_property(key)) request.odd_key = true;
    if (!property) continue;
    const auto value = member->value;
    auto& place = request.properties[static_cast<std::size_t>(*property)];
    if (place.found()) return fmt::format("\"{}\" is given twice", name(*property));
    place = place_of(value, body);
    if (*property == Property::options)
      if (auto wrong = note_options(value, body, request); !wrong.empty()) return wrong;
    if (*property != Property::table && *property != Property::index) continue;
    if (!is_string(value))
      return fmt::format("\"{}\" must be a string with the name of one table", name(*property));
    if (*property == Property::table || !request[Property::table].found())
      request.table = json_unescaped(without_quotes(value));
  }
  return {};
}

/// Whether servers, which show such a name as it is, make a malformed answer of it.
bool breaks_answers(std::string_view raw) {
  if (!raw.contains('\\')) return false;
  return std::ranges::any_of(json_unescaped(raw),
                             [](char c) { return c == '"' || c == '\\' || (c >= 0 && c < ' '); });
}

/// The name of an aggregation, or of one of its sources, that breaks_answers().
std::optional<std::string_view> breaking_name(const PassedMembers::Member& aggregation) {
  if (breaks_answers(aggregation.name)) return aggregation.name;
  const auto sources = last_member(last_member(aggregation.value, "composite"), "sources");
  JsonCursor json(sources);
  JsonElements elements(json);
  while (elements.next()) {
    const auto source = PassedMembers(take_value(json).value_or("")).next();
    if (source && breaks_answers(source->name)) return source->name;
  }
  return std::nullopt;
}

/// Why a server does not answer, or not with JSON; empty: it does.
std::string mistake_in_aggregations(std::string_view aggregations) {
  PassedMembers members(aggregations);
  while (const auto member = members.next()) {
    if (is_object(member->value) && !PassedMembers(member->value).next())  // this ends a server
      return fmt::format("aggregation \"{}\" has no kind", json_unescaped(member->name));
    if (const auto name = breaking_name(*member))
      return fmt::format(
          "the name \"{}\" in \"aggs\" has a quote, a backslash or a control character, which "
          "search servers do not escape in their answers",
          json_unescaped(*name));
  }
  return {};
}

/// Reads a search into `parsed`; returns why it is refused, or an empty text.
std::string mistake_in_search(std::string_view body, unsigned max_depth, Parsed& parsed) {
  auto& request = parsed.what.emplace<SearchRequest>();
  if (!read_plain_request(body, max_depth, request)) {
    request = {};
    if (auto wrong = read(body, max_depth, request); !wrong.empty()) return wrong;
  }
  std::tie(parsed.table_place, parsed.other_place) = request.table_places();
  if (!parsed.table_place.found()) return "\"table\" is missing";
  if (request.table.empty()) return "\"table\" is empty";
  if (const auto join = request[Property::join]; join.found() && !is_off(join.in(body)))
    return fmt::format(
        R"("join" at offset {} names another table; a search reads only the table in "table")",
        join.begin);
  parsed.table = request.table;
  parsed.options = request.options;
  return mistake_in_aggregations(request[Property::aggs].in(body));
}

}  // namespace

bool read_plain_request(std::string_view body, unsigned max_depth, SearchRequest& request) {
  return Reader(body, max_depth, request).read();
}

std::string why_not_json(std::string_view text, rapidjson::ParseErrorCode found, std::size_t at) {
  std::string_view what = rapidjson::GetParseError_En(found);
  const auto begin = text.substr(0, 2);
  if (begin == "\xFF\xFE" || begin == "\xFE\xFF" || begin.contains('\0'))
    what = "It looks like UTF-16, and JSON is UTF-8.";
  else if (found == rapidjson::kParseErrorStringEscapeInvalid && at < text.size() &&
           static_cast<unsigned char>(text[at]) < ' ')
    what = "A control character in a string needs an escape, such as \\n or \\u0001.";
  return fmt::format("is not JSON: {} At offset {}.", what, at);
}

std::string_view name(Property property) {
  return kNames[property];
}

bool names_option(std::string_view key) {
  return kOptionNames.find(key).has_value();
}

std::optional<Property> property_named(std::string_view key) {
  std::optional<Property> found;
  const auto is = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
    constexpr auto known = kNames.all()[i];  // of a size known here, which makes comparing cheap
    if (key.size() != known.size() || std::memcmp(key.data(), known.data(), known.size()) != 0)
      return false;
    found = static_cast<Property>(i);
    return true;
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (void)(is(std::integral_constant<std::size_t, i>{}) || ...);
  }
  (std::make_index_sequence<kProperties>{});
  return found;
}

bool may_name_table(std::string_view key) {
  const auto meant = table_key_meant(key);
  return !meant.empty() && meant != key;
}

bool may_name_property(std::string_view key) {
  const auto unusual = [](char c) { return c == '\0' || (c >= 'A' && c <= 'Z'); };
  // Nearly all keys are of small letters and `_`, which are above `Z`.
  char lowest = '_';
  for (const char c : key) lowest = std::min(lowest, c);
  if (lowest > 'Z' || std::ranges::none_of(key, unusual)) return false;
  const auto read = key.substr(0, key.find('\0'));
  return std::ranges::any_of(kNames.all(),
                             [read](std::string_view name) { return wire::same_word(read, name); });
}

std::string why_key_is_refused(std::string_view key) {
  const auto meant = table_key_meant(key);
  const auto shown = key.size() == meant.size()
                         ? fmt::format("the key \"{}\"", key)
                         : fmt::format("a key that begins with \"{}\" and a zero byte",
                                       key.substr(0, meant.size()));
  return fmt::format(
      "has {}, which some search servers read as \"{}\" and others do not; name the table with "
      "\"table\"",
      shown, meant);
}

bool is_off(std::string_view value) {
  return value == "false" || value == "null" || value == "0" || value == "\"\"";
}

OrError<Parsed> read_search(std::string_view body, unsigned max_depth) {
  OrError<Parsed> parsed;  // the only one, constructed in place
  if (auto wrong = mistake_in_search(body, max_depth, *parsed); !wrong.empty())
    parsed = refused(std::move(wrong));
  return parsed;
}

OrError<Parsed> read_completion(std::string_view body, unsigned max_depth) {
  auto parsed = read_search(body, max_depth);
  if (!parsed) return parsed;
  // The search server reads no other name of it here; without it a mirror would count as broken.
  if (!std::get<SearchRequest>(parsed->what)[Property::table].found())
    return refused("\"table\" is missing");
  parsed->what = Completion();
  return parsed;
}

OrError<Parsed> read_percolation(std::string_view table, std::string_view body,
                                 unsigned max_depth) {
  if (!is_object(trimmed(body, kJsonSpace))) return refused("the request must be a JSON object");
  if (const auto mistake = mistake_in_json(body, max_depth); !mistake.empty())
    return refused("the request {}", mistake);
  int queries = 0;
  PassedMembers members(trimmed(body, kJsonSpace));
  while (const auto member = members.next()) {
    const auto key = json_unescaped(member->name);
    if (key == "query" && ++queries > 1) return refused("the request gives \"query\" twice");
    if (!table_key_meant(key).empty())
      return refused("the table is named in the path; leave \"{}\" out of the request", key);
  }
  return Parsed{.table = std::string(table), .planned = true, .what = Percolation()};
}

}  // namespace karmad
