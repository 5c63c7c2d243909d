#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "agent/json/equals_literal.hpp"
#include "agent/json/json_grammar.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

/// A position in JSON text that is read once, from left to right, without building a tree. Reading
/// past text that is not valid JSON (RFC 8259, UTF-8) fails.
struct JsonCursor {
  const char* at = nullptr;
  const char* end = nullptr;

  JsonCursor() = default;
  explicit JsonCursor(std::string_view text) : at(text.data()), end(text.data() + text.size()) {}

  bool done() const { return at == end; }
};

inline bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

inline void skip_space(JsonCursor& json) {
  while (json.at != json.end && is_space(*json.at)) ++json.at;
}

/// Skips white space, then `wanted`; false (only the space skipped) if another character follows.
inline bool take(JsonCursor& json, char wanted) {
  if (json.at != json.end && *json.at == wanted) {  // servers send no white space
    ++json.at;
    return true;
  }
  skip_space(json);
  if (json.done() || *json.at != wanted) return false;
  ++json.at;
  return true;
}

/// The string at the cursor without quotes, still escaped; nothing if there is none.
std::optional<std::string_view> take_string(JsonCursor& json);

/// The bytes of the value at the cursor, of any type; nothing if it is malformed, or not within the
/// limits.
std::optional<std::string_view> take_value(JsonCursor& json, ValueLimits limits = {});

/// The value that the whole text is, without the white space around it; nothing if the text is
/// malformed or has anything else.
std::optional<std::string_view> whole_value(std::string_view text);
/// The same of an object.
std::optional<std::string_view> whole_object(std::string_view text);

/// Whether the value is a string, by its first byte.
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

/// Steps through the members of the object at the cursor. `next` gives a key (raw, without quotes)
/// and leaves the cursor at its value, which the caller must read before the next step.
class JsonMembers {
 public:
  explicit JsonMembers(JsonCursor& json) : json_(json), state_(take(json, '{') ? First : Failed) {}

  /// Faster if the key is one of `likely` (`"key":`, with quotes and colon).
  template <std::size_t... Sizes>
  std::optional<std::string_view> next(const char (&... likely)[Sizes]) {
    std::string_view key;
    if (to_next() && (take_key(likely, key) || ...)) return key;
    return take_key();
  }
  /// The closing brace was reached without an error.
  bool complete() const { return state_ == Closed; }

 private:
  enum State { First, Key, Later, Closed, Failed };

  /// Skips the comma before a key; false if no key may follow.
  bool to_next() {
    skip_space(json_);
    if ((state_ != First && state_ != Later) || json_.done()) {
      state_ = state_ == Closed ? Closed : Failed;
    } else if (*json_.at == '}') {
      ++json_.at;
      state_ = Closed;
    } else if (state_ == Later && *json_.at != ',') {
      state_ = Failed;
    } else {
      if (state_ == Later) ++json_.at;
      state_ = Key;
    }
    return state_ == Key;
  }
  template <std::size_t Size>
  bool take_key(const char (&likely)[Size], std::string_view& key) {
    constexpr auto length = Size - 1;
    if (static_cast<std::size_t>(json_.end - json_.at) < length ||
        std::memcmp(json_.at, likely, length) != 0)
      return false;
    key = {json_.at + 1, length - 3};
    json_.at += length;
    state_ = Later;
    return true;
  }
  std::optional<std::string_view> take_key();

  JsonCursor& json_;
  State state_;
};

/// What `visit` returns; true if it returns nothing, because it wants all.
template <class Visit, class... Values>
bool visit_one(Visit& visit, Values... values) {
  if constexpr (std::is_void_v<decltype(visit(values...))>)
    return visit(values...), true;
  else
    return visit(values...);
}

/// Hands the raw key and the value of each member of the object at the cursor to `visit`, until
/// that returns false, if it returns anything. Whether the whole object was passed.
template <class Visit>
bool visit_members(JsonCursor& json, Visit visit) {
  JsonMembers members(json);
  while (const auto key = members.next()) {
    const auto value = take_value(json);
    if (!value || !visit_one(visit, *key, *value)) return false;
  }
  return members.complete();
}
/// The same of the members that are left, from the comma before them on.
template <class Visit>
bool visit_further_members(JsonCursor& json, Visit visit) {
  while (take(json, ',')) {
    const auto key = take_string(json);
    if (!key || !take(json, ':')) return false;
    const auto value = take_value(json);
    if (!value || !visit_one(visit, *key, *value)) return false;
  }
  return take(json, '}');
}
template <class Visit>
bool visit_members(std::string_view object, Visit visit) {
  JsonCursor json(object);
  return visit_members(json, visit);
}

/// The members of an object that was checked before, as take_value() and whole_object() return it,
/// without white space around it. Nothing is checked again: of text that is malformed it finds some
/// members or none, but reads no byte beyond it. Any other value has no members.
class PassedMembers {
 public:
  struct Member {
    std::string_view name;  ///< raw, without quotes
    std::string_view value;
  };
  explicit PassedMembers(std::string_view value)
      : at_(is_object(value) ? value.data() + 1 : nullptr),
        end_(is_object(value) ? value.data() + value.size() - 1 : nullptr) {}

  std::optional<Member> next();

 private:
  const char* at_;
  const char* end_;  ///< of the members: the position of the closing brace
};

/// The value of the last of these members with the name `wanted`, escapes resolved; empty: there is
/// none. `same`: compares a raw name with `wanted` in another way.
std::string_view last_member(std::string_view value, std::string_view wanted,
                             bool (*same)(std::string_view, std::string_view) = json_says);

/// The same as JsonMembers for the elements of an array.
class JsonElements {
 public:
  explicit JsonElements(JsonCursor& json) : json_(json), state_(take(json, '[') ? First : Failed) {}

  /// True: the cursor is at an element, which the caller must read before the next step.
  bool next();
  bool complete() const { return state_ == Closed; }

 private:
  enum State { First, Later, Closed, Failed };
  JsonCursor& json_;
  State state_;
};

/// Hands each element of the array at the cursor to `visit`, until that returns false, if it
/// returns anything. Whether the whole array was passed.
template <class Visit>
bool visit_elements(JsonCursor& json, Visit visit) {
  JsonElements elements(json);
  while (elements.next()) {
    const auto value = take_value(json);
    if (!value || !visit_one(visit, *value)) return false;
  }
  return elements.complete();
}
template <class Visit>
bool visit_elements(std::string_view array, Visit visit) {
  JsonCursor json(array);
  return visit_elements(json, visit);
}

}  // namespace karmad
