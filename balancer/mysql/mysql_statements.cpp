// The part of MysqlSession that answers statements.
#include <fmt/format.h>

#include <utility>

#include "balancer/admission/memory_gate.hpp"
#include "balancer/core/refusal.hpp"
#include "balancer/mysql/mysql_session.hpp"
#include "balancer/pipeline/pipeline.hpp"
#include "balancer/pipeline/trace_scope.hpp"

namespace karmad {
namespace {

constexpr std::size_t kMysqlPiece = 64 << 10;  // packets that are sent at once
MysqlResultKind result_kind(StatementKind kind) {
  switch (kind) {
    case StatementKind::select:
      return MysqlResultKind::rows;
    case StatementKind::insert:
    case StatementKind::change:
      return MysqlResultKind::count;
    default:
      return MysqlResultKind::any;
  }
}

/// False for a SELECT whose rows have no LIMIT of their own; those of its facets do not count.
bool has_limit(const StatementText& statement) {
  if (statement.kind != StatementKind::select) return true;
  SqlTokens tokens(statement.text);
  int depth = 0;
  for (auto token = tokens.next(); token.kind != SqlToken::Kind::end; token = tokens.next()) {
    if (token.is_sign('(')) ++depth;
    if (token.is_sign(')')) --depth;
    if (depth == 0 && token.is_word("facet")) return false;
    if (depth == 0 && token.is_word("limit")) return true;
  }
  return false;
}

bool is_change(StatementKind kind) {
  return kind == StatementKind::insert || kind == StatementKind::change;
}

/// Whether a listener with `_readonly` takes it.
bool only_reads(StatementKind kind) {
  using enum StatementKind;
  return kind == select || kind == call || kind == show || kind == session || kind == status ||
         kind == schema;
}

/// What the pipeline knows of a statement in place of the head of a request to `/sql?mode=raw`.
const RequestHead& head_of_statements() {
  static const RequestHead kHead = [] {
    RequestHead head;
    head.method = "POST";
    head.target = "/sql?mode=raw";
    head.path = "/sql";
    head.query = "mode=raw";
    head.fields[head.field_count++] = {"Content-Type", "text/plain"};
    head.names.insert("Content-Type");
    return head;
  }();
  return kHead;
}

}  // namespace

/// Registers the query, so that it ends when its client leaves.
struct MysqlSession::QueryScope {
  QueryScope(MysqlSession& of, Query& query) : session(of) {
    session.query_ = &query;
    session.statement_killed_ = false;
    session.watch_ = std::make_unique<DisconnectWatch>(
        session.worker_.disconnect_watcher, session.worker_.loop, session.socket().native_handle(),
        &session, [](void* of_query) { static_cast<MysqlSession*>(of_query)->on_half_closed(); },
        [](void* of_query) { static_cast<MysqlSession*>(of_query)->on_client_left(); });
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
          .database = state_.database,
          .warning = state_.warning ? &*state_.warning : nullptr,
          .variables = &state_.variables,
          .last_insert_id = state_.last_insert_id,
          .max_packet_size = settings().max_packet_size.value,
          .idle_seconds = static_cast<std::uint64_t>(
              std::chrono::duration_cast<std::chrono::seconds>(settings().client_timeout.value)
                  .count()),
          .read_only = read_only_};
}

Task<MysqlSession::CommandOutcome> MysqlSession::refuse(std::uint16_t code, std::string_view state,
                                                        std::string text) {
  const bool sent = co_await send_error(code, state, std::move(text), sequence_);
  co_return sent ? CommandOutcome::failed : CommandOutcome::broken;
}

Task<MysqlSession::CommandOutcome> MysqlSession::refuse(const MysqlError& error) {
  return refuse(error.code, error.state, error.text);
}

/// The answer to a request that was denied memory.
Task<MysqlSession::CommandOutcome> MysqlSession::refuse_for_memory() {
  const auto why = memory_refusal(worker_.limits.memory, memory_.denial(), true);
  memory_.forgive();
  const auto outcome = co_await refuse(mysql_error(why.status, reason_in_answer(why.body)));
  co_return outcome;
}

Task<MysqlSession::CommandOutcome> MysqlSession::refuse_long_work(HelperPool::End end) {
  if (end == HelperPool::End::refused) {
    const auto why = too_much_long_work();
    const auto outcome = co_await refuse(mysql_error(why.status, why.reason));
    co_return outcome;
  }
  const auto outcome =
      co_await refuse(mysql_error(504, "request_timeout has passed before its long work was done"));
  co_return outcome;
}

Task<MysqlSession::CommandOutcome> MysqlSession::run_statement(Statement& statement) {
  std::optional<MysqlLocalAnswer> local;
  auto read = [&] {
    statement.sql.kind = kind_of_statement(statement.sql.text);
    statement.sql.place.encoded = statement.sql.text;
    local = answer_locally(statement.sql, facts());
    const auto most = state_.variables.number("sql_select_limit");
    if (most && !local && !has_limit(statement.sql)) statement.most_rows = *most;
  };
  auto outcome = co_await run_work(statement.sql.text.size(), read);
  if (outcome != CommandOutcome::answered) co_return outcome;
  if (local) {
    outcome = co_await run_locally(statement, *std::move(local));
  } else if (statement.sql.kind == StatementKind::empty) {
    outcome = co_await refuse(1065, "42000", "Query was empty");
  } else if ((read_only_ || state_.read_only()) && !only_reads(statement.sql.kind)) {
    outcome = co_await refuse_change();
  } else {
    if (statement.sql.kind != StatementKind::schema) state_.warning.reset();
    outcome = co_await pass_statement(statement);
  }
  co_return outcome;
}

Task<MysqlSession::CommandOutcome> MysqlSession::refuse_change() {
  if (read_only_)
    return refuse(1290, "HY000",
                  "this listener has _readonly: statements that change data are refused");
  return refuse(1792, "25006", "Cannot execute statement in a READ ONLY transaction");
}

Task<MysqlSession::CommandOutcome> MysqlSession::run_locally(const Statement& statement,
                                                             MysqlLocalAnswer local) {
  auto outcome = CommandOutcome::answered;
  if (auto* const error = std::get_if<MysqlError>(&local.answer)) {
    outcome = co_await refuse(*error);
    co_return outcome;
  }
  std::vector<ResultSet> sets(1);  // without columns: OK
  if (auto* const rows = std::get_if<ResultSet>(&local.answer)) sets.front() = std::move(*rows);
  std::uint16_t warnings = 0;
  if (const auto* const session = std::get_if<SessionStatement>(&local.answer)) {
    if (session->is == SessionStatement::Is::kill) {
      const auto error = co_await kill_other(session->connection, session->statement_only);
      if (error) {
        outcome = co_await refuse(*error);
        co_return outcome;
      }
    }
    const auto done = state_.carry_out(*session, facts());
    if (!done) {
      outcome = co_await refuse(done.error());
      co_return outcome;
    }
    warnings = *done;
  }
  auto options = options_for(statement);
  options.warnings = warnings;
  MysqlResults results(std::move(sets), options);
  outcome = co_await send_results(results);
  co_return outcome;
}

/// Passes the statement through the pipeline as a request to `/sql?mode=raw`.
Task<MysqlSession::CommandOutcome> MysqlSession::pass_statement(const Statement& statement) {
  const auto& head = head_of_statements();
  worker_.counters.add(Count::requests);
  auto outcome = CommandOutcome::answered;
  const auto refused = refuse_on_head({worker_, *settings_, head, address_, memory_, true});
  if (refused) {
    log_refused(worker_, settings(),
                {.head = &head, .client = client_, .id = {}, .bytes_in = statement.sql.text.size()},
                refused->answer);
    outcome = co_await refuse(
        mysql_error(refused->answer.status, reason_in_answer(refused->answer.body)));
    co_return outcome;
  }
  Query query(worker_, *settings_, head, statement.sql.text, client_);
  auto list = std::make_shared<StatementList>();
  list->statements.push_back(statement.sql);
  query.statements = std::make_shared<const FoundStatements>(FoundStatements{
      query.request.path, query.request.query, query.request.body, std::move(list)});
  query.memory = &memory_;
  query.admissions = &low_admissions_;
  query.sql_session = &sql_session_;
  SchemaFacts schema;
  if (statement.sql.kind == StatementKind::schema) schema = schema_facts(facts());
  query.schema_facts = &schema;
  query.request.rows_only = true;
  query.takes_rows = true;
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
  outcome = co_await answer_statement(statement, query, answer);
  co_return outcome;
}

Task<MysqlSession::CommandOutcome> MysqlSession::answer_statement(const Statement& statement,
                                                                  Query& query, Answer& answer) {
  std::string whole;
  MemoryReservation memory;
  RestLog log(query, answer);
  auto outcome = CommandOutcome::answered;
  if (query.client_left || !open()) {
    if (is_change(statement.sql.kind)) state_.note_change();
    outcome = co_await end_unanswered();
    co_return outcome;
  }
  if (answer.rest) {
    const auto length = answer.length();
    const bool complete = co_await complete_reply(query, answer, whole, memory);
    if (query.client_left || !open()) {
      outcome = co_await end_unanswered();
      co_return outcome;
    }
    if (!complete) {
      log.broke_off("its answer broke off");
      if (memory_.denied()) {
        outcome = co_await refuse_for_memory();
      } else {
        outcome = co_await refuse(1105, "HY000", "the answer of a mirror broke off");
      }
      co_return outcome;
    }
    log.sent(static_cast<std::size_t>(length));
  }
  const auto body = whole.empty() ? answer.content() : std::string_view(whole);
  if (answer.status >= 400) {
    if (answer.status >= 500 && is_change(statement.sql.kind)) state_.note_change();
    outcome = co_await refuse(mysql_error(answer.status, reason_in_answer(body)));
  } else if (answer.rows != nullptr) {
    MysqlResults results(std::move(answer.rows->sets), options_for(statement, query));
    outcome = co_await send_results(results);
  } else {
    if (statement.sql.kind == StatementKind::insert) state_.last_insert_id = query.last_insert_id;
    outcome = co_await read_results(statement, body, query);
  }
  worker_.loop.buffers.give(std::move(answer.body));
  if (answer.reply) worker_.loop.buffers.give(std::move(answer.reply->bytes));
  co_return outcome;
}

/// Reads the rest of an answer that is longer than reply_buffer_size. `memory`: that of `whole`.
Task<bool> MysqlSession::complete_reply(Query& query, Answer& answer, std::string& whole,
                                        MemoryReservation& memory) {
  const auto length = static_cast<std::size_t>(answer.length());
  const bool granted = co_await reserve(worker_.loop, memory, &memory_, length);
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

MysqlResults::Options MysqlSession::options_for(const Statement& statement,
                                                const Query& query) const {
  auto options = options_for(statement);
  options.last_insert_id = query.last_insert_id;
  if (const auto* const read = std::get_if<ReadStatement>(&query.parsed.what))
    options.spelled = aliases_with_capitals(**read);
  return options;
}

MysqlResults::Options MysqlSession::options_for(const Statement& statement) const {
  return {.form = statement.form,
          .capabilities = capabilities_,
          .status = state_.status(),
          .has_more = statement.has_more,
          .most_rows = statement.most_rows,
          .kind = result_kind(statement.sql.kind)};
}

/// Sends the result sets of an answer to `/sql?mode=raw`.
Task<MysqlSession::CommandOutcome> MysqlSession::read_results(const Statement& statement,
                                                              std::string_view json,
                                                              const Query& query) {
  std::optional<MysqlResults> results;
  const auto options = options_for(statement, query);
  auto read = [&] { results.emplace(json, options); };
  auto outcome = co_await run_work(json.size(), read);
  if (outcome == CommandOutcome::answered) outcome = co_await send_results(*results);
  const bool changes = results && is_change(statement.sql.kind);
  if (changes && (results->error() != nullptr || results->affected() > 0)) state_.note_change();
  co_return outcome;
}

Task<MysqlSession::CommandOutcome> MysqlSession::send_results(MysqlResults& results) {
  Buffer out(worker_.loop.buffers);
  MysqlWriter packets(*out, sequence_);
  MemoryReservation memory;
  for (bool has_more = true; has_more;) {
    has_more = results.next(packets, kMysqlPiece);
    memory.charge(&memory_, results.copied() + out->capacity());
    const bool sent = co_await send_all(*out);
    if (!sent) co_return CommandOutcome::broken;
    if (has_more && worker_.loop.turn.over()) {
      co_await worker_.loop.turn.next();
      if (!open()) co_return CommandOutcome::broken;
    }
  }
  sequence_ = packets.sequence();
  if (!results.warning().empty()) state_.warning = {.text = results.warning()};
  if (results.error() == nullptr) co_return CommandOutcome::answered;
  log_cut(*results.error());
  co_return CommandOutcome::failed;
}

}  // namespace karmad
