// The part of Session that answers commands, and their statements.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/dialect/fronts/sql/foreign_forms.hpp"
#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "balancer/admission/request_gate.hpp"
#include "balancer/core/ask_workers.hpp"
#include "balancer/core/refusal.hpp"
#include "balancer/mysql/mysql_session.hpp"
#include "balancer/pipeline/pipeline.hpp"
#include "balancer/pipeline/trace_scope.hpp"

namespace karmad::mysql {
namespace {

enum Command : unsigned char {
  kQuit = 0x01,
  kInitDatabase = 0x02,
  kQuery = 0x03,
  kFieldList = 0x04,
  kStatistics = 0x09,
  kProcessKill = 0x0c,
  kPing = 0x0e,
  kChangeUser = 0x11,
  kPrepare = 0x16,
  kExecute = 0x17,
  kSendLongData = 0x18,
  kClosePrepared = 0x19,
  kResetPrepared = 0x1a,
  kSetOption = 0x1b,
  kResetConnection = 0x1f,
};

constexpr std::size_t kMostPrepared = 16'382;        // default of MySQL for a whole server
constexpr std::size_t kMostPreparedBytes = 4 << 20;  // of a connection

const Error kKilled{1317, "70100", "Query execution was interrupted"};
const Error kUnknownPrepared{1243, "HY000", "Unknown prepared statement handler"};

constexpr std::size_t kPiece = 64 << 10;  // packets that are sent at once

bool is_change(const sql::StatementText& statement) {
  return statement.ticket_class() == TicketClass::update;
}

ResultKind result_kind(const sql::StatementText& statement) {
  if (statement.kind == sql::StatementKind::select) return ResultKind::rows;
  return is_change(statement) ? ResultKind::count : ResultKind::any;
}

/// Whether a listener with `_readonly` takes it.
bool only_reads(sql::StatementKind kind) {
  using enum sql::StatementKind;
  return kind == select || kind == call || kind == show || kind == session || kind == status ||
         kind == schema;
}

/// How a statement is sent to mirrors, and written to the access log.
constexpr RequestLine kStatementLine{.method = "POST", .path = "/sql", .query = "mode=raw"};

}  // namespace

Task<bool> Session::answer_command() {
  std::string_view command_bytes;
  auto join = [&] { command_bytes = payload(); };
  const auto joined = co_await run_work(framing_.packets == 1 ? 0 : in_.size(), join);
  if (joined != CommandOutcome::answered) co_return false;
  worker_.counters.add(Count::bytes_in, command_bytes.size());
  if (command_bytes.empty()) {
    const auto outcome = co_await refuse(1047, "08S01", "an empty command");
    co_return outcome != CommandOutcome::broken;
  }
  const auto command = static_cast<unsigned char>(command_bytes.front());
  const auto rest = command_bytes.substr(1);
  auto outcome = CommandOutcome::answered;
  switch (command) {
    case kQuit:
      co_return false;
    case kQuery:
      outcome = co_await query(rest);
      break;
    case kPrepare:
      worker_.counters.add(Count::mysql_prepares);
      outcome = co_await prepare(rest);
      if (outcome == CommandOutcome::failed) worker_.counters.add(Count::mysql_prepare_errors);
      break;
    case kExecute:
      worker_.counters.add(Count::mysql_executes);
      outcome = co_await execute(rest);
      if (outcome == CommandOutcome::failed) worker_.counters.add(Count::mysql_execute_errors);
      break;
    case kSendLongData:  // has no answer
      if (auto* const prepared = find_prepared(Fields(rest).integer(4)))
        prepared->got_long_data = true;
      break;
    case kClosePrepared:  // has no answer
      forget_prepared(Fields(rest).integer(4));
      break;
    case kChangeUser:
      outcome = co_await change_user(rest);
      break;
    case kProcessKill: {
      LocalAnswer kill{sql::SessionStatement{.is = sql::SessionStatement::Is::kill,
                                             .connection = Fields(rest).integer(4)}};
      const Statement none;  // by a name: g++ 12 copies `{}` within a co_await bit by bit
      outcome = co_await run_locally(none, std::move(kill));
      break;
    }
    default:
      outcome = co_await simple_command(command, rest);
  }
  co_return outcome != CommandOutcome::broken&& open();
}

/// The commands whose answer is one packet.
Task<Session::CommandOutcome> Session::simple_command(unsigned char command,
                                                      std::string_view rest) {
  Buffer out(worker_.loop.buffers);
  Writer packets(*out, sequence_);
  switch (command) {
    case kInitDatabase:
      state_.database = rest.substr(0, SessionState::kLongestName);
      [[fallthrough]];
    case kPing:
      write_ok(packets, {.status = state_.status()});
      break;
    case kResetConnection:
      reset_session();
      write_ok(packets);
      break;
    case kResetPrepared:
      if (auto* const prepared = find_prepared(Fields(rest).integer(4))) {
        prepared->got_long_data = false;
        write_ok(packets, {.status = state_.status()});
      } else {
        write_error(packets, kUnknownPrepared);
      }
      break;
    case kSetOption: {
      Fields fields(rest);
      const auto option = fields.integer(2);
      if (!fields.ok() || option > 1) {
        write_error(packets, {1047, "08S01", "unknown option"});
        break;
      }
      capabilities_ &= ~capability::kMultiStatements;
      if (option == 0) capabilities_ |= capability::kMultiStatements;
      [[fallthrough]];
    }
    case kFieldList:  // of no table are columns known
      write_end(packets, capabilities_, {.status = state_.status()});
      break;
    case kStatistics:
      packets.begin();
      packets.bytes(fmt::format(
          "Uptime: {}  Threads: {}  Statements: {}",
          std::chrono::duration_cast<std::chrono::seconds>(Loop::now() - worker_.monitoring.started)
              .count(),
          worker_.connections.open.load(std::memory_order_relaxed),
          worker_.total(Count::mysql_queries)));
      packets.end();
      break;
    default:
      write_error(packets, {1047, "08S01", fmt::format("unknown command {}", command)});
  }
  const bool sent = co_await send_all(*out);
  co_return sent ? CommandOutcome::answered : CommandOutcome::broken;
}

Task<Session::CommandOutcome> Session::query(std::string_view text) {
  decltype(sql::split_statements(text)) statements;
  auto split = [&] { statements = sql::split_statements(text); };
  auto outcome = co_await run_work(text.size(), split);
  const bool allows_several = (capabilities_ & capability::kMultiStatements) != 0;
  const bool was_split = outcome == CommandOutcome::answered;
  if (was_split && !statements) {
    outcome =
        co_await refuse(error_of_answer(statements.error().status, statements.error().reason));
  } else if (was_split && statements->empty()) {
    outcome = co_await refuse(1065, "42000", "Query was empty");
  } else if (was_split && statements->size() > 1 && !allows_several) {
    outcome = co_await refuse(1064, "42000",
                              "several statements, which the client has not asked to be allowed "
                              "(CLIENT_MULTI_STATEMENTS)");
  }
  if (outcome != CommandOutcome::answered) worker_.counters.add(Count::mysql_query_errors);
  if (outcome != CommandOutcome::answered) co_return outcome;
  for (std::size_t i = 0; i < statements->size() && outcome == CommandOutcome::answered; ++i) {
    worker_.counters.add(Count::mysql_queries);
    Statement statement;
    statement.sql.text = (*statements)[i];
    statement.has_more = i + 1 < statements->size();
    outcome = co_await run_statement(statement);
    if (outcome == CommandOutcome::failed) worker_.counters.add(Count::mysql_query_errors);
  }
  co_return outcome;
}

Task<Session::CommandOutcome> Session::prepare(std::string_view text) {
  std::expected<PreparedStatement, Error> prepared;
  const auto has_room = [this](std::size_t size) {
    return prepared_.size() < kMostPrepared && prepared_size_ + size <= kMostPreparedBytes;
  };
  auto outcome = CommandOutcome::answered;
  if (has_room(text.size())) {
    auto read = [&] { prepared = prepare_statement(text); };
    outcome = co_await run_work(text.size(), read);
    if (outcome != CommandOutcome::answered) co_return outcome;
    if (!prepared) co_return co_await refuse(prepared.error());
  }
  const auto size = prepared->size();
  if (!has_room(std::max(text.size(), size))) {
    outcome = co_await refuse(
        1461, "42000",
        fmt::format("the connection has more than {} prepared statements, or {} bytes of them; "
                    "close some",
                    kMostPrepared, kMostPreparedBytes));
    co_return outcome;
  }
  const bool granted =
      co_await reserve(worker_.loop, memory_.prepared, &memory_, prepared_size_ + size);
  if (!granted) co_return co_await refuse_for_memory();
  const auto parameters = prepared->places.size();
  while (prepared_.contains(next_prepared_)) ++next_prepared_;
  const auto id = next_prepared_++;
  prepared_size_ += size;
  prepared_.emplace(id, *std::move(prepared));
  Buffer out(worker_.loop.buffers);
  Writer packets(*out, sequence_);
  packets.begin();
  packets.integer(0, 1);
  packets.integer(id, 4);
  packets.integer(0, 2);  // the columns are known when it is executed
  packets.integer(parameters, 2);
  packets.zeros(1);
  packets.integer(0, 2);  // warnings
  packets.end();
  for (std::size_t i = 0; i < parameters; ++i) write_column(packets, {.name = "?"});
  if (parameters != 0) write_end_of_columns(packets, capabilities_, {.status = state_.status()});
  const bool sent = co_await send_all(*out);
  co_return sent ? CommandOutcome::answered : CommandOutcome::broken;
}

Task<Session::CommandOutcome> Session::execute(std::string_view rest) {
  Fields fields(rest);
  auto* const prepared = find_prepared(fields.integer(4));
  if (prepared == nullptr) co_return co_await refuse(kUnknownPrepared);
  const auto size = prepared->text.size() + fields.rest().size();
  MemoryReservation memory;
  const bool granted = co_await reserve(worker_.loop, memory, &memory_, size);
  if (!granted) co_return co_await refuse_for_memory();
  std::expected<std::string, Error> bound;
  auto bind = [&] {
    bound = bind_values(*prepared, fields.rest(), settings().max_packet_size.value);
  };
  const auto outcome = co_await run_work(size, bind);
  if (outcome != CommandOutcome::answered) co_return outcome;
  if (!bound) co_return co_await refuse(bound.error());
  memory.charge(&memory_, bound->capacity());
  Statement statement;
  statement.sql.text = *bound;
  statement.form = Form::binary;
  co_return co_await run_statement(statement);
}

PreparedStatement* Session::find_prepared(std::uint64_t id) {
  const auto found = prepared_.find(static_cast<std::uint32_t>(id));
  return found == prepared_.end() ? nullptr : &found->second;
}

void Session::forget_prepared(std::uint64_t id) {
  const auto* const found = find_prepared(id);
  if (found == nullptr) return;
  prepared_size_ -= found->size();
  prepared_.erase(static_cast<std::uint32_t>(id));
  memory_.prepared.charge(&memory_, prepared_size_);
}

Task<Session::CommandOutcome> Session::change_user(std::string_view rest) {
  auto login = read_change_user(rest, capabilities_);
  if (!login) {
    co_await refuse(1043, "08S01", "the command to change the user cannot be read");
    co_return CommandOutcome::broken;  // as MySQL: who the client is now would not be clear
  }
  drop_payload();
  reset_session();
  const bool sent = co_await authenticate(*std::move(login));
  co_return sent ? CommandOutcome::answered : CommandOutcome::broken;
}

/// Ends a connection of the same user and address, or its statement. Returns why not.
Task<std::optional<Error>> Session::kill_other(std::uint64_t id, bool statement_only) {
  if (id == id_) {
    if (!statement_only) ending_ = killed_ = true;
    co_return kKilled;
  }
  Kill kill{.connection = id,
            .statement_only = statement_only,
            .owner = ClientOwner{.user = user_, .address = client_}};
  const auto outcome = co_await kill_connection(worker_, std::move(kill),
                                                Loop::now() + settings().request_timeout.value);
  if (!outcome) co_return error_of_answer(504, "the search for the connection took too long");
  if (*outcome == KillOutcome::unknown)
    co_return Error{1094, "HY000", fmt::format("Unknown thread id: {}", id)};
  if (*outcome == KillOutcome::denied)
    co_return Error{1095, "HY000", fmt::format("You are not owner of thread {}", id)};
  co_return std::nullopt;
}

/// After a query whose answer is not sent: its client has left, or it was killed.
Task<Session::CommandOutcome> Session::end_unanswered() {
  if (!running_->killed || !open()) co_return CommandOutcome::broken;
  co_return co_await refuse(kKilled);
}

void Session::reset_session() {
  prepared_.clear();
  prepared_size_ = 0;
  memory_.prepared.release();
  auto database = std::move(state_.database);
  state_ = SessionState();
  state_.database = std::move(database);
  sql_session_.reset();
}

// ---- statements

Session::RunningStatement::RunningStatement(Session& of, Query& passing, const Statement& is)
    : session(of), query(passing), text(is.sql.text) {
  session.running_ = this;
  session.query_ = &query;
  watch.emplace(session);
}

ConnectionFacts Session::facts() const {
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
          .read_only = read_only_,
          .offers_tls = settings_->client_tls != nullptr};
}

