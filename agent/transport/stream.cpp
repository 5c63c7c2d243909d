#include "agent/transport/stream.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>

namespace karmad {

namespace {

error_code last_error() {
  return {errno, boost::system::system_category()};
}

// recv() and send() without cancellation points: threads are never cancelled here, and the
// bookkeeping costs 1 % of a request. Sanitizers need the normal functions.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
ssize_t receive_from(int socket, char* into, std::size_t room) {
  return ::recv(socket, into, room, MSG_DONTWAIT);
}
ssize_t send_to(int socket, std::string_view bytes) {
  return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}
#else
ssize_t receive_from(int socket, char* into, std::size_t room) {
  return ::syscall(SYS_recvfrom, socket, into, room, MSG_DONTWAIT, nullptr, nullptr);
}
ssize_t send_to(int socket, std::string_view bytes) {
  return ::syscall(SYS_sendto, socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                   nullptr, 0);
}
#endif

ssize_t send_to(int socket, std::string_view head, std::string_view body) {
  std::array<iovec, 2> pieces{{{const_cast<char*>(head.data()), head.size()},
                               {const_cast<char*>(body.data()), body.size()}}};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// As send_to(). Head and beginning of the body share a record, and a call of the system.
ssize_t send_encrypted(Tls& tls, std::string_view head, std::string_view body, Buffers& buffers) {
  constexpr std::size_t kRecord = 16 << 10;
  ssize_t sent = 0;
  if (head.empty() || body.empty()) {
    sent = tls.send(head.empty() ? body : head);
  } else {
    const auto size = std::min(head.size() + body.size(), kRecord);
    Buffer record(buffers, size);
    record->assign(head.substr(0, size)).append(body.substr(0, size - record->size()));
    sent = tls.send(*record);
  }
  if (sent >= 0) return sent;
  errno = static_cast<int>(-sent);
  return -1;
}

/// Number of bytes, 0 at the end, or minus `errno`. A plain number stays in a register, unlike an
/// error_code with a size.
ssize_t receive_now(int socket, char* into, std::size_t room) {
  for (;;) {
    const auto got = receive_from(socket, into, room);
    if (got >= 0) return got;
    if (errno != EINTR) return -errno;
  }
}

/// The error for a result of receive_now() without bytes.
error_code error_of(ssize_t nothing) {
  if (nothing == 0) return asio::error::eof;
  return {static_cast<int>(-nothing), boost::system::system_category()};
}

}  // namespace

Stream::Stream(Loop& loop, Socket socket) : loop_(loop), socket_(std::move(socket)) {}

Stream::~Stream() {
  loop_.turn.forget(*this);
  loop_.buffers.give(std::move(arrived_));
}

void Stream::start_read(char* into, std::size_t room) {
  assert(!reading_);
  reading_ = true;
  into_ = into;
  room_ = std::min(room, kMostAtOnce);
  intrusive_ptr_add_ref(this);  // until it is complete
  read_operation_.ec_ = {};
  read_operation_.bytes_transferred_ = 0;
  if (tls_ && tls_->is_ready()) [[unlikely]]
    if (ReadOperation::perform(&read_operation_) != asio::detail::reactor_op::not_done) {
      loop_.reactor.post_immediate_completion(&read_operation_, /*is_continuation=*/false);
      return;
    }
  loop_.reactor.start_op(asio::detail::reactor::read_op, socket_.native_handle(), socket_.place(),
                         &read_operation_, /*is_continuation=*/false, /*allow_speculative=*/true);
}

/// Takes bytes that have arrived: their number, 0 at the end, or minus `errno`.
ssize_t Stream::take(char* into, std::size_t room) {
  if (tls_) [[unlikely]]  // the descriptor of a closed one may be another connection's
    return open() ? tls_->receive(into, room) : -EBADF;
  return receive_now(socket_.native_handle(), into, room);
}

/// Reads into the target buffer: number of bytes, 0 at the end, or minus `errno`.
ssize_t Stream::receive() {
  ssize_t got = 0;
  if (into_ != nullptr) {
    got = take(into_, room_);
    drained_ = got < static_cast<ssize_t>(room_);
    return got;
  }
  arrived_ = loop_.buffers.take(room_);
  arrived_.resize_and_overwrite(room_, [&](char* into, std::size_t) {
    got = take(into, room_);
    return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  });
  if (arrived_.empty()) loop_.buffers.give(std::move(arrived_));
  drained_ = got < static_cast<ssize_t>(room_);
  return got;
}

/// Notes the result of a read (bytes, 0: end, negative: error) if no bytes may arrive.
void Stream::note_unasked(ssize_t got) {
  if (silent_ && unasked_ == Unasked::nothing) unasked_ = got > 0 ? Unasked::bytes : Unasked::end;
}

/// Called by the reactor when the socket may be readable.
asio::detail::reactor_op::status Stream::ReadOperation::perform(reactor_op* operation) {
  auto& stream = static_cast<ReadOperation*>(operation)->stream;
  const auto got = stream.receive();
  if (got == -EAGAIN || got == -EWOULDBLOCK) return not_done;
  stream.note_unasked(got);
  if (got <= 0) {
    operation->ec_ = error_of(got);
    return done;
  }
  operation->bytes_transferred_ = static_cast<std::size_t>(got);
  return operation->bytes_transferred_ == stream.room_ ? done : done_and_exhausted;
}

void Stream::ReadOperation::complete(void* owner, asio::detail::operation* ended, const error_code&,
                                     std::size_t) {
  auto& read = *static_cast<ReadOperation*>(ended);
  const boost::intrusive_ptr<Stream> stream(&read.stream, /*add_ref=*/false);
  if (owner != nullptr) stream->read_ended(read.ec_, read.bytes_transferred_);
}

/// Checks whether the stream has ended without an event.
void Stream::poll() {
  char byte = 0;
  const bool has_ended = tls_ && tls_->has_ended();  // its last bytes were read, and no more come
  const auto got =
      has_ended ? 0 : ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0 || !reading_) return;  // bytes cause an event, or belong to the next read
  const auto error = got == 0 ? error_code(asio::error::eof) : last_error();
  if (error == asio::error::would_block || error == asio::error::interrupted) return;
  note_unasked(0);
  hidden_end_ = got == 0 ? kEndOfStream : error.value();
  loop_.reactor.cancel_ops_by_key(socket_.native_handle(), socket_.place(),
                                  asio::detail::reactor::read_op, this);
}

error_code Stream::hidden_error() const {
  if (hidden_end_ == kEndOfStream) return asio::error::eof;
  return {hidden_end_, boost::system::system_category()};
}

void Stream::read_ended(const error_code& error, std::size_t size) {
  reading_ = false;
  last_.error = hidden_end_ == kNoEnd || size != 0 ? error : hidden_error();
  last_.size = size;
  if (into_ != nullptr) loop_.turn.spend(size);
  if (!last_.error && size < room_) loop_.turn.watch(*this);
  if (reader_) {
    std::exchange(reader_, nullptr).resume();
  } else {
    unexpected();
  }
}

Stream::Read Stream::read_now(char* into, std::size_t room) {
  room = std::min(room, kMostAtOnce);
  const auto got = take(into, room);
  drained_ = got < static_cast<ssize_t>(room);
  if (got <= 0) return {error_of(got), 0};
  loop_.turn.spend(static_cast<std::size_t>(got));
  return {{}, static_cast<std::size_t>(got)};
}

Stream::Unasked Stream::behind() {
  if (drained_) return Unasked::nothing;
  char byte = 0;
  const auto got = read_now(&byte, 1);
  if (!got.error) return Unasked::bytes;
  return got.error == asio::error::would_block ? Unasked::nothing : Unasked::end;
}

Stream::Unasked Stream::look_for_unasked() {
  if (unasked_ != Unasked::nothing) return unasked_;
  if (tls_) [[unlikely]] {
    if (!open()) return Unasked::end;
    const auto there = tls_->peek();
    if (there == -EAGAIN) return Unasked::nothing;
    return there > 0 ? Unasked::bytes : Unasked::end;
  }
  char byte = 0;
  const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Unasked::nothing;
  return got > 0 ? Unasked::bytes : Unasked::end;
}

error_code Stream::write_now(Outgoing& out) {
  if (unasked_ != Unasked::nothing) return asio::error::not_connected;
  if (tls_ && !open()) [[unlikely]]
    return asio::error::bad_descriptor;
  silent_ = false;
  std::size_t bodies = 0;
  while (!out.empty()) {
    // A peer that reads as fast as data is sent would otherwise block the loop.
    if (bodies >= LoopTurn::kMostBytes) return asio::error::would_block;
    const auto body = out.body.substr(0, kMostAtOnce);
    const auto sent = tls_           ? send_encrypted(*tls_, out.head, body, loop_.buffers)
                      : body.empty() ? send_to(socket_.native_handle(), out.head)
                                     : send_to(socket_.native_handle(), out.head, body);
    if (sent >= 0) {
      written_ += static_cast<std::uint64_t>(sent);
      if (!body.empty()) {
        bodies += static_cast<std::size_t>(sent);
        loop_.turn.spend(static_cast<std::size_t>(sent));
      }
      out.consume(static_cast<std::size_t>(sent));
    } else if (errno != EINTR) {
      const auto error = last_error();
      if (error != asio::error::would_block) poll();
      return error;
    }
  }
  return {};
}

namespace {

/// Waits until the socket can be written, or read.
struct Ready : std::suspend_always {
  Socket& socket;
  Socket::wait_type wait;
  boost::intrusive_ptr<Stream> keep;
  error_code error{};

