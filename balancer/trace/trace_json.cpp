#include "balancer/trace/trace_json.hpp"

#include "agent/json/json_line.hpp"
#include "balancer/trace/request_identity.hpp"

namespace karmad {
namespace {

// Even with every byte escaped as six, a head and one attempt fit into kTraceFieldSize.
constexpr std::size_t kWord = 32;    // operations may be methods chosen by a client
constexpr std::size_t kName = 128;   // of tables, agents
constexpr std::size_t kClient = 64;  // an address
constexpr std::size_t kError = 200;  // the beginning contains the cause
constexpr std::size_t kRefused = 600;
constexpr std::size_t kLongestAttempt = 2400;
constexpr std::size_t kPath = 2048;
constexpr std::size_t kAttemptsInLog = 32 << 10;
constexpr int kFirstErrorStatus = 400;  // lower ones are not worth their bytes in each line
constexpr std::string_view kLongestEnd = R"(],"left_out":18446744073709551615})";

// Below, `name` is `,"name":`, a literal.

void add_text(JsonLine& out, const auto& name, std::string_view value, std::size_t most) {
  if (value.empty()) return;
  out.add(name);
  out.add_ascii(value, most);
}

void add_time(JsonLine& out, const auto& name, std::optional<Micros> value) {
  if (!value) return;
  out.add(name, value->count());
}

std::string_view bool_text(bool value) {
  return value ? "true" : "false";
}

void add_attempt(JsonLine& out, const TracedAttempt& attempt) {
  const auto& start = attempt.start;
  out.add(R"({"shard":)", start.shard);
  add_text(out, R"(,"mirror":)", start.mirror, kName);
  out.add(R"(,"reason":")", trace_name(start.reason), '"');
  if (const auto& choice = start.choice; !choice.strategy.empty())
    out.add(R"(,"strategy":")", choice.strategy, R"(","suitable":)", choice.suitable,
            R"(,"acceptable":)", choice.acceptable);
  if (start.hedging) add_text(out, R"(,"hedging":)", text(*start.hedging), kWord);
  if (start.span != 0) {
    const auto digits = hex_digits(start.span);
    out.add(R"(,"span_id":")", std::string_view(digits.data(), digits.size()), '"');
  }
  if (start.pause > Micros{0}) add_time(out, R"(,"pause_us":)", start.pause);
  add_time(out, R"(,"start_us":)", attempt.started);
  add_time(out, R"(,"connected_us":)", attempt.connected);
  add_time(out, R"(,"first_byte_us":)", attempt.first_byte);
  add_time(out, R"(,"end_us":)", attempt.ended);
  out.add(R"(,"outcome":")", name(attempt.outcome), '"');
  if (attempt.status >= kFirstErrorStatus) out.add(R"(,"status":)", attempt.status);
  add_text(out, R"(,"error":)", attempt.error, kError);
  out.add('}');
}

/// Adds the retries that were not made, as long as one attempt has room behind them.
void add_refused(JsonLine& out, const Trace& trace, std::size_t end) {
  if (trace.refused().empty()) return;
  const auto start = out.size();
  out.add(R"(,"refused":[)");
  bool any = false;
  for (const auto& retry : trace.refused()) {
    const auto before = out.size();
    if (any) out.add(',');
    out.add(R"({"shard":)", retry.shard);
    add_text(out, R"(,"why":)", retry.why, kRefused);
    out.add('}');
    if (out.size() + kLongestAttempt > end) {
      out.cut(before);
      break;
    }
    any = true;
  }
  if (!any) return out.cut(start);
  out.add(']');
}

/// Adds attempts while `out` stays shorter than `end`, then closes the object.
void add_attempts(JsonLine& out, const Trace& trace, std::size_t end) {
  out.add(R"(,"attempts":[)");
  std::size_t shown = 0;
  for (const auto& attempt : trace.attempts()) {
    const auto before = out.size();
    if (shown > 0) out.add(',');
    add_attempt(out, attempt);
    if (out.size() + kLongestEnd.size() > end) {
      out.cut(before);
      break;
    }
    ++shown;
  }
  out.add(']');
  if (const auto left_out = trace.started() - shown; left_out > 0)
    out.add(R"(,"left_out":)", left_out);
  out.add('}');
}

/// Both are valid, so they need no escapes.
void add_identity(JsonLine& out, const Trace& trace) {
  if (!trace.request_id.empty()) out.add(R"(,"request_id":")", trace.request_id, '"');
  if (!trace.trace_id.empty()) out.add(R"(,"trace_id":")", trace.trace_id, '"');
}

Micros took(const Trace& trace, TimePoint now) {
  return std::chrono::duration_cast<Micros>(now - trace.began);
}

}  // namespace

void append_json(std::string& text, const Trace& trace, TimePoint now, std::size_t most) {
  JsonLine out(text);
  const auto end = out.size() + most;
  out.add(R"({"id":)", trace.id);
  add_identity(out, trace);
  add_text(out, R"(,"operation":)", trace.operation, kWord);
  add_text(out, R"(,"table":)", trace.table, kName);
  add_text(out, R"(,"client":)", trace.client, kClient);
  add_time(out, R"(,"deadline_us":)",
           std::chrono::duration_cast<Micros>(trace.deadline - trace.began));
  add_time(out, R"(,"took_us":)", took(trace, now));
  if (trace.queued > Micros{0}) add_time(out, R"(,"queued_us":)", trace.queued);
  add_time(out, R"(,"merge_us":)", trace.merge);
  add_refused(out, trace, end);
  add_attempts(out, trace, end);
}

void append_access_json(std::string& text, const Trace& trace, TimePoint now,
                        const Access& access) {
  JsonLine out(text);
  out.add(R"({"time":")");
  add_date(out, access.time);
  out.add(R"(","id":)", trace.id);
  add_identity(out, trace);
  add_text(out, R"(,"client":)", trace.client, kClient);
  add_text(out, R"(,"method":)", access.method, kWord);
  add_text(out, R"(,"path":)", access.path, kPath);
  add_text(out, R"(,"operation":)", trace.operation, kWord);
  add_text(out, R"(,"table":)", trace.table, kName);
  out.add(R"(,"status":)", access.status, R"(,"bytes_in":)", access.bytes_in, R"(,"bytes_out":)",
          access.bytes_out);
  add_text(out, R"(,"broken_off":)", access.broken_off, kError);
  out.add(R"(,"end":")", end_of(trace, access), '"');
  add_text(out, R"(,"reason":)", access.reason, kError);
  out.add(R"(,"total_ms":)");
  add_millis(out, took(trace, now));
  out.add(R"(,"hedged":)", bool_text(trace.hedged()), R"(,"retried":)", bool_text(trace.retried()),
          R"(,"partial":)", bool_text(trace.partial));
  if (access.sample < 1) {
    out.add(R"(,"sample":)");
    out.add_number(access.sample);
  }
  if (trace.queued > Micros{0}) add_time(out, R"(,"queued_us":)", trace.queued);
  add_time(out, R"(,"connect_us":)", longest_connect(trace));
  add_time(out, R"(,"first_byte_us":)", first_reply_byte(trace));
  add_time(out, R"(,"merge_us":)", trace.merge);
  add_attempts(out, trace, out.size() + kAttemptsInLog);
}

}  // namespace karmad