Task<Session::CommandOutcome> Session::refuse(std::uint16_t code, std::string_view state,
                                              std::string text) {
  const bool sent = co_await send_error(code, state, std::move(text), sequence_);
  co_return sent ? CommandOutcome::failed : CommandOutcome::broken;
}

Task<Session::CommandOutcome> Session::refuse(const Error& error) {
  return refuse(error.code, error.state, error.text);
}

/// The answer to a request that was denied memory.
Task<Session::CommandOutcome> Session::refuse_for_memory() {
  const auto why = memory_refusal(worker_.limits.memory, memory_.denial(), true);
  memory_.forgive();
  co_return co_await refuse(error_of_answer(why.status, reason_in_answer(why.body)));
}

Task<Session::CommandOutcome> Session::refuse_long_work(ThreadPool::End end) {
  if (end == ThreadPool::End::refused) {
    const auto why = too_much_long_work();
    co_return co_await refuse(error_of_answer(why.status, why.reason));
  }
  co_return co_await refuse(
      error_of_answer(504, "request_timeout has passed before its long work was done"));
}

Task<Session::CommandOutcome> Session::run_statement(Statement& statement) {
  std::optional<LocalAnswer> local;
  auto read = [&] {
    statement.sql.kind = sql::kind_of_statement(statement.sql.text);
    const auto most = state_.variables.number("sql_select_limit");
    if (most && statement.sql.kind == sql::StatementKind::select) {
      statement.limited = sql::with_limit(statement.sql.text, *most);
      statement.sql.text = statement.limited;
    }
    statement.sql.place.encoded = statement.sql.text;
    local = answer_locally(statement.sql, facts());
  };
  auto outcome = co_await run_work(statement.sql.text.size(), read);
  if (outcome != CommandOutcome::answered) co_return outcome;
  if (local) {
    outcome = co_await run_locally(statement, *std::move(local));
  } else if (statement.sql.kind == sql::StatementKind::empty) {
    outcome = co_await refuse(1065, "42000", "Query was empty");
  } else if ((read_only_ || state_.read_only()) && !only_reads(statement.sql.kind)) {
    outcome = co_await refuse_change();
  } else {
    const auto kind = statement.sql.kind;
    if (kind != sql::StatementKind::schema && kind != sql::StatementKind::session)  // SHOW META
      state_.warning.reset();
    outcome = co_await pass_statement(statement);
  }
  co_return outcome;
}

