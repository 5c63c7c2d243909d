// The part of MysqlSession that answers statements.
#include <fmt/format.h>

#include <utility>

#include "balancer/admission/memory_gate.hpp"
#include "balancer/mysql/mysql_session.hpp"
#include "balancer/pipeline/pipeline.hpp"
#include "balancer/pipeline/trace_scope.hpp"

namespace karmad {
namespace {

constexpr std::size_t kMysqlPiece = 64 << 10;  // packets that are sent at once
constexpr std::string_view kStatementHead =
    "POST /sql?mode=raw HTTP/1.1\r\nHost: mysql\r\nContent-Type: text/plain\r\n"
    "Content-Length: 0\r\n\r\n";

/// Borrows a RequestHead of the worker.
struct MysqlHeadLease {
  explicit MysqlHeadLease(Worker& of) : worker(of) {}
  MysqlHeadLease(const MysqlHeadLease&) = delete;
  MysqlHeadLease& operator=(const MysqlHeadLease&) = delete;
  ~MysqlHeadLease() { worker.give_head(std::move(head)); }

  Worker& worker;
  std::unique_ptr<RequestHead> head = worker.take_head();
};

}  // namespace

/// Registers the query, so that it ends when its client leaves.
struct MysqlSession::QueryScope {
  QueryScope(MysqlSession& of, Query& query) : session(of) {
    session.query_ = &query;
    session.watch_ = std::make_unique<DisconnectWatch>(session);
  }
  QueryScope(const QueryScope&) = delete;
  QueryScope& operator=(const QueryScope&) = delete;
  ~QueryScope() {
    session.query_ = nullptr;
    session.watch_.reset();
  }
  MysqlSession& session;
};

MysqlConnectionFacts MysqlSession::facts() const {
  return {.id = id_,
          .user = user_,
          .host = client_,
          .database = database_,
          .warning = warning_,
          .last_insert_id = last_insert_id_,
          .max_packet_size = settings().max_packet_size.value,
          .idle_seconds = static_cast<std::uint64_t>(
              std::chrono::duration_cast<std::chrono::seconds>(settings().client_timeout.value)
                  .count()),
          .read_only = read_only_};
}

Task<MysqlSession::Sent> MysqlSession::refuse(std::uint16_t code, std::string_view state,
                                              std::string text) {
  const bool sent = co_await send_error(code, state, std::move(text), sequence_);
  co_return sent ? Sent::error : Sent::broken;
}

Task<MysqlSession::Sent> MysqlSession::refuse(const MysqlError& error) {
  return refuse(error.code, error.state, error.text);
}

Task<MysqlSession::Sent> MysqlSession::run_statement(std::string_view statement, MysqlForm form,
                                                     MysqlMore more) {
  auto sent = Sent::result;
  if (auto local = answer_locally(statement, facts())) {
    sent = co_await run_locally(*std::move(local), form, more);
  } else if (read_only_ && !only_reads(statement)) {
    sent = co_await refuse(1290, "HY000",
                           "this listener has _readonly: statements that change data are refused");
  } else {
    warning_.clear();
    sent = co_await pass_statement(statement, form, more);
  }
  co_return sent;
}

Task<MysqlSession::Sent> MysqlSession::run_locally(MysqlLocalAnswer local, MysqlForm form,
                                                   MysqlMore more) {
  auto sent = Sent::result;
  if (auto* const error = std::get_if<MysqlError>(&local.answer)) {
    sent = co_await refuse(*error);
    co_return sent;
  }
  if (const auto* const json = std::get_if<std::string>(&local.answer)) {
    sent = co_await send_results(*json, form, more);
    co_return sent;
  }
  if (auto* const use = std::get_if<MysqlLocalAnswer::UseDatabase>(&local.answer))
    database_ = use->name.substr(0, 128);
  sent = co_await send_results(R"([{"total":0,"error":"","warning":""}])", form, more);
  co_return sent;
}

/// The head of the request that the statement becomes.
bool MysqlSession::read_head(RequestHead& head, std::size_t body) const {
  if (!parse_request_head(kStatementHead, {}, head)) return false;
  head.content_length = body;
  return true;
}

/// Passes the statement through the pipeline as a request to `/sql?mode=raw`.
Task<MysqlSession::Sent> MysqlSession::pass_statement(std::string_view statement, MysqlForm form,
                                                      MysqlMore more) {
  const MysqlHeadLease lease(worker_);
  const auto& head = *lease.head;
  if (!read_head(*lease.head, statement.size())) co_return Sent::broken;
  worker_.counters.add(Count::requests);
  auto sent = Sent::result;
  const auto refused = refuse_on_head({worker_, *settings_, head, address_, memory_, true});
  if (refused) {
    log_refused(worker_, settings(),
                {.head = &head, .client = client_, .id = {}, .bytes_in = statement.size()},
                refused->answer);
    sent = co_await refuse(
        mysql_error(refused->answer.status, reason_in_answer(refused->answer.body)));
    co_return sent;
  }
  Query query(worker_, *settings_, head, statement, client_);
  query.memory = &memory_;
  query.admissions = &low_admissions_;
  query.sql_session = &sql_session_;
  open_trace(query);
  const QueryScope scope(*this, query);
  auto asked = pass_pipeline(query);
  auto& answer = co_await asked;
  if (memory_.denied() && !query.client_left) {
    const auto why = memory_.denial();
    memory_.forgive();
    worker_.counters.add(Count::queries_failed);
    answer = memory_refusal(worker_.limits.memory, why, query.parsed.read);
  }
  close_trace(query, answer);
  sent = co_await answer_statement(query, answer, form, more);
  co_return sent;
}

Task<MysqlSession::Sent> MysqlSession::answer_statement(Query& query, Answer& answer,
                                                        MysqlForm form, MysqlMore more) {
  std::string whole;
  RestLog log(query, answer);
  if (query.client_left || !open()) co_return Sent::broken;
  auto sent = Sent::result;
  if (answer.rest) {
    const auto length = answer.length();
    const bool complete = co_await complete_reply(query, answer, whole);
    if (query.client_left || !open()) co_return Sent::broken;
    if (!complete) {
      log.broke_off("its answer broke off");
      sent = co_await refuse(1105, "HY000", "the answer of a mirror broke off");
      co_return sent;
    }
    log.sent(static_cast<std::size_t>(length));
  }
  const auto body = whole.empty() ? answer.content() : std::string_view(whole);
  if (answer.status >= 400) {
    sent = co_await refuse(mysql_error(answer.status, reason_in_answer(body)));
  } else {
    if (makes_documents(query.request.body)) last_insert_id_ = query.last_insert_id;
    sent = co_await send_results(body, form, more, query.last_insert_id);
  }
  worker_.loop.buffers.give(std::move(answer.body));
  if (answer.reply) worker_.loop.buffers.give(std::move(answer.reply->bytes));
  co_return sent;
}

/// Reads the rest of an answer that is longer than reply_buffer_size; at most max_packet_size.
Task<bool> MysqlSession::complete_reply(Query& query, Answer& answer, std::string& whole) {
  const auto length = static_cast<std::size_t>(answer.length());
  const bool granted = co_await reserve(worker_.loop, memory_.answer, &memory_, length);
  if (!granted) co_return false;
  whole.reserve(length);
  whole.append(answer.content());
  QueryStop stop(query);
  Buffer piece(worker_.loop.buffers);
  while (answer.rest->unread() > 0) {
    const bool received = co_await answer.rest->next(*piece, stop);
    if (!received) {
      worker_.counters.add(Count::replies_broken_off);
      co_return false;
    }
    whole.append(*piece);
  }
  co_return true;
}

Task<MysqlSession::Sent> MysqlSession::send_results(std::string_view json, MysqlForm form,
                                                    MysqlMore more, std::uint64_t last_insert_id) {
  MysqlResults results(json, {.form = form,
                              .capabilities = capabilities_,
                              .more = more,
                              .last_insert_id = last_insert_id});
  Buffer out(worker_.loop.buffers);
  MysqlWriter packets(*out, sequence_);
  for (bool has_more = true; has_more;) {
    has_more = results.next(packets, kMysqlPiece);
    const bool sent = co_await send_all(*out);
    if (!sent) co_return Sent::broken;
    if (has_more && worker_.loop.turn.over()) {
      co_await worker_.loop.turn.next();
      if (!open()) co_return Sent::broken;
    }
  }
  sequence_ = packets.sequence();
  if (!results.warning().empty()) warning_ = results.warning();
  co_return results.failed() ? Sent::error : Sent::result;
}

}  // namespace karmad
