// The part of MysqlSession that answers commands.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "balancer/mysql/mysql_session.hpp"

namespace karmad {
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

const MysqlError kKilled{1317, "70100", "Query execution was interrupted"};
const MysqlError kUnknownPrepared{1243, "HY000", "Unknown prepared statement handler"};

}  // namespace

Task<bool> MysqlSession::answer_command() {
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
      if (auto* const prepared = find_prepared(MysqlFields(rest).integer(4)))
        prepared->got_long_data = true;
      break;
    case kClosePrepared:  // has no answer
      forget_prepared(MysqlFields(rest).integer(4));
      break;
    case kChangeUser:
      outcome = co_await change_user(rest);
      break;
    case kProcessKill:
      outcome = co_await process_kill(MysqlFields(rest).integer(4));
      break;
    default:
      outcome = co_await simple_command(command, rest);
  }
  co_return outcome != CommandOutcome::broken&& open();
}

/// The commands whose answer is one packet.
Task<MysqlSession::CommandOutcome> MysqlSession::simple_command(unsigned char command,
                                                                std::string_view rest) {
  Buffer out(worker_.loop.buffers);
  MysqlWriter packets(*out, sequence_);
  switch (command) {
    case kInitDatabase:
      state_.database = rest.substr(0, MysqlSessionState::kLongestName);
      write_mysql_ok(packets, {.status = state_.status()});
      break;
    case kPing:
      write_mysql_ok(packets, {.status = state_.status()});
      break;
    case kResetConnection:
      reset_session();
      write_mysql_ok(packets);
      break;
    case kResetPrepared:
      if (auto* const prepared = find_prepared(MysqlFields(rest).integer(4))) {
        prepared->got_long_data = false;
        write_mysql_ok(packets, {.status = state_.status()});
      } else {
        write_mysql_error(packets, kUnknownPrepared);
      }
      break;
    case kSetOption: {
      const auto option = MysqlFields(rest).integer(2);
      if (option == 0) capabilities_ |= mysql_capability::kMultiStatements;
      if (option == 1) capabilities_ &= ~mysql_capability::kMultiStatements;
      write_mysql_end(packets, capabilities_, {.status = state_.status()});
      break;
    }
    case kFieldList:  // of no table are columns known
      write_mysql_end(packets, capabilities_, {.status = state_.status()});
      break;
    case kStatistics:
      packets.begin();
      packets.bytes(fmt::format(
          "Uptime: {}  Threads: {}  Statements: {}",
          std::chrono::duration_cast<std::chrono::seconds>(Loop::now() - worker_.monitoring.started)
              .count(),
          worker_.connections.open.load(std::memory_order_relaxed),
          worker_.counters[Count::mysql_queries]));
      packets.end();
      break;
    default:
      write_mysql_error(packets, {1047, "08S01", fmt::format("unknown command {}", command)});
  }
  const bool sent = co_await send_all(*out);
  co_return sent ? CommandOutcome::answered : CommandOutcome::broken;
}