Task<Session::CommandOutcome> Session::refuse_change() {
  if (read_only_)
    return refuse(1290, "HY000",
                  "this listener has _readonly: statements that change data are refused");
  return refuse(1792, "25006", "Cannot execute statement in a READ ONLY transaction");
}

Task<Session::CommandOutcome> Session::run_locally(const Statement& statement, LocalAnswer local) {
  if (auto* const error = std::get_if<Error>(&local)) co_return co_await refuse(*error);
  std::vector<ResultSet> sets(1);  // without columns: OK
  if (auto* const rows = std::get_if<ResultSet>(&local)) sets.front() = std::move(*rows);
  std::uint16_t warnings = 0;
  if (const auto* const session = std::get_if<sql::SessionStatement>(&local)) {
    if (session->is == sql::SessionStatement::Is::kill) {
      const auto error = co_await kill_other(session->connection, session->statement_only);
      if (error) co_return co_await refuse(*error);
    }
    const auto done = state_.carry_out(*session, facts());
    if (!done) co_return co_await refuse(done.error());
    warnings = *done;
  }
  auto options = options_for(statement);
  options.warnings = warnings;
  Results results(std::move(sets), options);
  co_return co_await send_results(results);
}

/// Passes the statement through the pipeline as a request to `/sql?mode=raw`.
Task<Session::CommandOutcome> Session::pass_statement(const Statement& statement) {
  worker_.counters.add(Count::requests);
  const auto over = settings_->limits_requests
                        ? over_rate(worker_, *settings_, kNoFields, false, address_)
                        : std::nullopt;
  if (over) {
    const auto answer = too_many_requests(worker_, *over);
    log_refused(worker_, settings(),
                {.line = kStatementLine, .client = client_, .bytes_in = statement.sql.text.size()},
                answer);
    co_return co_await refuse(error_of_answer(answer.status, reason_in_answer(answer.body)));
  }
  Query query(worker_, *settings_, kStatementLine, kNoFields, statement.sql.text, client_);
  query.request.content_type = "text/plain";
  auto list = std::make_shared<sql::StatementList>();
  list->statements.push_back(statement.sql);
  query.request.statements = std::make_shared<const FoundStatements>(FoundStatements{
      query.request.path, query.request.query, query.request.body, std::move(list)});
  query.resources.memory = &memory_;
  query.client.admissions = &low_admissions_;
  query.client.sql_session = &sql_session_;
  SchemaFacts schema;
  if (statement.sql.kind == sql::StatementKind::schema) schema = schema_facts(facts());
  query.client.schema_facts = &schema;
  query.client.is_told = is_told_;
  query.request.rows_only = true;
  query.client.takes_rows = true;
  open_trace(query);
  const RunningStatement running(*this, query, statement);
  auto asked = pass_pipeline(query);
  auto& answer = co_await asked;
  if (memory_.denied() && !query.client.left) {
    const auto why = memory_.denial();
    memory_.forgive();
    worker_.counters.add(Count::queries_failed);
    answer = memory_refusal(worker_.limits.memory, why, query.request.parsed.read);
  }
  close_trace(query, answer);
  co_return co_await answer_statement(statement, query, answer);
}

