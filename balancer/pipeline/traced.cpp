#include "balancer/pipeline/traced.hpp"

#include "balancer/trace/access_log.hpp"
#include "balancer/trace/trace_json.hpp"

namespace karmad {
namespace {

constexpr int kClientLeft = 499;  // what nginx writes for it

std::uint64_t bytes_out(const Query& query, const Answer& answer) {
  const bool bare = query.client_left || answer.status == 204 || answer.status == 304 ||
                    query.head.method == "HEAD";
  return bare ? 0 : answer.length();
}

void log(AccessLog& log, const Query& query, const Answer& answer, TimePoint now) {
  Buffer line(query.worker.loop.buffers);
  append_access_line(*line, query.trace, now,
                     {.time = std::chrono::system_clock::now() - (now - query.began),
                      .method = query.head.method,
                      .path = query.head.path,
                      .status = query.client_left ? kClientLeft : answer.status,
                      .bytes_in = query.bytes_in,
                      .bytes_out = bytes_out(query, answer)});
  log.write(*line);
}

}  // namespace

void open_trace(Query& query) {
  auto& trace = query.trace;
  trace.id = query.id;
  trace.client = query.client;
  trace.began = query.began;
  trace.deadline = query.deadline;
  query.wants_trace =
      query.worker.process.access_log != nullptr || query.head.find(kTraceField) == "1";
}

void close_trace(Query& query, Answer& answer) {
  auto* access_log = query.worker.process.access_log;
  if (!query.wants_trace) return;
  const bool wanted = query.head.find(kTraceField) == "1";
  const auto now = Loop::now();
  query.trace.operation = query.operation;
  if (wanted) append_json(answer.trace, query.trace, now);
  if (access_log != nullptr) log(*access_log, query, answer, now);
}

}  // namespace karmad
