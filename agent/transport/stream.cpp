#include "agent/transport/stream.hpp"

#include <algorithm>

namespace karmad {

void Outgoing::consume(std::size_t sent) {
  const auto of_head = std::min(sent, head.size());
  head.remove_prefix(of_head);
  body.remove_prefix(sent - of_head);
}

std::array<asio::const_buffer, 2> Outgoing::buffers() const {
  if (head.empty()) return {asio::buffer(body.data(), body.size()), asio::const_buffer{}};
  return {asio::buffer(head.data(), head.size()), asio::buffer(body.data(), body.size())};
}

void Stream::start_read(char* into, std::size_t room) {
  reading_ = true;
  socket_.async_read_some(asio::buffer(into, room), [self = boost::intrusive_ptr<Stream>(this)](
                                                        error_code error, std::size_t size) {
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
    const auto sent = socket_.write_some(out.buffers(), error);
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

void Stream::close() {
  error_code ignored;
  if (socket_.is_open()) socket_.close(ignored);
}

}  // namespace karmad