Task<Session::CommandOutcome> Session::answer_statement(const Statement& statement, Query& query,
                                                        Answer& answer) {
  std::string whole;
  MemoryReservation memory;
  RestLog log(query, answer);
  auto outcome = CommandOutcome::answered;
  if (query.client.left || !open()) {
    if (is_change(statement.sql)) state_.note_change();
    co_return co_await end_unanswered();
  }
  if (answer.rest) {
    const auto length = answer.length();
    const bool complete = co_await complete_reply(query, answer, whole, memory);
    if (query.client.left || !open()) co_return co_await end_unanswered();
    if (!complete) {
      log.broke_off("its answer broke off");
      if (memory_.denied()) co_return co_await refuse_for_memory();
      co_return co_await refuse(1105, "HY000", "the answer of a mirror broke off");
    }
    log.sent(static_cast<std::size_t>(length));
    log.complete();
  }
  const auto body = whole.empty() ? answer.content() : std::string_view(whole);
  if (answer.status >= 400) {
    if (answer.status >= 500 && is_change(statement.sql)) state_.note_change();
    outcome = co_await refuse(error_of_answer(answer.status, reason_in_answer(body)));
  } else if (answer.rows != nullptr) {
    Results results(std::move(answer.rows->sets), options_for(statement, &query));
    outcome = co_await send_results(results);
  } else {
    if (statement.sql.kind == sql::StatementKind::insert)
      state_.last_insert_id = query.record.last_insert_id;
    outcome = co_await read_results(statement, body, query);
  }
  worker_.loop.buffers.give(std::move(answer.body));
  if (answer.reply) worker_.loop.buffers.give(std::move(answer.reply->bytes));
  co_return outcome;
}

