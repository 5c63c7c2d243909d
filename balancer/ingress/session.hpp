#pragma once

#include <memory>
#include <string>

#include "balancer/core/query.hpp"
#include "balancer/pipeline/pipeline.hpp"
#include "balancer/pipeline/trace_scope.hpp"

namespace karmad {

/// Bytes of a body that must move per network_timeout.
inline constexpr std::size_t kPerTimeout = 64 << 10;

/// One client connection: reads requests, runs them one after the other, and writes the
/// answers in order. While a query runs, the next read is outstanding, or, once a further request
/// has arrived, a watch without a read: both notice a client that leaves. An idle session needs
/// memory only for itself and a small coroutine frame.
class Session final : public Stream, public Client {
 public:
  /// `client`: its address as text, empty for a unix socket; `address`: as a number.
  Session(Worker& worker, Socket socket, std::string client, std::optional<IpAddress> address);
  ~Session() override;

  void start();
  void drain() override;
  void abandon() override;

 private:
  struct DepartureWatch;
  enum class Phase : std::uint8_t { idle, reading, answering, writing, lingering };
  enum class Arrived : std::uint8_t { part_of_head, head, whole };

  struct Clock final : Deadline {
    explicit Clock(Session& of) : session(of) {}
    void expired() override { session.check_time(); }
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

  static Background run(boost::intrusive_ptr<Session> self);
  void await_request();
  void take_settings();
  Task<bool> serve();
  HeadLimits head_limits() const;
  Arrived look_at(const std::string& in, RequestHead& head, std::string_view& body) const;
  Task<bool> read_head(std::string& in, RequestHead& head);
  Task<bool> read_body(std::string& in, RequestHead& head, std::string& chunks,
                       std::string_view& body);
  Task<void> read_up_to(std::string& in, std::size_t whole);
  Task<bool> read_chunks(std::string& in, RequestHead& head, std::string& chunks);
  Task<bool> more(std::string& in);
  Task<bool> make_room(std::string& bytes, std::size_t room);
  Task<bool> refuse_for_memory(std::string& bytes, const RequestHead& head);
  void memory_denied(MemoryDenial why);
  void end_for_memory();
  Answer given_up(const Query& query);
  void prepare_answer(bool more_here);
  void begin(Query& query);
  void conclude(Query& query, Answer& answer);
  void recycle(Answer& answer);
  void forget_request(std::string& in, std::size_t size);
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
  RequestId note_refused(const Answer& answer, std::size_t bytes_in, const RequestHead* head);
  void note_head();
  Task<void> linger();

  void unexpected() override;
  void client_gone();
  void watch_departure();
  bool has_bytes();
  void check_time();
  void too_slow();
  void allow(Phase phase, Micros longest);
  bool stays(const RequestHead* head) const;
  /// Closes the connection; resets it within an answer, because the client has only a part of it.
  void end();
  const InstanceSettings& settings() const { return settings_->settings; }

  Worker& worker_;
  std::shared_ptr<const Topology> settings_;  ///< of the current request
  std::string client_;
  const std::optional<IpAddress> address_;
  const TimePoint began_ = Loop::now();
  Clock clock_{*this};   ///< looks at `due_`; may be armed for an earlier time
  TimePoint due_{};      ///< the end of this phase
  TimePoint checked_{};  ///< when `clock_` expires
  Query* query_ = nullptr;
  std::unique_ptr<DepartureWatch> watch_;  ///< while a query runs and a further request waits
  Memory* memory_ = nullptr;               ///< while serve() runs
  Phase phase_ = Phase::idle;
  std::uint64_t low_admissions_ = 0;  ///< its admitted requests of low priority
  bool departed_ = false;  ///< the client closed the connection, without a read to report it
  bool streams_ = false;   ///< sends a body without end, which any client leaves
  bool unread_ = false;    ///< bytes have arrived that are not read yet
  bool timed_out_ = false;
  bool within_answer_ = false;  ///< a part of an answer may have been sent
  bool ending_ = false;
  bool used_ = false;     ///< had a request before
  bool greeted_ = false;  ///< had a complete head
};

}  // namespace karmad
