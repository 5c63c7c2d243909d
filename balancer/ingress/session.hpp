#pragma once

#include <memory>
#include <string>

#include "agent/transport/body_rest.hpp"
#include "agent/transport/http/http_head.hpp"
#include "balancer/core/client_connection.hpp"
#include "balancer/core/query.hpp"
#include "balancer/core/request_fields.hpp"
#include "balancer/pipeline/pipeline.hpp"
#include "balancer/pipeline/trace_scope.hpp"

namespace karmad {

/// One client connection: reads requests, runs them one after the other, and writes the
/// answers in order. While a query runs, a read is outstanding; once a further request has arrived,
/// a watch of the socket replaces the read. Both notice a client that leaves. An idle session needs
/// memory only for itself and a small coroutine frame.
class Session final : public ClientConnection {
 public:
  Session(Worker& worker, Socket socket, ClientAddress client, const ListenerKind& listener = {});

  void start() { run(this); }
  void abandon() override;

 private:
  enum class ReceivedPart : std::uint8_t { part_of_head, head, whole };

  /// What the fields of a request tell of its client.
  struct ToldByFields {
    std::optional<ClientAddress> client;  ///< none: that of the connection
    bool peer_trusted = false;
    CorsRequest cors;
  };

  /// The memory of the current request, and of the bytes read after it.
  struct Memory final : MemoryHolder {
    explicit Memory(Session& of) : MemoryHolder(of.worker_.loop.memory), session(of) {
      session.memory_ = this;
    }
    ~Memory() override { session.memory_ = nullptr; }
    void on_denied(MemoryDenial why) override;
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

  /// The body of a client's request that is longer than `request_buffer_size`: it is taken from the
  /// connection only as fast as the agent takes it. A client that leaves within it ends the query.
  /// One thread.
  class StreamedBody final : public BodyRest {
   public:
    /// Most bytes of a piece without its framing. With a beginning of 64 KB it fits into 80 KB.
    static constexpr std::size_t kPiece = (16 << 10) - 256;

    /// Takes what is behind the head in `in`. Both the session and the head must outlive it.
    StreamedBody(Session& session, std::string& in, const RequestHead& head);

    /// Keeps a body in chunks until it has ended or more than `most` bytes of it have come; one
    /// with a length is left alone. False: it broke off.
    Task<bool> keep_beginning(std::size_t most);
    /// The whole body, once it has ended within keep_beginning().
    std::string take_kept() { return std::move(kept_); }

    std::optional<std::uint64_t> length() const override;
    bool begun() const override { return begun_; }
    Task<bool> next(std::string& piece) override;
    void cancel() override;

    /// All of it has come.
    bool has_ended() const { return ended_; }
    /// The client is to be told that it broke off.
    const std::optional<HeadError>& error() const { return error_; }
    /// Bytes that have come, those behind it included.
    std::uint64_t size() const { return size_; }
    /// Bytes that have come behind it, once it has ended.
    std::string_view behind() const { return ended_ ? arrived_ : std::string_view(); }
    std::string take_behind() { return std::move(arrived_); }

   private:
    bool decode(std::string& into);
    Task<bool> receive();
    Task<bool> read();
    void count(Micros took);

    Session& session_;
    const RequestHead& head_;
    const bool in_chunks_;
    ChunkedBody chunks_;
    std::uint64_t left_;     ///< of a body with a length: bytes that have not come
    std::string arrived_;    ///< not decoded yet
    std::string kept_;       ///< the beginning: decoded, and then a chunk
    Micros time_left_;       ///< of the client for the next 64 KB
    std::size_t since_ = 0;  ///< bytes that have come since that began
    std::uint64_t size_ = 0;
    bool received_any_ = false;
    bool waits_ = false;  ///< for the client
    bool cancelled_ = false;
    bool begun_ = false;
    bool ended_ = false;     ///< all has been decoded
    bool told_end_ = false;  ///< the last chunk was handed out
    std::optional<HeadError> error_;
  };

  /// The other end of a connection that has changed its protocol.
  struct Upgraded {
    ConnectionPtr agent;
    std::string first;  ///< what the client has sent in the new protocol
  };

