#include "agent/dialect/fronts/json/read_request.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "agent/dialect/request/query_options.hpp"
#include "agent/json/equals_literal.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/simd_skip.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {

namespace {

constexpr unsigned kDeepest = 32;
constexpr std::ptrdiff_t kDigits = 18;  // fit into 64 bits

/// The first byte that is not plain string content: closing quote, escape, control character, or
/// non-ASCII.
const char* skip_plain(const char* at, const char* end) {
#if defined(__SSE2__)
  at = skip_blocks(at, end, [](__m128i block) {
    const auto marks = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                                    _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
    return _mm_or_si128(marks, _mm_cmplt_epi8(block, _mm_set1_epi8(' ')));  // also above 0x7f
  });
#endif
  while (at != end && *at != '"' && *at != '\\' && static_cast<signed char>(*at) >= ' ') ++at;
  return at;
}

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
  const char* behind(const char* at, char wanted) const {
    if (at == end_ || *at != wanted) at = spaces(at);
    return at != end_ && *at == wanted ? at + 1 : nullptr;
  }

  /// Starts after the opening quote.
  const char* string(const char* at) const {
    at = skip_plain(at, end_);
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
        return word(at, "true");
      case 'f':
        return word(at, "false");
      case 'n':
        return word(at, "null");
      default:
        return number(at);
    }
  }

  const char* word(const char* at, std::string_view wanted) const {
    const std::string_view rest(at, static_cast<std::size_t>(end_ - at));
    return rest.starts_with(wanted) ? at + wanted.size() : nullptr;
  }

  const char* digits(const char* at) const {
    while (at != end_ && *at >= '0' && *at <= '9') ++at;
    return at;
  }

  const char* number(const char* at) const {
    if (*at == '-') ++at;
    const auto* const whole = at;
    at = digits(at);
    if (at == whole || at - whole > kDigits || (*whole == '0' && at - whole > 1)) return nullptr;
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

}  // namespace

bool read_plain_request(std::string_view body, unsigned max_depth, SearchRequest& request) {
  return Reader(body, max_depth, request).read();
}

namespace {

constexpr auto kNames = enum_names<Property>({{Property::table, "table"},
                                              {Property::index, "index"},
                                              {Property::limit, "limit"},
                                              {Property::size, "size"},
                                              {Property::offset, "offset"},
                                              {Property::from, "from"},
                                              {Property::max_matches, "max_matches"},
                                              {Property::sort, "sort"},
                                              {Property::track_scores, "track_scores"},
                                              {Property::source, "_source"},
                                              {Property::aggs, "aggs"},
                                              {Property::aggregations, "aggregations"},
                                              {Property::options, "options"},
                                              {Property::scroll, "scroll"},
                                              {Property::profile, "profile"},
                                              {Property::plan, "plan"},
                                              {Property::knn, "knn"},
                                              {Property::hybrid, "hybrid"},
                                              {Property::join, "join"},
                                              {Property::expressions, "expressions"},
                                              {Property::search_after, "search_after"}});
static_assert(kNames.all().size() == kProperties);

enum class Option : std::uint8_t {
  agent_query_timeout,
  retry_count,
  retry_delay,
  scroll,
  max_matches
};
constexpr auto kOptionNames =
    enum_names<Option>({{Option::agent_query_timeout, "agent_query_timeout"},
                        {Option::retry_count, "retry_count"},
                        {Option::retry_delay, "retry_delay"},
                        {Option::scroll, "scroll"},
                        {Option::max_matches, "max_matches"}});

/// Handles every token of the body. Only top-level members and those of `options` are used; the
/// others only count for the depth.
class SearchListener {
 public:
  SearchListener(std::string_view body, rapidjson::MemoryStream& stream, unsigned max_depth,
                 SearchRequest& request)
      : body_(body), stream_(stream), max_depth_(max_depth), request_(request) {}

  bool Null() { return scalar(); }
  bool Bool(bool) { return scalar(); }
  bool Int(int value) { return value < 0 ? scalar() : number(static_cast<std::uint64_t>(value)); }
  bool Uint(unsigned value) { return number(value); }
  bool Int64(std::int64_t) { return scalar(); }
  bool Uint64(std::uint64_t value) { return number(value); }
  bool Double(double) { return scalar(); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return scalar(); }

  bool String(const char* text, rapidjson::SizeType size, bool) {
    const bool counts = property_ == Property::table || !request_[Property::table].found();
    if (depth_ == 1 && names_table() && counts) request_.table.assign(text, size);
    return scalar(true);
  }

  bool StartObject() {
    if (depth_ == 0) root_is_object_ = true;
    return open();
  }
  bool StartArray() { return open(); }
  bool EndObject(rapidjson::SizeType) {
    if (depth_ == 1) request_.closing_brace = behind_bracket() - 1;
    return close();
  }
  bool EndArray(rapidjson::SizeType) { return close(); }

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
    auto at = stream_.Tell();
    const auto blank = [&] {
      return body_[at] == ' ' || body_[at] == '\n' || body_[at] == '\r' || body_[at] == '\t' ||
             body_[at] == ':';
    };
    while (at < body_.size() && blank()) ++at;
    return at;
  }

