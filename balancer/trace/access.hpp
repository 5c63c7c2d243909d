#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/json/json_line.hpp"
#include "balancer/trace/trace.hpp"

namespace karmad {

/// What nginx writes as the status of a request whose client left.
inline constexpr int kClientLeft = 499;

/// The data of an access log line besides the trace.
struct Access {
  std::chrono::system_clock::time_point time;  ///< when the request was complete
  std::string_view method;                     ///< empty: its head could not be read
  std::string_view path;
  int status = 0;
  std::size_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::string_view broken_off{};  ///< why the answer was broken off; empty: it is complete
  std::string_view reason{};      ///< beginning of an error's body
  double sample = 1;  ///< probability with which the line is written; above 0, at most 1
};

/// How a request ended, in a word: `answered`, `partial`, `failed`, `refused` (no mirror was
/// asked), `client_left` or `broken_off`.
std::string_view end_of(const Trace& trace, const Access& access);

/// The longest time that an attempt of the request needed to connect; none if all used kept
/// connections.
std::optional<Micros> longest_connect(const Trace& trace);

/// When the first byte of a reply came, from the start of the request; none if there was none.
std::optional<Micros> first_reply_byte(const Trace& trace);

/// Whether the line of a request is written although it is not in the sample: it did not end well,
/// or took `slow` or longer.
bool is_notable(const Trace& trace, TimePoint now, const Access& access, Micros slow);

/// Appends a line of the access log for people, without its line end. Its bytes are printable
/// ASCII for any input:
/// `2023-11-14T22:13:20.000042Z 127.0.0.1 POST /search 200 answered 1.234 ms in=321 …`.
void append_access_text(std::string& line, const Trace& trace, TimePoint now, const Access& access);

/// Writes 2023-11-14T22:13:20.000042Z. Caches the text of the last second per thread.
void add_date(JsonLine& out, std::chrono::system_clock::time_point time);
/// Writes milliseconds as `1.234`.
void add_millis(JsonLine& out, Micros value);

}  // namespace karmad