Task<MysqlSession::CommandOutcome> MysqlSession::query(std::string_view text) {
  decltype(split_statements(text)) statements;
  auto split = [&] { statements = split_statements(text); };
  auto outcome = co_await run_work(text.size(), split);
  const bool allows_several = (capabilities_ & mysql_capability::kMultiStatements) != 0;
  const bool was_split = outcome == CommandOutcome::answered;
  if (was_split && !statements) {
    outcome = co_await refuse(mysql_error(statements.error().status, statements.error().reason));
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

Task<MysqlSession::CommandOutcome> MysqlSession::prepare(std::string_view text) {
  std::expected<MysqlPrepared, MysqlError> prepared;
  const auto has_room = [this](std::size_t size) {
    return prepared_.size() < kMostPrepared && prepared_size_ + size <= kMostPreparedBytes;
  };
  auto outcome = CommandOutcome::answered;
  if (has_room(text.size())) {
    auto read = [&] { prepared = prepare_mysql(text); };
    outcome = co_await run_work(text.size(), read);
    if (outcome != CommandOutcome::answered) co_return outcome;
    if (!prepared) {
      outcome = co_await refuse(prepared.error());
      co_return outcome;
    }
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
  if (!granted) {
    outcome = co_await refuse_for_memory();
    co_return outcome;
  }
  const auto parameters = prepared->places.size();
  const auto id = keep_prepared(*std::move(prepared));
  Buffer out(worker_.loop.buffers);
  MysqlWriter packets(*out, sequence_);
  packets.begin();
  packets.integer(0, 1);
  packets.integer(id, 4);
  packets.integer(0, 2);  // the columns are known when it is executed
  packets.integer(parameters, 2);
  packets.zeros(1);
  packets.integer(0, 2);  // warnings
  packets.end();
  for (std::size_t i = 0; i < parameters; ++i) write_mysql_column(packets, {.name = "?"});
  if (parameters != 0)
    write_mysql_end_of_columns(packets, capabilities_, {.status = state_.status()});
  const bool sent = co_await send_all(*out);
  co_return sent ? CommandOutcome::answered : CommandOutcome::broken;
}

/// Returns the number that the client will name.
std::uint32_t MysqlSession::keep_prepared(MysqlPrepared prepared) {
  while (prepared_.contains(next_prepared_)) ++next_prepared_;
  prepared_size_ += prepared.size();
  prepared_.emplace(next_prepared_, std::move(prepared));
  return next_prepared_++;
}

Task<MysqlSession::CommandOutcome> MysqlSession::execute(std::string_view rest) {
  MysqlFields fields(rest);
  auto* const prepared = find_prepared(fields.integer(4));
  auto outcome = CommandOutcome::answered;
  if (prepared == nullptr) {
    outcome = co_await refuse(kUnknownPrepared);
    co_return outcome;
  }
  const auto size = prepared->text.size() + fields.rest().size();
  MemoryReservation memory;
  const bool granted = co_await reserve(worker_.loop, memory, &memory_, size);
  if (!granted) {
    outcome = co_await refuse_for_memory();
    co_return outcome;
  }
  std::expected<std::string, MysqlError> bound;
  auto bind = [&] {
    bound = bind_mysql(*prepared, fields.rest(), settings().max_packet_size.value);
  };
  outcome = co_await run_work(size, bind);
  if (outcome != CommandOutcome::answered) co_return outcome;
  if (!bound) {
    outcome = co_await refuse(bound.error());
    co_return outcome;
  }
  memory.charge(&memory_, bound->capacity());
  Statement statement;
  statement.sql.text = *bound;
  statement.form = MysqlForm::binary;
  outcome = co_await run_statement(statement);
  co_return outcome;
}

MysqlPrepared* MysqlSession::find_prepared(std::uint64_t id) {
  const auto found = prepared_.find(static_cast<std::uint32_t>(id));
  return found == prepared_.end() ? nullptr : &found->second;
}

void MysqlSession::forget_prepared(std::uint64_t id) {
  const auto found = prepared_.find(static_cast<std::uint32_t>(id));
  if (found == prepared_.end()) return;
  prepared_size_ -= found->second.size();
  prepared_.erase(found);
  memory_.prepared.charge(&memory_, prepared_size_);
}

Task<MysqlSession::CommandOutcome> MysqlSession::change_user(std::string_view rest) {
  auto login = read_mysql_change_user(rest, capabilities_);
  if (!login) {
    co_await refuse(1043, "08S01", "the command to change the user cannot be read");
    co_return CommandOutcome::broken;  // as MySQL: who the client is now would not be clear
  }
  drop_payload();
  reset_session();
  const bool sent = co_await authenticate(*std::move(login));
  co_return sent ? CommandOutcome::answered : CommandOutcome::broken;
}

Task<MysqlSession::CommandOutcome> MysqlSession::process_kill(std::uint64_t id) {
  const auto error = co_await kill_other(id, false);
  auto outcome = CommandOutcome::answered;
  if (error) {
    outcome = co_await refuse(*error);
    co_return outcome;
  }
  Buffer out(worker_.loop.buffers);
  MysqlWriter packets(*out, sequence_);
  write_mysql_ok(packets, {.status = state_.status()});
  const bool sent = co_await send_all(*out);
  co_return sent ? CommandOutcome::answered : CommandOutcome::broken;
}

/// Ends a connection of the same user and address, or its statement. Returns why not.
Task<std::optional<MysqlError>> MysqlSession::kill_other(std::uint64_t id, bool statement_only) {
  if (id == id_) {
    if (!statement_only) ending_ = killed_ = true;
    co_return kKilled;
  }
  Kill kill{.connection = id,
            .statement_only = statement_only,
            .owner = Kill::Owner{.user = user_, .address = client_}};
  const auto outcome = co_await kill_connection(worker_, std::move(kill),
                                                Loop::now() + settings().request_timeout.value);
  if (!outcome) co_return mysql_error(504, "the search for the connection took too long");
  if (*outcome == KillOutcome::unknown)
    co_return MysqlError{1094, "HY000", fmt::format("Unknown thread id: {}", id)};
  if (*outcome == KillOutcome::denied)
    co_return MysqlError{1095, "HY000", fmt::format("You are not owner of thread {}", id)};
  co_return std::nullopt;
}

/// After a query whose answer is not sent: its client has left, or it was killed.
Task<MysqlSession::CommandOutcome> MysqlSession::end_unanswered() {
  if (!statement_killed_ || !open()) co_return CommandOutcome::broken;
  const auto outcome = co_await refuse(kKilled);
  co_return outcome;
}

void MysqlSession::reset_session() {
  prepared_.clear();
  prepared_size_ = 0;
  memory_.prepared.release();
  auto database = std::move(state_.database);
  state_ = MysqlSessionState();
  state_.database = std::move(database);
  sql_session_.reset();
}

}  // namespace karmad
