#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "agent/json/json_cursor.hpp"

namespace karmad {

/// The parts of a search answer around its hits. The views are into the answer.
struct ReplyHead {
  bool timed_out = false;
  bool total_is_lower_bound = false;
  std::uint64_t total = 0;
  std::string_view warning;  ///< inside of the JSON string; empty: none
  JsonCursor hits;           ///< at the opening bracket of the hits
  // Bytes of what follows the hits; empty: none, or not read.
  std::string_view aggregations;
  std::string_view profile;
  std::string_view plan;
};

enum class ReadTail : bool { no, yes };

/// Finds the hits and the members before them. Does not read the hits, and checks only that the
/// body ends like an object. `ReadTail::yes` skips the hits (about 1 GB/s) to find the aggregations
/// after them. The error says what is wrong with the answer.
std::expected<ReplyHead, std::string> read_reply(std::string_view body, ReadTail tail);

/// The text of an error body, `{"error":"text"}` or `{"error":{"reason":"text", …}}`, unescaped;
/// empty if there is none. Servers may cut a text within a character: bytes that are not UTF-8
/// become U+FFFD.
std::string agent_error_text(std::string_view body);

/// The string within `{"reason":"text"}` or `"text"`, still escaped; empty for anything else.
std::string_view reason_in(std::string_view warning);

}  // namespace karmad