/// Reads the rest of an answer that is longer than reply_buffer_size. `memory`: that of `whole`.
Task<bool> Session::complete_reply(Query& query, Answer& answer, std::string& whole,
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

Results::Options Session::options_for(const Statement& statement, const Query* query) const {
  Results::Options options{.form = statement.form,
                           .capabilities = capabilities_,
                           .status = state_.status(),
                           .has_more = statement.has_more,
                           .kind = result_kind(statement.sql)};
  if (query == nullptr) return options;
  options.last_insert_id = query->record.last_insert_id;
  if (const auto* const read = std::get_if<ReadStatement>(&query->request.parsed.what))
    options.spelled = sql::aliases_with_capitals(**read);
  return options;
}

/// Sends the result sets of an answer to `/sql?mode=raw`.
Task<Session::CommandOutcome> Session::read_results(const Statement& statement,
                                                    std::string_view json, const Query& query) {
  std::optional<Results> results;
  const auto options = options_for(statement, &query);
  auto read = [&] { results.emplace(json, options); };
  auto outcome = co_await run_work(json.size(), read);
  if (outcome == CommandOutcome::answered) outcome = co_await send_results(*results);
  const bool changes = results && is_change(statement.sql);
  if (changes && (results->error() != nullptr || results->affected() > 0)) state_.note_change();
  co_return outcome;
}

Task<Session::CommandOutcome> Session::send_results(Results& results) {
  Buffer out(worker_.loop.buffers);
  Writer packets(*out, sequence_);
  MemoryReservation memory;
  for (bool has_more = true; has_more;) {
    if (running_ != nullptr && running_->killed) results.interrupt(kKilled);
    has_more = results.next(packets, kPiece);
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

}  // namespace karmad::mysql