  void await_suspend(std::coroutine_handle<> caller) {
    socket.async_wait(wait, [this, caller, alive = keep](error_code e) {
      error = e;
      caller.resume();
    });
  }
};

}  // namespace

Task<error_code> Stream::write(Outgoing out) {
  auto error = write_now(out);
  while (error == asio::error::would_block && !out.empty()) {
    // NOLINTNEXTLINE(misc-const-correctness): await_suspend() writes
    Ready ready{{}, socket_, Socket::wait_write, this};
    co_await ready;
    if (ready.error) co_return ready.error;
    if (loop_.turn.over()) {
      co_await loop_.turn.next();
      if (!open()) co_return asio::error::operation_aborted;
    }
    error = write_now(out);
  }
  co_return error;
}

Task<error_code> Stream::shake_hands(LoopTurn& turn, Socket& socket, Tls& tls) {
  for (bool waits = tls.is_server() && !tls.has_pending();; waits = true) {
    if (waits) {
      // NOLINTNEXTLINE(misc-const-correctness): await_suspend() writes
      Ready ready{{}, socket, tls.wants_to_send() ? Socket::wait_write : Socket::wait_read, {}};
      co_await ready;
      if (ready.error) co_return ready.error;
    }
    if (turn.over()) {
      co_await turn.next();
      if (!socket.is_open()) co_return asio::error::operation_aborted;
    }
    const auto done = tls.shake_hands();
    turn.spend(LoopTurn::kMostBytes);
    if (done != -EAGAIN) co_return done == 0 ? error_code() : error_of(done);
  }
}

std::uint64_t Stream::acknowledged() const {
  const auto written = tls_ ? tls_->written() : written_;
  int held = 0;  // for unix sockets more than the bytes
  if (::ioctl(const_cast<WatchedSocket&>(socket_).native_handle(), SIOCOUTQ, &held) != 0 ||
      held < 0)
    return written;
  return written - std::min(written, static_cast<std::uint64_t>(held));
}

void Stream::cancel() {
  error_code ignored;
  socket_.cancel(ignored);
}

bool Stream::end_sending() {
  error_code error;
  if (tls_) tls_->say_end();
  socket_.shutdown(Socket::shutdown_send, error);
  return !error;
}

void Stream::close() {
  error_code ignored;
  loop_.turn.forget(*this);
  if (tls_ && socket_.is_open()) tls_->say_end();
  if (socket_.is_open()) socket_.close(ignored);
}

void Stream::reset() {
  error_code ignored;
  if (open()) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  tls_.reset();  // its end would make a part of a message look complete
  close();
}

}  // namespace karmad
