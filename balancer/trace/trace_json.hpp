#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "balancer/trace/trace.hpp"

namespace karmad {

/// The longest trace that is put into a header: servers and proxies refuse heads of 8 KiB and more.
inline constexpr std::size_t kTraceFieldSize = 4 << 10;

// Everything here is valid JSON of printable ASCII, whatever bytes went in, and can stand in a
// field of HTTP. Long texts are cut, and attempts that do not fit are counted in "left_out".

/// Appends the trace as it is at `now`, at most `most` bytes of it (kTraceFieldSize or more).
void append_json(std::string& out, const Trace& trace, TimePoint now,
                 std::size_t most = kTraceFieldSize);

/// What the access log says of a request beside its trace.
struct Access {
  std::chrono::system_clock::time_point time;  ///< when it was complete
  std::string_view method;
  std::string_view path;
  int status = 0;
  std::size_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::string_view broken_off{};  ///< why it is not all of the answer; empty: it is
};

/// Appends a line of the access log, without its end.
void append_access_line(std::string& out, const Trace& trace, TimePoint now, const Access& access);

}  // namespace karmad
