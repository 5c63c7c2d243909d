#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace karmad {

/// Puts JSON together at the end of a string, in printable ASCII whatever bytes go in. The string
/// is whole again when this goes; until then only this may touch it. Room is asked for in steps, so
/// that a piece costs hardly more than its bytes.
class JsonLine {
 public:
  explicit JsonLine(std::string& out) : out_(out), end_(out.size()) {}
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;
  ~JsonLine() { out_.resize(end_); }

  std::size_t size() const { return end_; }
  /// Forgets what stands behind `size`.
  void cut(std::size_t size) { end_ = size; }

  // As they are.
  template <std::size_t Size>
  void add(const char (&literal)[Size]) {
    std::memcpy(room(Size - 1), literal, Size - 1);
    end_ += Size - 1;
  }
  void add(std::string_view text) {
    text.copy(room(text.size()), text.size());
    end_ += text.size();
  }
  void add(char c) {
    *room(1) = c;
    ++end_;
  }

  template <class Number>
  void add_number(Number value) {
    constexpr std::size_t kDigits = 20;
    auto* const at = room(kDigits);
    end_ += static_cast<std::size_t>(std::to_chars(at, at + kDigits, value).ptr - at);
  }
  /// `Digits` of them, with zeros before the number.
  template <std::size_t Digits>
  void add_digits(unsigned value) {
    auto* const at = room(Digits);
    for (auto digit = Digits; digit != 0; value /= 10)
      at[--digit] = static_cast<char>('0' + value % 10);
    end_ += Digits;
  }
  /// The first `most` bytes of a text, as a string with its quotes. Bytes that are not UTF-8 become
  /// U+FFFD.
  void add_quoted(std::string_view text, std::size_t most);

 private:
  char* room(std::size_t bytes) {
    if (out_.size() - end_ < bytes) [[unlikely]]
      grow(bytes);
    return out_.data() + end_;
  }
  void grow(std::size_t bytes);

  std::string& out_;
  std::size_t end_;
};

}  // namespace karmad
