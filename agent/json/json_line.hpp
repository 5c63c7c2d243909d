#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace karmad {

/// A part of a text, and what takes its place.
struct Replaced {
  std::string_view part;
  std::string_view by;
};
/// Appends a text of which some parts, which do not overlap, are replaced.
void append_replaced(std::string& out, std::string_view text, std::span<Replaced> parts);

/// A text that JsonLine::add() puts in quotes.
struct Quoted {
  std::string_view text;
};

/// Appends JSON to a string: used for traces, logs and documents. No other code may use the string
/// until the destructor has set its final size. Space is reserved in steps, so that a piece costs
/// little more than copying its bytes.
class JsonLine {
 public:
  explicit JsonLine(std::string& out) : out_(out), at_(out.data() + out.size()), end_(at_) {}
  JsonLine& operator=(JsonLine&&) = delete;
  ~JsonLine() { out_.resize(size()); }

  std::size_t size() const { return static_cast<std::size_t>(at_ - out_.data()); }
  /// Removes everything after `size` bytes.
  void cut(std::size_t size) { at_ = out_.data() + size; }

  // Copied without escaping.
  template <std::size_t Size>
  void add(const char (&literal)[Size]) {
    need(Size - 1);
    std::memcpy(at_, literal, Size - 1);
    at_ += Size - 1;
  }
  void add(std::string_view text) {
    need(text.size());
    at_ += text.copy(at_, text.size());
  }
  void add(char c) {
    need(1);
    *at_++ = c;
  }

  void add(Quoted string) { add_quoted(string.text); }
  template <std::integral Number>
  requires(!std::same_as<Number, char> && !std::same_as<Number, bool>) void add(Number value) {
    add_number(value);
  }
  /// Several pieces, one after the other.
  template <class... Pieces>
  requires(sizeof...(Pieces) > 1) void add(const Pieces&... pieces) { (add(pieces), ...); }

  template <class Number>
  void add_number(Number value) {
    constexpr std::size_t kDigits = 20;
    need(kDigits);
    if (value >= 0 && value < 10) {
      *at_++ = static_cast<char>('0' + value);
    } else {
      at_ = std::to_chars(at_, at_ + kDigits, value).ptr;
    }
  }
  /// The shortest text that reads back as the same number, with a point. Finite numbers only.
  void add_number(double value);
  /// Exactly `Digits` digits, with leading zeros.
  template <std::size_t Digits>
  void add_digits(unsigned value) {
    need(Digits);
    for (auto digit = Digits; digit != 0; value /= 10)
      at_[--digit] = static_cast<char>('0' + value % 10);
    at_ += Digits;
  }
  /// A text as a string with its quotes. Bytes that are not UTF-8 become U+FFFD, so that whatever
  /// an agent said may stand in an answer of ours.
  void add_quoted(std::string_view text);
  /// The same without the quotes, for strings put together from parts.
  void add_escaped(std::string_view text);
  /// As add_quoted(), of the first `most` bytes, in printable ASCII, which may stand in a field of
  /// HTTP.
  void add_ascii(std::string_view text, std::size_t most) {
    text = text.substr(0, std::min(text.size(), most));
    need(text.size() * kLongest + 2);
    *at_++ = '"';
    if (copied_as_it_is(text)) {
      at_ += text.size();
    } else {
      at_ = put_escaped(at_, text);
    }
    *at_++ = '"';
  }

 private:
  static constexpr std::size_t kLongest = 6;  // most bytes that one byte is escaped to

  void need(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes) [[unlikely]]
      grow(bytes);
  }
  void grow(std::size_t bytes);
  bool copied_as_it_is(std::string_view text);
  static char* put_escaped(char* at, std::string_view text);

  std::string& out_;
  char* at_;   ///< position of the next piece
  char* end_;  ///< end of the reserved space
};

}  // namespace karmad
