#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/detail/reactor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>

#include "agent/transport/loop/loop.hpp"
#include "agent/transport/tls.hpp"

namespace karmad {

using boost::system::error_code;
using Protocol = asio::generic::stream_protocol;  // TCP and unix sockets alike
using Socket = asio::basic_stream_socket<Protocol, Executor>;
using Endpoint = Protocol::endpoint;

/// A connected socket that may have one read outstanding which is not awaited. On a client's
/// connection this read notices that the client left, on a pooled one that the agent closed it; and
/// it is the read the next message needs. Reference-counted, one thread.
class Stream : public TurnPeer {
 public:
  Stream(Loop& loop, Socket socket);
  Stream& operator=(Stream&&) = delete;
  virtual ~Stream();

  struct Read {
    error_code error;
    std::size_t size = 0;
  };

  /// Bytes or an end that arrived without a request.
  enum class Unasked : std::uint8_t { nothing, end, bytes };

  /// Starts a read into memory that must stay until it has ended. No read may be outstanding. After
  /// a read that did not fill its buffer it waits for an event without trying first. An end of
  /// stream that arrived together with earlier bytes causes no event: it is noticed when sending
  /// fails, or at most two ticks (20 ms) later.
  void start_read(char* into, std::size_t room);
  /// The same into a buffer of the loop that is taken only when bytes arrive, so an idle connection
  /// holds no memory.
  void start_read(std::size_t room = Buffers::kSmall) { start_read(nullptr, room); }
  bool reading() const { return reading_; }
  /// Result of the last read without memory; move or clear it before the next one.
  std::string& arrived() { return arrived_; }
  /// Most bytes of one read or write; more would make a call too long.
  static constexpr std::size_t kMostAtOnce = 128 << 10;

  /// Reads available bytes without waiting. No read may be outstanding. Loops must check
  /// `turn.over()`: a peer may send faster than it is read.
  Read read_now(char* into, std::size_t room);

  /// What follows a completely read message. Reads only if the last read filled its buffer:
  /// otherwise no more bytes had arrived.
  Unasked behind();
  /// From now on no bytes may arrive until a message is sent.
  void expect_silence() { silent_ = true; }
  /// What arrived in spite of that, as far as it was read. After that nothing is sent: write_now()
  /// and send() fail.
  Unasked unasked() const { return unasked_; }
  /// The same, after checking for bytes not yet read; one system call.
  Unasked look_for_unasked();

  /// `co_await stream.read()`: the result of the outstanding read.
  auto read() {
    struct Awaiter {
      Stream& stream;
      bool await_ready() const noexcept { return !stream.reading_; }
      void await_suspend(std::coroutine_handle<> caller) noexcept { stream.reader_ = caller; }
      Read await_resume() const noexcept { return stream.last_; }
    };
    return Awaiter{*this};
  }

  /// Sends as much as possible without waiting, of a long body at most a turn's share, and removes
  /// it from `out`. would_block: send the rest with write().
  error_code write_now(Outgoing& out) override;
  /// `co_await stream.send(out)`: the same, but under load at the end of the turn. A message with a
  /// separate body (beyond kJoinedBody) is sent at once, while the body is in the cache.
  auto send(Outgoing& out) {
    struct Awaiter : LoopTurn::Message {
      bool await_ready() {
        if (turn.busy() && out.body.empty()) return false;
        error = stream.write_now(out);
        return true;
      }
      void await_suspend(std::coroutine_handle<> caller) {
        sender = caller;
        turn.send(*this);
      }
      error_code await_resume() const { return error; }
      LoopTurn& turn;
    };
    return Awaiter{{*this, out, {}, {}}, loop_.turn};
  }
  /// Sends all of `out`; waits for the peer as long as the socket is open.
  Task<error_code> write(Outgoing out);

  /// Bytes that the peer's system has acknowledged since the connection was opened; one system
  /// call.
  std::uint64_t acknowledged() const;

