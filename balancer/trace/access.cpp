#include "balancer/trace/access.hpp"

#include <algorithm>

#include "balancer/trace/plain_text.hpp"

namespace karmad {

std::string_view end_of(const Trace& trace, const Access& access) {
  if (access.status == kClientLeft) return "client_left";
  if (!access.broken_off.empty()) return "broken_off";
  if (access.status >= 400) return trace.started() == 0 ? "refused" : "failed";
  return trace.partial ? "partial" : "answered";
}

std::optional<Micros> longest_connect(const Trace& trace) {
  std::optional<Micros> longest;
  for (const auto& attempt : trace.attempts())
    if (attempt.connected)
      longest = std::max(longest, std::optional(*attempt.connected - attempt.started));
  return longest;
}

std::optional<Micros> first_reply_byte(const Trace& trace) {
  std::optional<Micros> first;
  for (const auto& attempt : trace.attempts())
    if (attempt.first_byte && (!first || *attempt.first_byte < *first)) first = attempt.first_byte;
  return first;
}

bool is_notable(const Trace& trace, TimePoint now, const Access& access, Micros slow) {
  return access.status >= 400 || trace.partial || !access.broken_off.empty() ||
         now - trace.began >= slow;
}

namespace {

constexpr std::size_t kTextWord = 200;
constexpr std::size_t kTextPath = 2048;
constexpr std::size_t kAttemptTexts = 32 << 10;  // bytes of all attempts

/// A text as it is if it is a plain word, else as a string of JSON.
void add_plain(JsonLine& out, std::string_view text, std::size_t most = kTextWord) {
  text = text.substr(0, most);
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\';
  });
  if (plain) {
    out.add(text);
  } else {
    out.add_ascii(text, most);
  }
}

/// Nothing for an empty text; `name` is ` name=`.
void add_named(JsonLine& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  out.add(name);
  add_plain(out, text);
}

void add_named_time(JsonLine& out, std::string_view name, std::optional<Micros> time) {
  if (!time) return;
  out.add(name);
  add_millis(out, *time);
}

/// Writes ` [1 10.0.0.2:9308 retry 0.420..1.180 ms answered]`.
void add_attempt_text(JsonLine& out, const TracedAttempt& attempt) {
  out.add(" [", attempt.start.shard, ' ');
  add_plain(out, attempt.start.mirror);
  out.add(' ', trace_name(attempt.start.reason), ' ');
  add_millis(out, attempt.started);
  add_named_time(out, " connected=", attempt.connected);
  add_named_time(out, " first_byte=", attempt.first_byte);
  add_named_time(out, " end=", attempt.ended);
  out.add(' ');
  add_plain(out, name(attempt.outcome));
  add_named(out, ": ", attempt.error);
  out.add(']');
}

void add_attempt_texts(JsonLine& out, const Trace& trace) {
  const auto end = out.size() + kAttemptTexts;
  std::size_t shown = 0;
  for (const auto& attempt : trace.attempts()) {
    if (out.size() >= end) break;
    add_attempt_text(out, attempt);
    ++shown;
  }
  if (const auto left_out = trace.started() - shown; left_out > 0) out.add(" left_out=", left_out);
}

}  // namespace

void add_date(JsonLine& out, std::chrono::system_clock::time_point time) {
  static thread_local std::chrono::sys_seconds known = std::chrono::sys_seconds::min();
  static thread_local std::string text;
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  if (second != known) {
    text = utc_text(known = second);
    text.resize(text.size() - std::string_view("000Z").size());
  }
  out.add(std::string_view(text));
  out.add_digits<6>(static_cast<unsigned>(std::chrono::floor<Micros>(time - second).count()));
  out.add('Z');
}

void add_millis(JsonLine& out, Micros value) {
  const auto us = static_cast<std::uint64_t>(std::max<Micros::rep>(value.count(), 0));
  out.add(us / 1000, '.');
  out.add_digits<3>(static_cast<unsigned>(us % 1000));
}

void append_access_text(std::string& line, const Trace& trace, TimePoint now,
                        const Access& access) {
  JsonLine out(line);
  const auto add_word = [&out](std::string_view word, std::size_t most = kTextWord) {
    out.add(' ');
    add_plain(out, word.empty() ? "-" : word, most);
  };
  add_date(out, access.time);
  add_word(trace.client);
  add_word(access.method);
  add_word(access.path, kTextPath);
  out.add(' ', access.status);
  add_word(end_of(trace, access));
  add_named_time(out, " ", std::chrono::duration_cast<Micros>(now - trace.began));
  out.add(" ms in=", access.bytes_in, " out=", access.bytes_out);
  add_named(out, " request_id=", trace.request_id);
  add_named(out, " trace_id=", trace.trace_id);
  add_named(out, " operation=", trace.operation);
  add_named(out, " table=", trace.table);
  if (trace.queued > Micros{0}) add_named_time(out, " queued=", trace.queued);
  add_named_time(out, " connect=", longest_connect(trace));
  add_named_time(out, " first_byte=", first_reply_byte(trace));
  add_named_time(out, " merge=", trace.merge);
  if (trace.retried()) out.add(" retried");
  if (trace.hedged()) out.add(" hedged");
  add_named(out, " broken_off=", access.broken_off);
  add_named(out, " reason=", access.reason);
  add_attempt_texts(out, trace);
}

}  // namespace karmad
