#include "agent/json/json_cursor.hpp"

#include <utility>

#include "agent/json/work_over.hpp"

namespace karmad {

std::optional<std::string_view> take_string(JsonCursor& json) {
  if (!take(json, '"')) return std::nullopt;
  const auto* const after = after_string(json.at, json.end);
  if (after == nullptr) return std::nullopt;
  const std::string_view text(json.at, static_cast<std::size_t>(after - 1 - json.at));
  json.at = after;
  return text;
}

std::optional<std::string_view> take_value(JsonCursor& json, ValueLimits limits) {
  skip_space(json);
  const auto* const begin = json.at;
  const auto* const after = after_value(begin, json.end, limits);
  if (after == nullptr) return std::nullopt;
  json.at = after;
  return std::string_view(begin, static_cast<std::size_t>(after - begin));
}

std::optional<std::string_view> whole_value(std::string_view text) {
  JsonCursor json(text);
  const auto value = take_value(json);
  skip_space(json);
  return json.done() ? value : std::nullopt;
}

std::optional<std::string_view> whole_object(std::string_view text) {
  const auto value = whole_value(text);
  return value && is_object(*value) ? value : std::nullopt;
}

namespace {

bool separates(char c) {
  return c == ',' || is_space(c);
}

}  // namespace

std::optional<PassedMembers::Member> PassedMembers::next() {
  while (at_ < end_ && separates(*at_)) ++at_;
  if (at_ >= end_) return std::nullopt;
  const auto* const key = std::exchange(at_, end_) + 1;
  const auto* const key_end = after_passed_string(key, end_);
  const auto* value = key_end;
  while (value < end_ && (*value == ':' || is_space(*value))) ++value;
  if (value >= end_) return std::nullopt;
  const auto* after = value;
  if (*value == '"') {
    after = after_passed_string(value + 1, end_);
  } else if (*value == '{' || *value == '[') {
    after = after_nested(value, end_);
  } else {
    while (after < end_ && !separates(*after)) ++after;
  }
  if (after == nullptr) return std::nullopt;
  at_ = after;
  return Member{{key, static_cast<std::size_t>(key_end - 1 - key)},
                {value, static_cast<std::size_t>(after - value)}};
}

std::optional<std::string_view> JsonMembers::take_key() {
  if (state_ != Key) return std::nullopt;
  state_ = Failed;
  const auto key = take_string(json_);
  if (!key || !take(json_, ':')) return std::nullopt;
  state_ = Later;
  return key;
}

std::string_view last_member(std::string_view value, std::string_view wanted,
                             bool (*same)(std::string_view, std::string_view)) {
  std::string_view found;
  PassedMembers members(value);
  while (const auto member = members.next())
    if (same(member->name, wanted)) found = member->value;
  return found;
}

bool JsonElements::next() {
  end_if_over();
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
