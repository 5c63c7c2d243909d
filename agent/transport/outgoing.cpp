#include "agent/transport/loop/outgoing.hpp"

#include <algorithm>

namespace karmad {

void Outgoing::consume(std::size_t sent) {
  const auto of_head = std::min(sent, head.size());
  head.remove_prefix(of_head);
  body.remove_prefix(sent - of_head);
}

std::array<boost::asio::const_buffer, 2> Outgoing::buffers() const {
  namespace asio = boost::asio;
  if (head.empty()) return {asio::buffer(body.data(), body.size()), asio::const_buffer{}};
  return {asio::buffer(head.data(), head.size()), asio::buffer(body.data(), body.size())};
}

}  // namespace karmad
