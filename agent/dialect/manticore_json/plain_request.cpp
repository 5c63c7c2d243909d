#include "agent/dialect/manticore_json/plain_request.hpp"

#include <algorithm>

#include "agent/json/json_cursor.hpp"
#include "agent/json/simd_skip.hpp"

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

}  // namespace karmad
