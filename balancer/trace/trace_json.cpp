#include "balancer/trace/trace_json.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <rapidjson/encodings.h>
#include <rapidjson/memorystream.h>

namespace karmad {
namespace {

// With every byte escaped in six, a head and one attempt still fit into kTraceFieldSize.
constexpr std::size_t kWord = 32;    // operations may be methods, and those are a client's
constexpr std::size_t kName = 128;   // of tables, agents, clients
constexpr std::size_t kError = 200;  // the beginning says what it was
constexpr std::size_t kPath = 2048;
constexpr std::size_t kAttemptsInLog = 32 << 10;
constexpr std::string_view kLongestEnd = R"(],"left_out":18446744073709551615})";

void append_unit(std::string& out, unsigned unit) {
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", unit);
}

/// One character of UTF-8, or a byte that belongs to none; returns its length.
std::size_t append_escaped(std::string& out, std::string_view text) {
  rapidjson::MemoryStream stream(text.data(), text.size());
  unsigned codepoint = 0;
  const bool valid = rapidjson::UTF8<>::Decode(stream, &codepoint);
  if (!valid) {
    append_unit(out, 0xFFFD);
    return 1;
  }
  if (codepoint < 0x10000) {
    append_unit(out, codepoint);
  } else {
    append_unit(out, 0xD800 + ((codepoint - 0x10000) >> 10));
    append_unit(out, 0xDC00 + ((codepoint - 0x10000) & 0x3FF));
  }
  return stream.Tell();
}

void append_quoted(std::string& out, std::string_view text, std::size_t most) {
  text = text.substr(0, most);
  out.push_back('"');
  while (!text.empty()) {
    const char c = text.front();
    if (c >= 0x20 && c < 0x7f) {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
      text.remove_prefix(1);
    } else {
      text.remove_prefix(append_escaped(out, text));
    }
  }
  out.push_back('"');
}

void append_name(std::string& out, std::string_view name) {
  out.append(",\"").append(name).append("\":");
}

void append_text(std::string& out, std::string_view name, std::string_view value,
                 std::size_t most) {
  if (value.empty()) return;
  append_name(out, name);
  append_quoted(out, value, most);
}

void append_count(std::string& out, std::string_view name, std::int64_t value) {
  append_name(out, name);
  out.append(fmt::format_int(value).c_str());
}

void append_time(std::string& out, std::string_view name, std::optional<Micros> value) {
  if (value) append_count(out, name, value->count());
}

void append_queued(std::string& out, const Trace& trace) {
  if (trace.queued > Micros{0}) append_time(out, "queued_us", trace.queued);
}

void append_attempt(std::string& out, const TracedAttempt& attempt) {
  const auto& start = attempt.start;
  out.append("{\"shard\":").append(fmt::format_int(start.shard).c_str());
  append_text(out, "mirror", start.mirror, kName);
  append_text(out, "reason", name(start.reason), kWord);
  if (!start.choice.strategy.empty()) {
    append_text(out, "strategy", start.choice.strategy, kWord);
    append_count(out, "suitable", start.choice.suitable);
    append_count(out, "acceptable", start.choice.acceptable);
  }
  if (start.hedging) append_text(out, "hedging", text(*start.hedging), kWord);
  if (start.pause > Micros{0}) append_time(out, "pause_us", start.pause);
  append_time(out, "start_us", attempt.started);
  append_time(out, "connected_us", attempt.connected);
  append_time(out, "first_byte_us", attempt.first_byte);
  append_time(out, "end_us", attempt.ended);
  append_text(out, "outcome", name(attempt.outcome), kWord);
  append_text(out, "error", attempt.error, kError);
  out.push_back('}');
}

/// The attempts, as long as `out` stays shorter than `end`, and the end of the object.
void append_attempts(std::string& out, const Trace& trace, std::size_t end) {
  append_name(out, "attempts");
  out.push_back('[');
  std::size_t shown = 0;
  for (const auto& attempt : trace.attempts()) {
    const auto before = out.size();
    if (shown > 0) out.push_back(',');
    append_attempt(out, attempt);
    if (out.size() + kLongestEnd.size() > end) {
      out.resize(before);
      break;
    }
    ++shown;
  }
  out.push_back(']');
  if (const auto left_out = trace.started() - shown; left_out > 0)
    append_count(out, "left_out", static_cast<std::int64_t>(left_out));
  out.push_back('}');
}

Micros took(const Trace& trace, TimePoint now) {
  return std::chrono::duration_cast<Micros>(now - trace.began);
}

}  // namespace

void append_json(std::string& out, const Trace& trace, TimePoint now, std::size_t most) {
  const auto end = out.size() + most;
  out.append("{\"id\":").append(fmt::format_int(trace.id).c_str());
  append_text(out, "operation", trace.operation, kWord);
  append_text(out, "table", trace.table, kName);
  append_text(out, "client", trace.client, kName);
  append_time(out, "deadline_us", std::chrono::duration_cast<Micros>(trace.deadline - trace.began));
  append_time(out, "took_us", took(trace, now));
  append_queued(out, trace);
  append_attempts(out, trace, end);
}

void append_access_line(std::string& out, const Trace& trace, TimePoint now, const Access& access) {
  const auto time = std::chrono::time_point_cast<Micros>(access.time).time_since_epoch().count();
  fmt::format_to(std::back_inserter(out), R"({{"time":"{:%FT%T}.{:06}Z","id":{})",
                 fmt::gmtime(std::chrono::system_clock::to_time_t(
                     std::chrono::system_clock::time_point(std::chrono::seconds(time / 1000000)))),
                 time % 1000000, trace.id);
  append_text(out, "client", trace.client, kName);
  append_text(out, "method", access.method, kWord);
  append_text(out, "path", access.path, kPath);
  append_text(out, "operation", trace.operation, kWord);
  append_text(out, "table", trace.table, kName);
  const auto us = took(trace, now).count();
  fmt::format_to(std::back_inserter(out),
                 R"(,"status":{},"bytes_in":{},"bytes_out":{},"total_ms":{}.{:03},)"
                 R"("hedged":{},"retried":{},"partial":{})",
                 access.status, access.bytes_in, access.bytes_out, us / 1000, us % 1000,
                 trace.hedged(), trace.retried(), trace.partial);
  append_queued(out, trace);
  append_attempts(out, trace, out.size() + kAttemptsInLog);
}

}  // namespace karmad
