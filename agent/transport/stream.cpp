#include "agent/transport/stream.hpp"

#include <algorithm>

namespace karmad {

void Stream::prepare_read(char* into, std::size_t room) {
  reading_ = true;
  begun_ = false;
  hastened_ = false;
  cancelled_ = false;
  room_ = asio::buffer(into, room);
}

void Stream::start_read_now(char* into, std::size_t room) {
  prepare_read(into, room);
  begin_read();
}

void Stream::start_read(char* into, std::size_t room) {
  prepare_read(into, room);
  if (!loop_.turn.busy()) return begin_read();
  if (!std::exchange(watched_, true)) loop_.turn.watch(*this);
}

void Stream::hasten_read() {
  if (!reading_ || begun_ || std::exchange(hastened_, true)) return;
  loop_.turn.read(*this);
}

void Stream::begin_watched_read() {
  watched_ = false;
  if (reading_ && !begun_ && !hastened_) begin_read();
}

void Stream::begin_read() {
  if (cancelled_) return read_ended(asio::error::operation_aborted, 0);
  begun_ = true;
  socket_.async_read_some(
      room_, [self = boost::intrusive_ptr<Stream>(this)](error_code error, std::size_t size) {
        self->read_ended(error, size);
      });
}

void Stream::read_ended(error_code error, std::size_t size) {
  reading_ = false;
  last_ = {error, size};
  if (reader_) {
    std::exchange(reader_, nullptr).resume();
  } else {
    unexpected();
  }
}

Stream::Read Stream::read_now(char* into, std::size_t room) {
  Read result;
  result.size = socket_.read_some(asio::buffer(into, room), result.error);
  return result;
}

error_code Stream::write_now(Outgoing& out) {
  error_code error;
  while (!out.empty()) {
    const auto sent = out.body.empty() ? socket_.write_some(asio::buffer(out.head), error)
                                       : socket_.write_some(out.buffers(), error);
    if (error) return error;
    out.consume(sent);
  }
  return error;
}

namespace {

struct WriteSome {
  Socket& socket;
  Outgoing& out;
  boost::intrusive_ptr<Stream> keep;
  error_code error{};
  std::size_t sent = 0;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller) {
    socket.async_write_some(out.buffers(),
                            [this, caller, alive = keep](error_code e, std::size_t n) {
                              error = e;
                              sent = n;
                              caller.resume();
                            });
  }
  void await_resume() const noexcept {}
};

}  // namespace

Task<error_code> Stream::write(Outgoing out) {
  auto error = write_now(out);
  while (error == asio::error::would_block && !out.empty()) {
    WriteSome write{socket_, out, this};
    co_await write;
    if (write.error) co_return write.error;
    out.consume(write.sent);
    error = write_now(out);
  }
  co_return error;
}

void Stream::cancel() {
  error_code ignored;
  socket_.cancel(ignored);
  if (!reading_ || begun_) return;
  cancelled_ = true;
  hasten_read();
}

void Stream::close() {
  error_code ignored;
  if (!socket_.is_open()) return;
  socket_.close(ignored);
  hasten_read();
}

}  // namespace karmad
