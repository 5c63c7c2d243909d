#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <cstddef>
#include <string_view>

namespace karmad {

/// A body up to this size is copied behind its head: one piece is cheaper to send than two.
inline constexpr std::size_t kJoinedBody = 4 << 10;

/// Bytes to send, in at most two pieces (a head and a body).
struct Outgoing {
  std::string_view head;
  std::string_view body;

  bool empty() const { return head.empty() && body.empty(); }
  /// Removes the bytes that were sent.
  void consume(std::size_t sent);
  std::array<boost::asio::const_buffer, 2> buffers() const;
};

}  // namespace karmad
