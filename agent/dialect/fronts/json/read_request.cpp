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

/// Handles every token of the body. Only top-level members and those of `options` are used; the
/// others only count for the depth.
class SearchListener : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, SearchListener> {
 public:
  SearchListener(std::string_view body, rapidjson::MemoryStream& stream, unsigned max_depth,
                 SearchRequest& request)
      : body_(body), stream_(stream), max_depth_(max_depth), request_(request) {}

  bool Default() { return end_value(stream_.Tell()); }
  bool Int(int value) { return value < 0 ? Default() : Uint64(static_cast<unsigned>(value)); }
  bool Uint(unsigned value) { return Uint64(value); }
  bool Uint64(std::uint64_t value) { return end_value(stream_.Tell(), false, value); }

  bool String(const char* text, rapidjson::SizeType size, bool) {
    const bool counts = property_ == Property::table || !request_[Property::table].found();
    if (depth_ == 1 && names_table() && counts) request_.table.assign(text, size);
    return end_value(stream_.Tell(), true);
  }

  bool StartObject() {
    if (depth_ == 0) root_is_object_ = true;
    return StartArray();
  }
  bool StartArray() {
    if (depth_ == 1) in_options_ = property_ == Property::options;
    if (++depth_ > max_depth_)
      return fail(fmt::format("the request nests deeper than max_json_depth = {} at offset {}",
                              max_depth_, behind_bracket() - 1));
    return true;
  }
  bool EndObject(rapidjson::SizeType size) {
    if (depth_ == 1) request_.closing_brace = behind_bracket() - 1;
    return EndArray(size);
  }
  bool EndArray(rapidjson::SizeType) {
    if (--depth_ == 1) in_options_ = false;
    return end_value(behind_bracket());
  }

  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view key(text, size);
    if (depth_ == 1) {
      property_ = property_named(key);
      if (!property_ && may_name_table(key)) return fail("the request " + why_key_is_refused(key));
      if (!property_ && may_name_property(key)) request_.odd_key = true;
      value_begin_ = after_colon();
    } else if (depth_ == 2 && in_options_) {
      option_ = kOptionNames.find(key);
      option_begin_ = after_colon();
    }
    return true;
  }

  bool root_is_object() const { return root_is_object_; }
  std::string& reason() { return reason_; }

 private:
  bool names_table() const { return property_ == Property::table || property_ == Property::index; }

  /// Start of the value of a key, after the colon, which the parser will check.
  std::size_t after_colon() const {
    return std::min(body_.find_first_not_of(" \t\r\n:", stream_.Tell()), body_.size());
  }

  bool fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  /// The iterative parser reports a bracket before it consumes it.
  std::size_t behind_bracket() const { return stream_.Tell() + 1; }

  /// The end of a value inside `depth_` brackets.
  bool end_value(std::size_t end, bool is_text = false, std::optional<std::uint64_t> number = {}) {
    if (depth_ == 1 && property_) return end_property(*std::exchange(property_, {}), is_text, end);
    if (depth_ == 2 && option_) return end_option(*std::exchange(option_, {}), number, end);
    return true;
  }

  bool end_property(Property property, bool is_text, std::size_t end) {
    const bool of_table = property == Property::table || property == Property::index;
    if (of_table && !is_text)
      return fail(
          fmt::format("\"{}\" must be a string with the name of one table", name(property)));
    auto& span = request_.properties[static_cast<std::size_t>(property)];
    if (span.found()) return fail(fmt::format("\"{}\" is given twice", name(property)));
    span = {value_begin_, end};
    return true;
  }

  bool end_option(Option option, std::optional<std::uint64_t> value, std::size_t end) {
    const ByteRange place{option_begin_, end};
    if (option == Option::max_matches) {
      request_.max_matches_option = place;
    } else if (option == Option::cutoff) {
      request_.cutoff_option = true;
    } else if (option == Option::scroll) {
      if (request_.scroll_option.found()) return fail("options.scroll is given twice");
      request_.scroll_option = place;
    } else if (const auto why = set_query_option(request_.options, kOptionNames[option], value)) {
      return fail(fmt::format("options.{} {}", kOptionNames[option], *why));
    }
    return true;
  }

  std::string_view body_;
  rapidjson::MemoryStream& stream_;
  unsigned max_depth_;
  SearchRequest& request_;
  std::optional<Property> property_;
  std::optional<Option> option_;
  std::size_t value_begin_ = 0;
  std::size_t option_begin_ = 0;
  unsigned depth_ = 0;
  bool in_options_ = false;
  bool root_is_object_ = false;
  std::string reason_;
};

/// Keys of a request whose values name tables.
constexpr std::array<std::string_view, 3> kTableKeys{"table", "index", "join"};

/// The one of kTableKeys that an engine may read this key as; empty: none.
std::string_view table_key_meant(std::string_view key) {
  const auto read = key.substr(0, key.find('\0'));
  for (const auto meant : kTableKeys)
    if (wire::same_word(read, meant)) return meant;
  return {};
}

/// Reads any body; returns why it is refused, or an empty text.
std::string read(std::string_view body, unsigned max_depth, SearchRequest& request) {
  // Large enough for strings and nesting of ordinary requests, so that reading allocates nothing.
  alignas(16) char workspace[8192];
  rapidjson::MemoryPoolAllocator<> pool(workspace, sizeof workspace);
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::MemoryPoolAllocator<>>
      reader(&pool, 1024);
  rapidjson::MemoryStream stream(body.data(), body.size());
  SearchListener listener(body, stream, std::min(max_depth, kDeepestRequest), request);
  const auto parsed =
      reader.Parse<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseIterativeFlag |
                   rapidjson::kParseFullPrecisionFlag>(stream, listener);
  if (!listener.reason().empty()) return std::move(listener.reason());
  if (parsed.IsError()) return "the request " + why_not_json(body, parsed.Code(), parsed.Offset());
  if (stream.Tell() != body.size())  // the parser takes a zero byte as the end
    return fmt::format("the request is not JSON: a zero byte at offset {}", stream.Tell());
  if (!listener.root_is_object()) return "the request must be a JSON object";
  return {};
}

/// The deepest nesting of a valid JSON text.
unsigned nesting_of(std::string_view text) {
  unsigned depth = 0;
  unsigned deepest = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string && c == '\\') ++at;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return deepest;
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
  JsonCursor json(body);
  skip_space(json);
  if (json.done() || *json.at != '{') return refused("the request must be a JSON object");
  std::string named;
  int queries = 0;
  const bool whole = visit_members(json, [&](std::string_view key, std::string_view) {
    const auto key_name = json_unescaped(key);
    if (key_name == "query") ++queries;
    if (named.empty() && !table_key_meant(key_name).empty()) named = key_name;
  });
  const auto end = static_cast<std::size_t>(json.at - body.data());
  skip_space(json);
  if (!whole || !json.done())
    return refused("the request is not JSON: it is malformed at about offset {}", end);
  if (nesting_of(body) > max_depth)
    return refused("the request nests deeper than max_json_depth = {}", max_depth);
  if (queries > 1) return refused("the request gives \"query\" twice");
  if (!named.empty())
    return refused("the table is named in the path; leave \"{}\" out of the request", named);
  Parsed parsed{.table = std::string(table), .planned = true, .what = Percolation()};
  return parsed;
}

}  // namespace karmad
