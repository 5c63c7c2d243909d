#pragma once

#include <memory>
#include <string>

#include "balancer/core/query.hpp"
#include "balancer/pipeline/pipeline.hpp"
#include "balancer/pipeline/trace_scope.hpp"

namespace karmad {

/// Bytes of a body that must move per network_timeout.
inline constexpr std::size_t kPerTimeout = 64 << 10;

/// One client connection: reads requests, has them answered one after the other, writes the
/// answers in order. While a query runs the next read is outstanding, or once a further request has
/// come a watch without a read: they notice a client that leaves. An idle session holds itself and
/// a small frame, nothing else.
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

  /// The memory of the request at hand, and of what was read behind it.
  struct Memory final : MemoryHolder {
    explicit Memory(Session& of) : MemoryHolder(of.worker_.loop.memory), session(of) {
      session.memory_ = this;
    }
    ~Memory() override { session.memory_ = nullptr; }
    void on_denied(MemoryDenial why) override { session.memory_denied(why); }
    /// The request is over.
    void release() {
      piece.release();
      body.release();
      forgive();
    }

    Session& session;
    MemoryReservation body;
    MemoryReservation piece;  ///< of an answer that is passed on
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
  Task<bool> refuse_for_memory(std::string& bytes);
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
  Task<bool> send_answer(const Answer& answer, const RequestHead* head);
  Outgoing write_answer(const Answer& answer, const RequestHead* head);
  Task<bool> refuse(int status, std::string_view reason);
  Task<bool> end_with(const Answer& answer);
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
  /// Closes the connection; resets it within an answer: what the client has is not whole.
  void end();
  const InstanceSettings& settings() const { return settings_->settings; }

  Worker& worker_;
  std::shared_ptr<const Topology> settings_;  ///< those of the request at hand
  std::string client_;
  const std::optional<IpAddress> address_;
  const TimePoint began_ = Loop::now();
  Clock clock_{*this};   ///< looks at `due_`; may be armed for an earlier time
  TimePoint due_{};      ///< the end of this phase
  TimePoint checked_{};  ///< when `clock_` expires
  Query* query_ = nullptr;
  std::unique_ptr<DepartureWatch> watch_;  ///< while a query runs and a further request waits
  Memory* memory_ = nullptr;               ///< while it serves
  Phase phase_ = Phase::idle;
  std::uint64_t low_admissions_ = 0;  ///< its requests of low priority that were let in
  bool departed_ = false;             ///< the client ended its side, and no read is told so
  bool unread_ = false;               ///< bytes have arrived that are not read yet
  bool timed_out_ = false;
  bool within_answer_ = false;  ///< a part of it was sent, or may have been
  bool ending_ = false;
  bool used_ = false;     ///< had a request before
  bool greeted_ = false;  ///< had a complete head
};

}  // namespace karmad
