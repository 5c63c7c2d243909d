#pragma once

#include <cstddef>
#include <string>

#include "balancer/trace/access.hpp"
#include "balancer/trace/trace.hpp"

namespace karmad {

/// Longest trace in a header: servers and proxies refuse heads of 8 KiB and more.
inline constexpr std::size_t kTraceFieldSize = 4 << 10;

// All output is valid JSON in printable ASCII, for any input, and allowed in an HTTP field. Long
// texts are cut, and attempts without room are counted in "left_out".

/// Appends the trace as of `now`, at most `most` bytes (kTraceFieldSize or more).
void append_json(std::string& out, const Trace& trace, TimePoint now,
                 std::size_t most = kTraceFieldSize);

/// Appends a line of the access log in JSON, without its line end.
void append_access_json(std::string& out, const Trace& trace, TimePoint now, const Access& access);

}  // namespace karmad
