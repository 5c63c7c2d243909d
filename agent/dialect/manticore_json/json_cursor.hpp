#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace karmad {

/// A place in JSON text that is read once, from left to right, without building anything. What it
/// passes is checked for balanced nesting and separators at the levels that are walked; numbers and
/// the inside of strings are taken as they stand.
struct JsonCursor {
  const char* at = nullptr;
  const char* end = nullptr;

  JsonCursor() = default;
  explicit JsonCursor(std::string_view text) : at(text.data()), end(text.data() + text.size()) {}

  bool done() const { return at == end; }
};

/// Deepest nesting of a value that is passed over; deeper counts as malformed.
inline constexpr std::size_t kMaxSkippedDepth = 1024;

void skip_space(JsonCursor& json);

/// Passes white space and then `wanted`; false (and only the space passed) when it is not there.
bool take(JsonCursor& json, char wanted);

/// The string at the cursor without its quotes and with its escapes; nothing if there is none.
std::optional<std::string_view> take_string(JsonCursor& json);

/// The bytes of the value at the cursor, whatever it is; nothing when it is malformed.
std::optional<std::string_view> take_value(JsonCursor& json);

/// `true`, `false`, a number or the like: one look at the first byte of a value.
inline bool is_string(std::string_view value) {
  return !value.empty() && value.front() == '"';
}
inline bool is_object(std::string_view value) {
  return !value.empty() && value.front() == '{';
}
inline bool is_array(std::string_view value) {
  return !value.empty() && value.front() == '[';
}
inline std::string_view without_quotes(std::string_view text) {
  return text.substr(1, text.size() - 2);
}

/// Steps through the members of the object at the cursor. After `next` gave a key (raw, without
/// quotes) the cursor stands at its value, which the caller takes before the next step.
class JsonMembers {
 public:
  explicit JsonMembers(JsonCursor& json) : json_(json), state_(take(json, '{') ? First : Failed) {}

  std::optional<std::string_view> next();
  /// The closing brace was reached and nothing was malformed.
  bool complete() const { return state_ == Closed; }

 private:
  enum State { First, Later, Closed, Failed };
  JsonCursor& json_;
  State state_;
};

/// The same for the elements of an array.
class JsonElements {
 public:
  explicit JsonElements(JsonCursor& json) : json_(json), state_(take(json, '[') ? First : Failed) {}

  /// The cursor stands at an element, which the caller takes before the next step.
  bool next();
  bool complete() const { return state_ == Closed; }

 private:
  enum State { First, Later, Closed, Failed };
  JsonCursor& json_;
  State state_;
};

}  // namespace karmad
