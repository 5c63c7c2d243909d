#include "agent/dialect/manticore_json/plain_request.hpp"

#include <algorithm>

#include "agent/byte_blocks.hpp"
#include "agent/dialect/manticore_json/json_cursor.hpp"

namespace karmad {
namespace {

constexpr unsigned kDeepest = 32;
constexpr std::ptrdiff_t kDigits = 18;  // fit into 64 bits

/// The first byte that does not simply belong to a string: its end, an escape, what must not be in
/// it, or what is no ASCII.
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

class Reader {
 public:
  Reader(std::string_view body, unsigned max_depth, SearchRequest& request)
      : json_(body),
        begin_(body.data()),
        deepest_(std::min(max_depth, kDeepest)),
        request_(request) {}

  bool read() {
    if (!take(json_, '{') || !object(1)) return false;
    request_.closing_brace = here() - 1;
    skip_space(json_);
    return json_.done();
  }

 private:
  std::size_t here() const { return static_cast<std::size_t>(json_.at - begin_); }

  /// Passes `wanted`, if it is the next byte.
  bool next_is(char wanted) {
    if (json_.done() || *json_.at != wanted) return false;
    ++json_.at;
    return true;
  }

  /// The rest of each is read from behind its first byte.
  bool string(std::string_view& text) {
    const auto* const from = json_.at;
    json_.at = skip_plain(from, json_.end);
    text = {from, static_cast<std::size_t>(json_.at - from)};
    return next_is('"');
  }

  bool object(unsigned depth) {
    if (depth > deepest_) return false;
    if (take(json_, '}')) return true;
    do {
      std::string_view key;
      if (!take(json_, '"') || !string(key) || !take(json_, ':')) return false;
      skip_space(json_);
      if (depth == 2 && in_options_ && names_option(key)) return false;
      if (!(depth == 1 ? member(key) : value(depth))) return false;
    } while (take(json_, ','));
    return take(json_, '}');
  }

  bool array(unsigned depth) {
    if (depth > deepest_) return false;
    if (take(json_, ']')) return true;
    do {
      skip_space(json_);
      if (!value(depth)) return false;
    } while (take(json_, ','));
    return take(json_, ']');
  }

  /// The value of a member of the request itself.
  bool member(std::string_view key) {
    const auto property = property_named(key);
    if (!property) return value(1);
    auto& range = request_.properties[static_cast<std::size_t>(*property)];
    if (range.found()) return false;
    const auto from = here();
    in_options_ = *property == Property::options;
    if (*property == Property::table || *property == Property::index) {
      std::string_view name;
      if (!next_is('"') || !string(name)) return false;
      request_.table.assign(name);
    } else if (!value(1)) {
      return false;
    }
    in_options_ = false;
    range = {from, here()};
    return true;
  }

  /// A value inside of `depth` brackets.
  bool value(unsigned depth) {
    if (json_.done()) return false;
    std::string_view ignored;
    switch (*json_.at) {
      case '"':
        ++json_.at;
        return string(ignored);
      case '{':
        ++json_.at;
        return object(depth + 1);
      case '[':
        ++json_.at;
        return array(depth + 1);
      case 't':
        return literal("true");
      case 'f':
        return literal("false");
      case 'n':
        return literal("null");
      default:
        return number();
    }
  }

  bool literal(std::string_view word) {
    const std::string_view rest(json_.at, static_cast<std::size_t>(json_.end - json_.at));
    json_.at += std::min(word.size(), rest.size());
    return rest.starts_with(word);
  }

  std::ptrdiff_t digits() {
    const auto* const from = json_.at;
    while (!json_.done() && *json_.at >= '0' && *json_.at <= '9') ++json_.at;
    return json_.at - from;
  }

  bool number() {
    next_is('-');
    const bool zero = !json_.done() && *json_.at == '0';
    const auto whole = digits();
    if (whole == 0 || whole > kDigits || (zero && whole > 1)) return false;
    return !next_is('.') || digits() > 0;
  }

  JsonCursor json_;
  const char* begin_;
  unsigned deepest_;
  bool in_options_ = false;
  SearchRequest& request_;
};

}  // namespace

bool read_plain_request(std::string_view body, unsigned max_depth, SearchRequest& request) {
  return Reader(body, max_depth, request).read();
}

}  // namespace karmad
