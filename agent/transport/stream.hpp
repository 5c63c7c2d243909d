#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/detail/reactor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>

#include "agent/transport/loop/loop.hpp"

namespace karmad {

using boost::system::error_code;
using Protocol = asio::generic::stream_protocol;  // TCP and unix sockets alike
using Socket = asio::basic_stream_socket<Protocol, Executor>;
using Endpoint = Protocol::endpoint;

/// A connected socket on which one read may be outstanding that is not awaited: on a client's
/// connection it notices that the client left, on a pooled one that the agent closed, and in both
/// cases it is the read that the next message needs anyway. Counted references, one thread.
class Stream : public TurnPeer {
 public:
  Stream(Loop& loop, Socket socket);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream();

  struct Read {
    error_code error;
    std::size_t size = 0;
  };

  /// What came although nothing was asked for.
  enum class Unasked : std::uint8_t { nothing, end, bytes };

  /// Begins a read into memory that stays until it has ended. None may be outstanding. After a read
  /// that did not fill its room it waits for news without a look first, which would be in vain. An
  /// end of the stream that came together with the bytes before it is no news: it is noticed when
  /// sending fails, and at the latest two ticks of the clock (20 ms) later.
  void start_read(char* into, std::size_t room);
  /// The same into a buffer of the loop's, which is taken when something has come: who waits,
  /// however long, holds no memory for it.
  void start_read(std::size_t room = Buffers::kSmall) { start_read(nullptr, room); }
  bool reading() const { return reading_; }
  /// What the last read without memory brought; to be moved or cleared before the next one.
  std::string& arrived() { return arrived_; }
  /// Bytes that one read or one write moves at most; more would be long for one call.
  static constexpr std::size_t kMostAtOnce = 128 << 10;

  /// Reads what is there, without waiting. None may be outstanding. Callers that loop
  /// check `turn.over()` in between: a peer may send faster than it is read.
  Read read_now(char* into, std::size_t room);

  /// What stands behind a message that was read to its end. Looks only if the last read filled its
  /// room: a read that did not has taken everything that had come.
  Unasked behind();
  /// From now on nothing may come until a message begins to leave.
  void expect_silence() { silent_ = true; }
  /// What came in spite of that, as far as the reactor has read it. Then nothing is sent any more:
  /// write_now() and send() fail.
  Unasked unasked() const { return unasked_; }
  /// The same, after a look at what has come but was not read yet; one system call.
  Unasked look_for_unasked();

  /// `co_await stream.read()`: the end of the read that was begun.
  auto read() {
    struct Awaiter {
      Stream& stream;
      bool await_ready() const noexcept { return !stream.reading_; }
      void await_suspend(std::coroutine_handle<> caller) noexcept { stream.reader_ = caller; }
      Read await_resume() const noexcept { return stream.last_; }
    };
    return Awaiter{*this};
  }

  /// Sends what can be sent without waiting, of a long body as much as a turn may move, and takes
  /// it off `out`. would_block: the rest is to be sent by write().
  error_code write_now(Outgoing& out) override;
  /// `co_await stream.send(out)`: the same, while much is under way at the end of the turn; with a
  /// body of its own (beyond kJoinedBody) at once, as that is in the cache yet.
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
  /// Sends the rest, waiting for the other side as long as the socket is open.
  Task<error_code> write(Outgoing out);

  /// Ends what is outstanding with an error; the socket stays open.
  void cancel();
  /// Ends everything outstanding with an error. May be called again.
  void close();
  /// The same, and the other side sees a reset instead of an end: what it was sent is not whole.
  void reset();
  bool open() const { return socket_.is_open(); }
  Socket& socket() { return socket_; }

 protected:
  /// A read ended that was not awaited; `last()` tells how.
  virtual void unexpected() {}
  const Read& last() const { return last_; }

 private:
  friend void intrusive_ptr_add_ref(Stream* stream) { ++stream->references_; }
  friend void intrusive_ptr_release(Stream* stream) {
    if (--stream->references_ == 0) delete stream;
  }

  /// The read as the reactor knows it. It belongs to the stream, so beginning one allocates
  /// nothing; docs/decisions/010-budget-of-a-request.md says why it is not async_read_some().
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
  /// Asio's socket, with its place in the reactor.
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

  ssize_t receive();
  void note_unasked(ssize_t got);
  bool reads() const override { return reading_; }
  void look() override;
  void read_ended(const error_code& error, std::size_t size);

  Loop& loop_;
  WatchedSocket socket_;
  ReadOperation read_operation_{*this};
  unsigned references_ = 0;
  bool reading_ = false;
  bool drained_ = false;  ///< the last read took everything that had come
  bool silent_ = false;   ///< nothing may come
  Unasked unasked_ = Unasked::nothing;
  error_code hidden_end_;  ///< found by a look
  char* into_ = nullptr;   ///< null: a buffer of the loop's
  std::size_t room_ = 0;
  std::string arrived_;
  Read last_;
  std::coroutine_handle<> reader_;
};

}  // namespace karmad
