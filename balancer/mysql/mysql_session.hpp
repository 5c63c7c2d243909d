#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/request/sql_statement.hpp"
#include "agent/transport/http/wire_protocol.hpp"
#include "balancer/core/client_connection.hpp"
#include "balancer/core/long_work.hpp"
#include "balancer/core/query.hpp"
#include "balancer/mysql/messages.hpp"
#include "balancer/mysql/results.hpp"
#include "balancer/mysql/session_state.hpp"

namespace karmad::mysql {

/// The bytes that tell a new MySQL client why its connection is refused.
std::string refusal_bytes(std::string_view reason);

/// A connection of a client that speaks the MySQL protocol: handshake, then one command after the
/// other. A statement passes the same pipeline as a request to `/sql?mode=raw` with the statement
/// as its body, and counts as one. While idle it needs memory only for itself, its prepared
/// statements and a small coroutine frame. Docs: docs/mysql.md.
class Session final : public ClientConnection {
 public:
  Session(Worker& worker, Socket socket, ClientAddress client, const ListenerKind& listener);

  void start();
  void abandon() override;
  KillOutcome kill(const Kill& kill) override;
  void list(ProcessList& list) override;

 private:
  /// What became of a command or a statement.
  enum class CommandOutcome : std::uint8_t {
    answered,
    failed,  ///< an error packet was sent; the connection continues
    broken   ///< the connection has to end
  };

  /// A statement to be answered.
  struct Statement {
    sql::StatementText sql;
    Form form = Form::text;
    bool has_more = false;  ///< further statements of the same command follow
    std::string limited;    ///< the text with the LIMIT of sql_select_limit
  };

  /// A statement that passes the pipeline, until its answer was sent: it ends when its client
  /// leaves.
  struct RunningStatement {
    RunningStatement(Session& of, Query& passing, const Statement& is);
    RunningStatement& operator=(RunningStatement&&) = delete;
    ~RunningStatement() {
      session.running_ = nullptr;
      session.query_ = nullptr;
    }

    Session& session;
    Query& query;
    const std::string_view text;
    bool killed = false;
    std::optional<Watch> watch;
  };

  /// The memory of the current command and of the prepared statements.
  struct Memory final : MemoryHolder {
    explicit Memory(Session& of) : MemoryHolder(of.worker_.loop.memory), session(of) {}
    void on_denied(MemoryDenial why) override;
    bool idle() const override { return session.phase_ == Phase::idle; }
    void release_command() {
      command.release();
      forgive();
    }
    Session& session;
    MemoryReservation command;
    MemoryReservation prepared;
  };

  static Background run(boost::intrusive_ptr<Session> self);
  Task<void> serve();
  // Reading and writing.
  std::string_view payload();
  void drop_payload();
  void log_cut(const Error& error);
  Task<bool> receive(std::uint8_t sequence);
  Task<bool> read_more(std::size_t whole);
  Task<bool> send_all(std::string& out);
  // The fields of an error one by one: g++ 12 destroys an aggregate made within a co_await twice.
  Task<bool> send_error(std::uint16_t code, std::string_view state, std::string text,
                        std::uint8_t sequence);
  Task<void> send_final_error(std::uint8_t sequence);
  Task<void> linger();
  // The handshake.
  Task<bool> refuse_protocol(WireProtocol spoken);
  Task<bool> shake_hands();
  bool needs_auth() const { return settings().auth_of(listener_) != nullptr; }
  Task<bool> authenticate(Login login);
  Task<bool> ask_for_proof(std::string_view plugin, std::string_view salt);
  Task<bool> verify_password();
  std::string new_salt();
  // Commands.
  Task<bool> answer_command();
  Task<CommandOutcome> simple_command(unsigned char command, std::string_view rest);
  Task<CommandOutcome> query(std::string_view text);
  Task<CommandOutcome> prepare(std::string_view text);
  Task<CommandOutcome> execute(std::string_view rest);
  /// Calls `work`, which is about so many bytes; on a helper thread if they are many.
  template <class Work>
  Task<CommandOutcome> run_work(std::size_t bytes, Work& work);
  Task<CommandOutcome> run_statement(Statement& statement);
  Task<CommandOutcome> refuse_change();
  Task<CommandOutcome> run_locally(const Statement& statement, LocalAnswer local);
  Task<CommandOutcome> pass_statement(const Statement& statement);
  Task<CommandOutcome> answer_statement(const Statement& statement, Query& query, Answer& answer);
  Task<bool> complete_reply(Query& query, Answer& answer, std::string& whole,
                            MemoryReservation& memory);
  Results::Options options_for(const Statement& statement, const Query* query = nullptr) const;
  Task<CommandOutcome> read_results(const Statement& statement, std::string_view json,
                                    const Query& query);
  Task<CommandOutcome> send_results(Results& results);
  Task<CommandOutcome> refuse_for_memory();
  Task<CommandOutcome> refuse_long_work(ThreadPool::End end);
  Task<CommandOutcome> refuse(std::uint16_t code, std::string_view state, std::string text);
  Task<CommandOutcome> refuse(const Error& error);
  ConnectionFacts facts() const;
  PreparedStatement* find_prepared(std::uint64_t id);
  void forget_prepared(std::uint64_t id);
  Task<CommandOutcome> change_user(std::string_view rest);
  Task<std::optional<Error>> kill_other(std::uint64_t id, bool statement_only);
  Task<CommandOutcome> end_unanswered();
  void reset_session();

  void end_for_memory() override;
  void break_off() override;
  void ask_whether_there() override;
  void phase_timed_out() override;
  Micros longest_idle() const;
  std::string host_and_port();

  const bool read_only_;
  const ListenerKind listener_;
  const std::uint32_t id_;
  std::uint32_t capabilities_ = 0;
  std::string user_;
  SessionState state_;
  std::map<std::uint32_t, PreparedStatement> prepared_;
  std::size_t prepared_size_ = 0;
  std::uint32_t next_prepared_ = 1;
  std::string in_;  ///< received bytes of the current command and behind it
  Framing framing_;
  std::uint8_t sequence_ = 0;  ///< number of the next packet to the client
  TimePoint idle_since_ = Loop::now();
  RunningStatement* running_ = nullptr;
  Memory memory_{*this};
  bool killed_ = false;            ///< the connection
  bool final_error_sent_ = false;  ///< the error that ends the connection
};

template <class Work>
Task<Session::CommandOutcome> Session::run_work(std::size_t bytes, Work& work) {
  std::optional<ClientError> failed;
  auto read = [&] { failed = internal_error_in(work); };
  auto* const helpers = worker_.process.helpers;
  if (helpers == nullptr || !is_long(bytes, 1, settings().long_work_size.value)) {
    read();
  } else {
    Stop stop(worker_.loop);
    stop.arm(Loop::now() + settings().request_timeout.value, StopReason::deadline);
    const auto end = co_await helpers->run(worker_.loop, stop, work_on(bytes, client_), read);
    if (!open()) co_return CommandOutcome::broken;
    if (end != ThreadPool::End::done) co_return co_await refuse_long_work(end);
  }
  if (!failed) co_return CommandOutcome::answered;
  count_refused(worker_, failed->status, failed->reason);
  const auto refused = co_await refuse(error_of_answer(failed->status, failed->reason));
  co_return refused;
}

}  // namespace karmad::mysql
