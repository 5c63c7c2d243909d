#include "balancer/pipeline/trace_scope.hpp"

#include "balancer/selection/explanation.hpp"
#include "balancer/status/status_json.hpp"
#include "balancer/trace/access.hpp"
#include "balancer/trace/line_writer.hpp"
#include "balancer/trace/trace_json.hpp"

namespace karmad {
namespace {

std::uint64_t bytes_out(const Query& query, const Answer& answer) {
  const bool bare =
      query.client.left || has_no_body(answer.status) || query.request.line.method == "HEAD";
  return bare ? 0 : answer.length();
}

/// The reason in an error answer. Empty for an answer with a rest: its beginning may be released.
std::string_view reason_of(const Answer& answer) {
  return answer.status >= 400 && !answer.rest ? answer.content() : std::string_view();
}

constexpr std::string_view kCutOff = "shutdown_timeout is over";

/// An answer with a rest may have begun before the client left.
int status_of(const Query& query, const Answer& answer) {
  if (query.client.is_cut_off) return answer.rest ? answer.status : 503;
  return query.client.left ? kClientLeft : answer.status;
}

std::string_view logged_reason(const Query& query, const Answer& answer) {
  if (query.client.is_cut_off) return answer.rest ? std::string_view() : kCutOff;
  return query.client.left ? std::string_view() : reason_of(answer);
}

/// Writes the line of a request if the request is notable or belongs to the sample.
void log(Worker& worker, const LogSettings& settings, const Trace& trace, TimePoint now,
         Access access) {
  const auto sample = settings.access_log_sample.value;
  if (sample < 1 && !is_notable(trace, now, access, settings.access_log_slow.value)) {
    if (worker.loop.random.uniform() >= sample) return;
    access.sample = sample;
  }
  Buffer line(worker.loop.buffers);
  if (settings.access_log_format.value == LogFormat::text) {
    append_access_text(*line, trace, now, access);
  } else {
    append_access_json(*line, trace, now, access);
  }
  worker.process.access_log->write(*line);
}

void log(const Query& query, const Answer& answer, TimePoint now, std::uint64_t bytes_out,
         std::string_view broken_off = {}) {
  log(query.worker, query.topology->settings, query.record.trace, now,
      {.time = std::chrono::system_clock::now() - (now - query.record.began),
       .method = query.request.line.method,
       .path = query.request.line.path,
       .status = status_of(query, answer),
       .bytes_in = query.record.bytes_in,
       .bytes_out = bytes_out,
       .broken_off = broken_off,
       .reason = logged_reason(query, answer)});
}

}  // namespace

void open_trace(Query& query) {
  auto& trace = query.record.trace;
  trace.id = query.record.id;
  trace.request_id = query.record.request_id.text();
  trace.trace_id = query.record.trace_context.trace_id;
  trace.client = query.client.address;
  trace.began = query.record.began;
  trace.deadline = query.resources.deadline;
  // Traces and explanations tell the addresses of mirrors.
  const bool told = query.topology->settings.status_on_query_port.value == StatusOnQueryPort::yes;
  query.record.shows_trace = told && asks_for_trace(query.request.fields);
  query.record.wants_trace = query.worker.process.access_log != nullptr || query.record.shows_trace;
  query.record.wants_explanation = told && asks_for_explanation(query.request.fields);
}

void close_trace(Query& query, Answer& answer) {
  if (!query.record.wants_trace && query.request.table == nullptr && explanation(query) == nullptr)
    return;
  const auto now = Loop::now();
  query.count_answer(status_of(query, answer), now);
  end_explanation(query, status_of(query, answer), now);
  if (query.record.wants_explanation)
    if (const auto* const record = explanation(query))
      answer.explanation = explanation_field(*record, now, std::chrono::system_clock::now());
  if (!query.record.wants_trace) return;
  query.record.trace.operation = query.request.operation;
  if (query.record.shows_trace) append_json(answer.trace, query.record.trace, now);
  if (query.worker.process.access_log != nullptr && !answer.rest)
    log(query, answer, now, bytes_out(query, answer));
}

void log_refused(Worker& worker, const LogSettings& settings, const RefusedRequest& request,
                 const Answer& answer) {
  if (worker.process.access_log == nullptr) return;
  const auto now = Loop::now();
  Trace trace;
  trace.id = worker.next_query();
  trace.request_id = request.id;
  trace.trace_id = trace_context(request.fields).trace_id;
  trace.client = request.client;
  trace.began = now;
  log(worker, settings, trace, now,
      {.time = std::chrono::system_clock::now(),
       .method = request.line.method,
       .path = request.line.path,
       .status = answer.status,
       .bytes_in = request.bytes_in,
       .bytes_out = answer.length(),
       .reason = reason_of(answer)});
}

RestLog::~RestLog() {
  if (!has_rest_ || query_.worker.process.access_log == nullptr || !query_.record.wants_trace)
    return;
  std::string_view why = broken_off_;
  if (query_.client.is_cut_off) why = kCutOff;
  if (why.empty() && !is_complete_) why = "the client did not read it";
  log(query_, answer_, Loop::now(), sent_, why);
}

}  // namespace karmad
