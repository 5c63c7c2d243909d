#include "agent/dialect/manticore_json/json_cursor.hpp"

#include "agent/byte_blocks.hpp"
#include "agent/dialect/manticore_json/json_nesting.hpp"

namespace karmad {

namespace {

/// The next `"` or `\`.
const char* find_string_mark(const char* at, const char* end) {
#if defined(__SSE2__)
  at = skip_blocks(at, end, [](__m128i block) {
    return _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                        _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
  });
#endif
  while (at != end && *at != '"' && *at != '\\') ++at;
  return at;
}

/// From behind an opening quote to behind the closing one; null when there is none.
const char* after_string(const char* at, const char* end) {
  for (;;) {
    at = find_string_mark(at, end);
    if (at == end) return nullptr;
    if (*at == '"') return at + 1;
    if (end - at < 2) return nullptr;
    at += 2;
  }
}

bool is_scalar_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' ||
         c == 'E';
}

bool is_scalar(std::string_view text) {
  const char first = text.front();
  if (first == '-' || (first >= '0' && first <= '9')) return true;
  return same(text, "true") || same(text, "false") || same(text, "null");
}

}  // namespace

std::optional<std::string_view> take_string(JsonCursor& json) {
  if (!take(json, '"')) return std::nullopt;
  const auto* const after = after_string(json.at, json.end);
  if (after == nullptr) return std::nullopt;
  const std::string_view text(json.at, static_cast<std::size_t>(after - 1 - json.at));
  json.at = after;
  return text;
}

std::optional<std::string_view> take_value(JsonCursor& json) {
  skip_space(json);
  if (json.done()) return std::nullopt;
  const auto* const begin = json.at;
  const auto* after = begin;
  if (*begin == '"') {
    after = after_string(begin + 1, json.end);
  } else if (*begin == '{' || *begin == '[') {
    after = after_nested(begin, json.end);
  } else {
    while (after != json.end && is_scalar_byte(*after)) ++after;
    if (after == begin || !is_scalar({begin, static_cast<std::size_t>(after - begin)}))
      return std::nullopt;
  }
  if (after == nullptr) return std::nullopt;
  json.at = after;
  return std::string_view(begin, static_cast<std::size_t>(after - begin));
}

std::optional<std::string_view> JsonMembers::next() {
  to_next();
  return take_key();
}

std::optional<std::string_view> JsonMembers::take_key() {
  if (state_ != Key) return std::nullopt;
  state_ = Failed;
  const auto key = take_string(json_);
  if (!key || !take(json_, ':')) return std::nullopt;
  state_ = Later;
  return key;
}

bool JsonElements::next() {
  if (state_ == Closed || state_ == Failed) return false;
  if (take(json_, ']')) {
    state_ = Closed;
    return false;
  }
  if (state_ == Later && !take(json_, ',')) {
    state_ = Failed;
    return false;
  }
  state_ = Later;
  return true;
}

}  // namespace karmad
