#pragma once

#include <chrono>
#include <string>

#include "agent/json/json_line.hpp"
#include "balancer/trace/access.hpp"

namespace karmad {

/// Appends a line of the access log for people, without its line end. Its bytes are printable
/// ASCII for any input:
/// `2023-11-14T22:13:20.000042Z 127.0.0.1 POST /search 200 answered 1.234 ms in=321 …`.
void append_access_text(std::string& out, const Trace& trace, TimePoint now, const Access& access);

/// Writes 2023-11-14T22:13:20.000042Z. Caches the text of the last second per thread.
void add_date(JsonLine& out, std::chrono::system_clock::time_point time);
/// Writes milliseconds as `1.234`.
void add_millis(JsonLine& out, Micros value);

}  // namespace karmad
