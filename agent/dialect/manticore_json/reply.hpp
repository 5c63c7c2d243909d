#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "agent/json/json_cursor.hpp"

namespace karmad {

/// What stands around the hits of a search answer; the views are into it.
struct ReplyHead {
  bool timed_out = false;
  bool total_is_lower_bound = false;
  std::uint64_t total = 0;
  std::string_view warning;       ///< inside of the JSON string; empty: none
  JsonCursor hits;                ///< stands at the opening bracket of the hits
  std::string_view aggregations;  ///< bytes of the object; empty: none, or not asked for
};

enum class ReadTail : bool { no, yes };

/// Finds the hits and what stands before them; the hits themselves are not looked at, only that the
/// body ends as an object must. With `ReadTail::yes` they are passed over (about a gigabyte per
/// second) to find the aggregations behind them. The error says what is wrong with the answer.
std::expected<ReplyHead, std::string> read_reply(std::string_view body, ReadTail tail);

/// The text of an error body, `{"error":"text"}` or `{"error":{"reason":"text", …}}`, without its
/// escapes; empty when there is none.
std::string agent_error_text(std::string_view body);

/// The inside of the string in `{"reason":"text"}` or in `"text"`; empty for anything else.
std::string_view reason_in(std::string_view warning);

}  // namespace karmad