  /// From now on everything is read and sent encrypted. No read may be outstanding, and no bytes
  /// behind those that belong before may have been read.
  void encrypt(std::unique_ptr<Tls> tls) { tls_ = std::move(tls); }
  /// Null: the connection is not encrypted.
  const Tls* tls() const { return tls_.get(); }

  /// Completes the handshake on a connected socket; after an error, tls.failure() says what is
  /// wrong. Its steps take up to a millisecond of computing each: a turn of the loop has one. All
  /// must stay until it has ended; closing the socket ends it.
  static Task<error_code> shake_hands(LoopTurn& turn, Socket& socket, Tls& tls);
  /// The same of an encrypted stream before its first read.
  Task<error_code> shake_hands_of_tls() { return shake_hands(loop_.turn, socket_, *tls_); }

  /// Ends outstanding operations with an error; the socket stays open.
  void cancel();
  /// Tells the peer that no more follows. False: the connection has ended.
  bool end_sending();
  /// Ends outstanding operations with an error and closes. May be called again.
  void close();
  /// The same with a reset, so that the peer sees an incomplete message as an error.
  void reset();
  bool open() const { return socket_.is_open(); }
  Socket& socket() { return socket_; }

 protected:
  /// Called when a read ended that was not awaited; `last()` has its result.
  virtual void unexpected() {}
  const Read& last() const { return last_; }

 private:
  friend void intrusive_ptr_add_ref(Stream* stream) { ++stream->references_; }
  friend void intrusive_ptr_release(Stream* stream) {
    if (--stream->references_ == 0) delete stream;
  }

  /// The read operation in the reactor. It is a member of the stream, so a read allocates nothing;
  /// docs/decisions/010-budget-of-a-request.md explains why it is not async_read_some().
  struct ReadOperation final : asio::detail::reactor_op {
    explicit ReadOperation(Stream& of)
        : reactor_op({}, &ReadOperation::perform, &ReadOperation::complete), stream(of) {
      cancellation_key_ = &of;
    }
    static status perform(reactor_op* operation);
    static void complete(void* owner, asio::detail::operation* ended, const error_code&,
                         std::size_t);
    Stream& stream;
  };
  /// Asio's socket with access to its state in the reactor.
  struct WatchedSocket final : Socket {
    explicit WatchedSocket(Socket socket) : Socket(std::move(socket)) {
      // The descriptor is not shared: closing it also removes it from the reactor's epoll.
      impl_.get_implementation().state_ &= static_cast<asio::detail::socket_ops::state_type>(
          ~asio::detail::socket_ops::possible_dup);
    }
    asio::detail::reactor::per_descriptor_data& place() {
      return impl_.get_implementation().reactor_data_;
    }
  };

  ssize_t take(char* into, std::size_t room);
  ssize_t receive();
  void note_unasked(ssize_t got);
  bool reads() const override { return reading_; }
  void poll() override;
  void read_ended(const error_code& error, std::size_t size);
  error_code hidden_error() const;

  Loop& loop_;
  WatchedSocket socket_;
  std::unique_ptr<Tls> tls_;  ///< null: bytes pass as they are
  ReadOperation read_operation_{*this};
  std::uint64_t written_ = 0;  ///< bytes that the socket has accepted
  unsigned references_ = 0;
  bool reading_ = false;
  bool drained_ = false;  ///< the last read took all available bytes
  bool silent_ = false;   ///< no bytes may arrive
  Unasked unasked_ = Unasked::nothing;
  static constexpr int kNoEnd = -1;
  static constexpr int kEndOfStream = 0;
  int hidden_end_ = kNoEnd;  ///< found by poll(): one of these, or the number of an error
  char* into_ = nullptr;     ///< null: a buffer of the loop
  std::size_t room_ = 0;
  std::string arrived_;
  Read last_;
  std::coroutine_handle<> reader_;
};

}  // namespace karmad
