#include "balancer/pipeline/trace_scope.hpp"

#include "balancer/trace/line_writer.hpp"
#include "balancer/trace/trace_json.hpp"

namespace karmad {
namespace {

constexpr int kClientLeft = 499;  // what nginx writes for it

std::uint64_t bytes_out(const Query& query, const Answer& answer) {
  const bool bare = query.client_left || has_no_body(answer.status) || query.head.method == "HEAD";
  return bare ? 0 : answer.length();
}

void log(LineWriter& log, const Query& query, const Answer& answer, TimePoint now,
         std::uint64_t bytes_out, std::string_view broken_off = {}) {
  Buffer line(query.worker.loop.buffers);
  append_access_line(*line, query.trace, now,
                     {.time = std::chrono::system_clock::now() - (now - query.began),
                      .method = query.head.method,
                      .path = query.head.path,
                      .status = query.client_left ? kClientLeft : answer.status,
                      .bytes_in = query.bytes_in,
                      .bytes_out = bytes_out,
                      .broken_off = broken_off});
  log.write(*line);
}

}  // namespace

void open_trace(Query& query) {
  auto& trace = query.trace;
  trace.id = query.id;
  trace.client = query.client;
  trace.began = query.began;
  trace.deadline = query.deadline;
  query.wants_trace = query.worker.process.access_log != nullptr || asks_for_trace(query.head);
}

void close_trace(Query& query, Answer& answer) {
  auto* access_log = query.worker.process.access_log;
  if (!query.wants_trace) return;
  const bool wanted = asks_for_trace(query.head);
  const auto now = Loop::now();
  query.trace.operation = query.operation;
  if (wanted) append_json(answer.trace, query.trace, now);
  if (access_log != nullptr && !answer.rest)
    log(*access_log, query, answer, now, bytes_out(query, answer));
}

RestLog::~RestLog() {
  auto* access_log = query_.worker.process.access_log;
  if (!has_rest_ || access_log == nullptr || !query_.wants_trace) return;
  std::string_view why = broken_off_;
  if (why.empty() && sent_ < length_) why = "not taken by the client";
  log(*access_log, query_, answer_, Loop::now(), sent_, why);
}

}  // namespace karmad
