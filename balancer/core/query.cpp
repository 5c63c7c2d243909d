#include "balancer/core/query.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "agent/json/json_line.hpp"

namespace karmad {
namespace {

constexpr std::size_t kQuicklyRead = 64 << 10;  // bytes of a body; parsing more takes time

}  // namespace

Query::Query(Worker& on, const Topology& with, const RequestLine& line, const Head& fields,
             std::string_view body, std::string_view from)
    : worker(on),
      record(on.next_query(),
             request_id(fields.find(kRequestId), with.settings.request_id.value, on.loop.random),
             trace_context(fields), Loop::now(), fields.size + body.size()),
      client{.address = from, .peer = from},
      request{{.method = line.method,
               .path = line.path,
               .query = line.query,
               .content_type = fields.find("Content-Type"),
               .body = body},
              line,
              fields},
      resources{.deadline =
                    record.began + time_allowed(fields, with.settings.request_timeout.value)},
      topology(&with),
      waited(body.size() > kQuicklyRead) {}

Answer json_answer(int status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

Answer refusal(int status, std::string_view reason) {
  Answer answer;
  answer.status = status;
  JsonLine(answer.body).add(R"({"error":)", Quoted{reason}, '}');
  return answer;
}

Answer refusal_in(const DialectKind& kind, const Dialect& dialect, int status,
                  std::string_view reason) {
  Answer answer;
  answer.status = status;
  answer.content_type = kind.content_type;
  dialect.refuse(status, reason, answer.body);
  return answer;
}

Answer refusal_at(const Topology& topology, std::string_view path, int status,
                  std::string_view reason) {
  if (const auto* const served = topology.endpoint_at(path))
    return refusal_in(served->kind, *served->dialect, status, reason);
  if (const auto* const table = topology.route(path))
    return refusal_in(table->dialect, *table->routed, status, reason);
  return refusal(status, reason);
}

Answer bad_request(Query& query, int status, std::string_view reason) {
  count_refused(query.worker, status, reason);
  return refusal_at(*query.topology, query.request.path, status, reason);
}

void count_refused(Worker& worker, int status, std::string_view reason) {
  if (status != 500) return worker.counters.add(Count::bad_requests);
  worker.counters.add(Count::internal_errors);
  if (const auto left_out = worker.error_lines.may_write(Loop::now()))
    spdlog::error("{}{}", reason,
                  *left_out == 0 ? "" : fmt::format(" ({} more not logged)", *left_out));
}

namespace {

constexpr std::size_t kPerPatience = 64 << 10;
constexpr std::size_t kOpenPiece = 32 << 10;

}  // namespace

ResponseStream::ResponseStream(const Source& source, AgentSlot slot, AttemptResult& result)
    : source_(source),
      mirror_(source.set[source.number]),
      slot_(std::move(slot)),
      connection_(std::move(result.rest.on)),
      unread_(result.reply.left),
      chunks_(std::move(result.reply.chunks)),
      patience_(unread_ == kOpenEnd ? source.open_patience : source.patience) {
  result_.outcome = result.outcome;
  result_.took = result.took;
  result_.connect = result.connect;
  result_.generation = result.generation;
  result_.rest.keep_connection = result.rest.keep_connection;
  result_.unasked = result.unasked;
  result_.sent = true;
  note_last(result.reply.body());
}

ResponseStream::~ResponseStream() {
  if (connection_) connection_->close();
  const auto now = Loop::now();
  record(mirror_, source_.set.failure_floor(), source_.loop.index, now, result_);
  const bool broken =
      result_.outcome == Outcome::broken || result_.outcome == Outcome::closed_early;
  if (source_.tracks_state && broken)  // SD-020
    source_.set.on_error(source_.number,
                         {.what = UseError::What::network,
                          .generation = result_.generation,
                          .why = std::move(result_.why)},
                         now);
  if (source_.breaker != nullptr)
    source_.breaker->ended(source_.number, Operation::read, result_.outcome, now);
}

Task<bool> ResponseStream::next(std::string& piece, Stop& stop) {
  // With a fast agent and a fast client this would otherwise never wait.
  if (source_.loop.turn.over()) co_await source_.loop.turn.next();
  if (unread_ == kOpenEnd) co_return co_await next_of_open(piece, stop);
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(unread_, kPassedPiece));
  // Room for one byte more shows in the last read whether bytes follow the reply.
  const auto room = most < unread_ ? most : most + 1;
  resize_for_reading(piece, room);
  std::size_t have = 0;
  while (have < most) {
    auto got = connection_->read_now(piece.data() + have, room - have);
    if (got.error == asio::error::would_block) {
      if (have > 0) break;
      got = co_await wait(piece.data(), room, stop);
    }
    if (got.error) co_return read_failed(got.error, stop.why());
    have += got.size;
  }
  const bool has_unrequested = have > most;
  have = std::min(have, most);
  piece.resize(have);
  unread_ -= have;
  since_ += have;
  if (since_ >= kPerPatience) {
    since_ = 0;
    patience_ = source_.patience;
  }
  note_last(piece);
  if (unread_ > 0) co_return true;
  co_return end(has_unrequested ? Stream::Unasked::bytes : connection_->behind());
}

/// Of a reply without a length: what has arrived, at once.
Task<bool> ResponseStream::next_of_open(std::string& piece, Stop& stop) {
  Buffer bytes(source_.loop.buffers);
  for (piece.clear(); piece.empty() && unread_ > 0;) {
    resize_for_reading(*bytes, kOpenPiece);
    auto got = connection_->read_now(bytes->data(), kOpenPiece);
    if (got.error == asio::error::would_block) {
      patience_ = source_.open_patience;
      got = co_await wait(bytes->data(), kOpenPiece, stop);
    }
    const bool is_end = got.error == asio::error::eof && !chunks_;
    if (got.error && !is_end) co_return read_failed(got.error, stop.why());
    bytes->resize(got.size);
    std::expected<std::size_t, HeadError> used = got.size;
    if (chunks_) used = chunks_->put(*bytes, piece);
    if (!used) co_return fail(Outcome::wrong_reply, used.error().reason);
    if (!chunks_) piece.append(*bytes);
    if (!is_end && !(chunks_ && chunks_->done())) continue;
    unread_ = 0;
    note_last(piece);
    co_return end(is_end                  ? Stream::Unasked::end
                  : *used < bytes->size() ? Stream::Unasked::bytes
                                          : connection_->behind());
  }
  note_last(piece);
  co_return true;
}

/// Returns the connection and the slot; `behind`: what followed the reply. False: it is incomplete.
bool ResponseStream::end(Stream::Unasked behind) {
  if (source_.ends_in != 0 && last_ != source_.ends_in)
    return fail(Outcome::wrong_reply, "its long answer is not complete JSON");
  const auto connection = std::exchange(connection_, {});
  if (behind == Stream::Unasked::bytes) {
    result_.unasked = true;
    source_.pool.unasked();
  }
  if (result_.rest.keep_connection && behind == Stream::Unasked::nothing) {
    source_.pool.give(connection);
  } else {
    connection->close();
  }
  slot_.reset();
  return true;
}

/// Waits for bytes, at most for the rest of `patience_`.
Task<Stream::Read> ResponseStream::wait(char* into, std::size_t room, Stop& stop) {
  const auto guard = stop.calling<&Connection::close>(*connection_);
  if (stop.requested()) co_return Stream::Read{asio::error::operation_aborted, 0};
  const auto began = Loop::now();
  stop.arm(began + patience_, StopReason::query_timeout);
  connection_->start_read(into, room);
  const auto got = co_await connection_->read();
  stop.disarm();
  const auto waited = std::chrono::duration_cast<Micros>(Loop::now() - began);
  patience_ = std::max(Micros{0}, patience_ - waited);
  co_return got;
}

void ResponseStream::note_last(std::string_view piece) {
  const auto at = piece.find_last_not_of(kJsonSpace);
  if (at != piece.npos) last_ = piece[at];
}

bool ResponseStream::fail(Outcome outcome, std::string why) {
  result_.outcome = outcome;
  result_.why = std::move(why);
  return false;
}

bool ResponseStream::read_failed(const error_code& error, StopReason why) {
  if (why == StopReason::query_timeout) {
    slot_->dropped();
    return fail(Outcome::query_timeout, "the rest of its long answer did not come in time");
  }
  if (why != StopReason::none) {
    result_.why = "cancelled";  // the client left; no error of the mirror
    return false;
  }
  if (error == asio::error::eof)
    return fail(Outcome::closed_early, "closed the connection in the middle of its long answer");
  const auto* tls = connection_->tls();
  const bool says_why = tls != nullptr && !tls->failure().empty();
  return fail(Outcome::broken, says_why ? "TLS: " + tls->failure() : error.message());
}

}  // namespace karmad