  static Background run(boost::intrusive_ptr<Session> self);
  void await_request();
  Task<bool> begin_tls();
  Task<bool> answer_requests();
  HeadLimits head_limits() const;
  ReceivedPart parse_received(const std::string& in, RequestHead& head,
                              std::string_view& body) const;
  Task<bool> read_head(std::string& in, RequestHead& head);
  Task<bool> read_body(std::string& in, RequestHead& head, std::string_view& body);
  Task<void> read_up_to(std::string& in, std::size_t whole);
  Task<bool> begin_stream(std::unique_ptr<StreamedBody>& stream, std::size_t most, std::string& in,
                          RequestHead& head, std::string& chunks);
  void end_stream(const StreamedBody& stream, Query& query, Answer& answer);
  Task<bool> read_more(std::string& in);
  Task<bool> make_room(std::string& bytes, std::size_t room);
  Task<bool> refuse_for_memory(std::string& bytes, const RequestHead& head);
  void end_for_memory() override;
  Answer answer_for_memory(const Query& query);
  void note_told(const RequestHead& head);
  std::string_view client() const;
  const std::optional<IpAddress>& number() const;
  std::optional<EarlyRefusal> answer_preflight();
  void prepare_answer(bool has_next);
  void start_query(Query& query);
  void finish_query(Query& query, Answer& answer);
  void recycle(Answer& answer);
  void drop_request(std::string& in, std::size_t size);
  Task<bool> send_rest(Outgoing out);
  Task<bool> send_now(Outgoing out);
  void note_broken_off(const Query& query, const ResponseStream& rest, RestLog& log) const;
  Task<bool> pass_rest(Query& query, Answer& answer, RestLog& log);
  Task<bool> send_source(Query& query, BodySource& source);
  void keep_upgraded(Answer& answer, std::string_view behind);
  Task<void> pass_tunnel();
  Task<bool> send_answer(const Answer& answer, const RequestHead* head, RequestId id);
  Outgoing write_answer(const Answer& answer, const RequestHead* head, std::string_view id);
  Task<bool> refuse(int status, std::string_view reason, std::size_t bytes_in,
                    const RequestHead* head = nullptr);
  Task<bool> end_with(const Answer& answer, RequestId id);
  RequestId log_refusal(const Answer& answer, std::size_t bytes_in, const RequestHead* head);
  void record_head();
  Task<bool> refuse_head(HeadError error, std::string_view in);
  Task<void> linger();

  void unexpected() override;
  void ask_whether_there() override;
  void watch_for_disconnect();
  void phase_timed_out() override;
  void break_off() override { reset(); }
  bool keeps_connection(const RequestHead* head) const;
  /// Closes the connection; resets it within an answer, because the client has only a part of it.
  void end();

  const ListenerKind listener_;
  const TimePoint began_ = Loop::now();
  std::unique_ptr<Watch> watch_;        ///< while a query runs and a further request waits
  std::unique_ptr<ToldByFields> told_;  ///< of this request; null: the settings need nothing
  std::unique_ptr<Upgraded> upgraded_;  ///< since 101 was sent; null: HTTP is spoken
  Memory* memory_ = nullptr;            ///< while answer_requests() runs
  bool unread_ = false;                 ///< bytes have arrived that are not read yet
  bool within_answer_ = false;          ///< a part of an answer may have been sent
  bool had_request_ = false;            ///< has read a request
  bool had_head_ = false;               ///< has read a complete head
};

/// Compresses the body of an answer, or the beginning of one with a `rest`, where `compress` says
/// so, the client takes it and the worker has time for it. Then `answer.coding` is set, and with a
/// `rest` `answer.compressor`. Not what an agent has compressed or forbids to change (RFC 9110
/// section 7.7). `memory`: of the request. The arguments must outlive the task.
Task<void> compress_answer(Query& query, Answer& answer, MemoryHolder* memory);

/// Replaces a piece of the `rest` by its compressed form, which may be empty. Call after the piece
/// was read.
Task<void> compress_piece(Worker& worker, Answer& answer, std::string& piece);

}  // namespace karmad