  bool fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  bool scalar(bool is_text = false) {
    if (depth_ == 1) return finish_property(is_text, stream_.Tell());
    if (depth_ == 2 && in_options_ && option_) return finish_option(std::nullopt, stream_.Tell());
    return true;
  }

  bool number(std::uint64_t value) {
    if (depth_ == 2 && in_options_ && option_) return finish_option(value, stream_.Tell());
    return scalar();
  }

  bool open() {
    if (depth_ == 1) in_options_ = property_ == Property::options;
    if (++depth_ > max_depth_)
      return fail(fmt::format("the request nests deeper than max_json_depth = {} at offset {}",
                              max_depth_, behind_bracket() - 1));
    return true;
  }

  /// The iterative parser reports a bracket before it consumes it.
  std::size_t behind_bracket() const { return stream_.Tell() + 1; }

  bool close() {
    const auto end = behind_bracket();
    --depth_;
    if (depth_ == 1) {
      in_options_ = false;
      return finish_property(false, end);
    }
    if (depth_ == 2 && in_options_ && option_) return finish_option(std::nullopt, end);
    return true;
  }

  bool finish_property(bool is_text, std::size_t end) {
    if (!property_) return true;
    const auto property = *property_;
    if (names_table() && !is_text)
      return fail(
          fmt::format("\"{}\" must be a string with the name of one table", name(property)));
    auto& span = request_.properties[static_cast<std::size_t>(property)];
    if (span.found()) return fail(fmt::format("\"{}\" is given twice", name(property)));
    span = {value_begin_, end};
    property_.reset();
    return true;
  }

  bool finish_option(std::optional<std::uint64_t> value, std::size_t end) {
    const auto option = *option_;
    option_.reset();
    auto& options = request_.options;
    switch (option) {
      case Option::retry_count:
      case Option::agent_query_timeout:
      case Option::retry_delay:
        if (const auto why = set_query_option(options, kOptionNames[option], value))
          return fail(fmt::format("options.{} {}", kOptionNames[option], *why));
        return true;
      case Option::scroll:
        if (request_.scroll_option.found()) return fail("options.scroll is given twice");
        request_.scroll_option = {option_begin_, end};
        return true;
      case Option::max_matches:
        request_.max_matches_option = {option_begin_, end};
        return true;
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

ClientError bad_request(std::string reason) {
  return {400, std::move(reason)};
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
  if (parsed.IsError())
    return fmt::format("the request is not JSON: {} At offset {}.",
                       rapidjson::GetParseError_En(parsed.Code()), parsed.Offset());
  if (stream.Tell() != body.size())  // the parser takes a zero byte as the end
    return fmt::format("the request is not JSON: a zero byte at offset {}", stream.Tell());
  if (!listener.root_is_object()) return "the request must be a JSON object";
  return {};
}

}  // namespace

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

namespace {

/// Keys of a request whose values name tables.
constexpr std::array<std::string_view, 3> kTableKeys{"table", "index", "join"};

/// The one of kTableKeys that an engine may read this key as; empty: none.
std::string_view table_key_meant(std::string_view key) {
  const auto read = key.substr(0, key.find('\0'));
  for (const auto meant : kTableKeys)
    if (wire::same_word(read, meant)) return meant;
  return {};
}

}  // namespace

bool may_name_table(std::string_view key) {
  const auto meant = table_key_meant(key);
  return !meant.empty() && meant != key;
}

bool may_name_property(std::string_view key) {
  const auto read = key.substr(0, key.find('\0'));
  return std::ranges::any_of(kNames.all(), [&](std::string_view name) {
    return wire::same_word(read, name) && key != name;
  });
}

std::string why_key_is_refused(std::string_view key) {
  const auto meant = table_key_meant(key);
  const auto shown = key.size() == meant.size()
                         ? fmt::format("the key \"{}\"", key)
                         : fmt::format("a key that begins with \"{}\" and a zero byte",
                                       key.substr(0, meant.size()));
  return fmt::format(
      "has {}, which some search servers read as \"{}\" and others do not; "
      "name the table with \"table\"",
      shown, meant);
}

bool is_off(std::string_view value) {
  return value == "false" || value == "null" || value == "0" || value == "\"\"";
}

namespace {

/// Reads it into `request`; returns the mistake, if any.
std::optional<ClientError> mistake_in(std::string_view body, unsigned max_depth,
                                      SearchRequest& request) {
  if (!read_plain_request(body, max_depth, request)) {
    request = {};
    if (auto wrong = read(body, max_depth, request); !wrong.empty())
      return bad_request(std::move(wrong));
  }
  if (!request.table_span().found()) return bad_request("\"table\" is missing");
  if (request.table.empty()) return bad_request("\"table\" is empty");
  if (const auto join = request[Property::join]; join.found() && !is_off(join.in(body)))
    return bad_request(fmt::format(
        "\"join\" at offset {} names another table; a search reads only the table in \"table\"",
        join.begin));
  return std::nullopt;
}

}  // namespace

std::expected<SearchRequest, ClientError> read_search_request(std::string_view body,
                                                              unsigned max_depth) {
  std::expected<SearchRequest, ClientError> request;  // the only one, constructed in place
  if (auto wrong = mistake_in(body, max_depth, *request))
    request = std::unexpected(*std::move(wrong));
  return request;
}

}  // namespace karmad
