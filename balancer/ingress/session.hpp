#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "balancer/core/disconnect_watcher.hpp"
#include "balancer/core/query.hpp"
#include "balancer/core/reader_patience.hpp"
#include "balancer/core/sql_session.hpp"
#include "balancer/pipeline/pipeline.hpp"
#include "balancer/pipeline/trace_scope.hpp"

namespace karmad {

/// One client connection: reads requests, runs them one after the other, and writes the
/// answers in order. While a query runs, a read is outstanding; once a further request has arrived,
/// a watch of the socket replaces the read. Both notice a client that leaves. An idle session needs
/// memory only for itself and a small coroutine frame.
class Session final : public Stream, public Client {
 public:
  /// `client`: its address as text, empty for a unix socket; `address`: as a number.
  /// `admin`: accepted by a listener for the operator.
  Session(Worker& worker, Socket socket, std::string client, std::optional<IpAddress> address,
          bool admin = false);
  ~Session() override;

  void start();
  void drain() override;
  void abandon() override;

 private:
  enum class Phase : std::uint8_t { idle, reading, answering, writing, lingering };
  enum class ReceivedPart : std::uint8_t { part_of_head, head, whole };

  struct Clock final : Deadline {
    explicit Clock(Session& of) : session(of) {}
    void expired() override { session.on_clock(); }
    Session& session;
  };

  /// The memory of the current request, and of the bytes read after it.
  struct Memory final : MemoryHolder {
    explicit Memory(Session& of) : MemoryHolder(of.worker_.loop.memory), session(of) {
      session.memory_ = this;
    }
    ~Memory() override { session.memory_ = nullptr; }
    void on_denied(MemoryDenial why) override { session.memory_denied(why); }
    /// Called when the request has ended.
    void release() {
      piece.release();
      body.release();
      forgive();
    }

    Session& session;
    MemoryReservation body;
    MemoryReservation piece;  ///< a piece of an answer that is passed on
  };

  std::atomic<std::uint32_t>& open_count() const {
    return admin_ ? worker_.connections.admin_open : worker_.connections.open;
  }
  static Background run(boost::intrusive_ptr<Session> self);
  void await_request();
  void take_settings();
  Task<bool> answer_requests();
  HeadLimits head_limits() const;
  ReceivedPart parse_received(const std::string& in, RequestHead& head,
                              std::string_view& body) const;
  Task<bool> read_head(std::string& in, RequestHead& head);
  Task<bool> read_body(std::string& in, RequestHead& head, std::string& chunks,
                       std::string_view& body);
  Task<void> read_up_to(std::string& in, std::size_t whole);
  Task<bool> read_chunks(std::string& in, RequestHead& head, std::string& chunks);
  Task<bool> read_more(std::string& in);
  Task<bool> make_room(std::string& bytes, std::size_t room);
  Task<bool> refuse_for_memory(std::string& bytes, const RequestHead& head);
  void memory_denied(MemoryDenial why);
  void end_for_memory();
  Answer answer_for_memory(const Query& query);
  void prepare_answer(bool has_next);
  void start_query(Query& query);
  void finish_query(Query& query, Answer& answer);
  void recycle(Answer& answer);
  void drop_request(std::string& in, std::size_t size);
  void reset();
  Task<bool> send_rest(Outgoing out);
  Task<bool> send_now(Outgoing out);
  Task<bool> pass_rest(Query& query, Answer& answer, RestLog& log);
  Task<bool> send_source(Query& query, BodySource& source);
  Task<bool> send_answer(const Answer& answer, const RequestHead* head, RequestId id);
  Outgoing write_answer(const Answer& answer, const RequestHead* head, std::string_view id);
  Task<bool> refuse(int status, std::string_view reason, std::size_t bytes_in,
                    const RequestHead* head = nullptr);
  Task<bool> end_with(const Answer& answer, RequestId id);
  RequestId log_refusal(const Answer& answer, std::size_t bytes_in, const RequestHead* head);
  void record_first_head();
  Task<bool> refuse_head(HeadError error, std::string_view in);
  Task<void> linger();

  void unexpected() override;
  void on_client_left();
  void on_half_closed();
  void ask_whether_there();
  void watch_for_disconnect();
  bool has_bytes();
  void on_clock();
  void on_timeout();
  void start_phase(Phase phase, Micros longest);
  bool keeps_connection(const RequestHead* head) const;
  /// Closes the connection; resets it within an answer, because the client has only a part of it.
  void end();
  const InstanceSettings& settings() const { return settings_->settings; }

  Worker& worker_;
  std::shared_ptr<const Topology> settings_;  ///< topology of the current request
  std::string client_;
  const std::optional<IpAddress> address_;
  const bool admin_;
  const TimePoint began_ = Loop::now();
  Clock clock_{*this};    ///< ends a phase at `due_`; may expire earlier
  TimePoint due_{};       ///< the end of this phase
  TimePoint clock_at_{};  ///< when `clock_` expires
  Query* query_ = nullptr;
  std::unique_ptr<SqlSession> sql_session_;  ///< since the first SELECT over SQL
  std::unique_ptr<DisconnectWatch> watch_;   ///< while a query runs and a further request waits
  ReaderPatience* patience_ = nullptr;       ///< while it waits for its client to read
  Memory* memory_ = nullptr;                 ///< while answer_requests() runs
  Phase phase_ = Phase::idle;
  std::uint64_t low_admissions_ = 0;  ///< its admitted requests of low priority
  bool client_closed_ = false;  ///< the client closed the connection, without a read to report it
  bool half_closed_ = false;    ///< it has closed its sending side
  bool is_endless_ = false;  ///< sends a body without end; a client that leaves it is not counted
  bool unread_ = false;      ///< bytes have arrived that are not read yet
  bool timed_out_ = false;
  bool within_answer_ = false;  ///< a part of an answer may have been sent
  bool ending_ = false;
  bool had_request_ = false;  ///< has read a request
  bool had_head_ = false;     ///< has read a complete head
};

}  // namespace karmad
