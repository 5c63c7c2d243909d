#include "tests/support/http_client.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace karmad::test {
namespace {

using Clock = std::chrono::steady_clock;

int milliseconds_to(Clock::time_point end) {
  return static_cast<int>(std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count()));
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

}  // namespace

HttpClient::HttpClient(int port, int receive_buffer, const char* from) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (receive_buffer > 0)
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (from != nullptr) {
    ::inet_pton(AF_INET, from, &address.sin_addr);
    ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    socket_ = -1;
  }
}

HttpClient::~HttpClient() {
  if (socket_ >= 0) ::close(socket_);
}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool HttpClient::fill(Clock::time_point end) {
  pollfd poll{socket_, POLLIN, 0};
  if (socket_ < 0 || ::poll(&poll, 1, milliseconds_to(end)) <= 0) return false;
  char bytes[65536];
  const auto n = ::recv(socket_, bytes, sizeof bytes, 0);
  was_reset_ = was_reset_ || (n < 0 && errno == ECONNRESET);
  if (n <= 0) return false;
  in_.append(bytes, static_cast<std::size_t>(n));
  return true;
}

std::size_t HttpClient::drop(std::size_t bytes) {
  std::string into(bytes, '\0');
  const auto n = ::recv(socket_, into.data(), bytes, MSG_WAITALL);
  was_reset_ = was_reset_ || (n < 0 && errno == ECONNRESET);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

std::optional<Response> HttpClient::receive(bool to_head, std::chrono::milliseconds longest) {
  const auto end = Clock::now() + longest;
  auto head_end = in_.find("\r\n\r\n");
  while (head_end == std::string::npos) {
    if (!fill(end)) return std::nullopt;
    head_end = in_.find("\r\n\r\n");
  }
  Response response;
  if (in_.size() > 12) response.status = std::atoi(in_.c_str() + 9);
  for (auto at = in_.find("\r\n") + 2; at < head_end + 2;) {
    const auto stop = in_.find("\r\n", at);
    const auto line = std::string_view(in_).substr(at, stop - at);
    const auto colon = line.find(':');
    auto value = line.substr(std::min(colon + 1, line.size()));
    while (value.starts_with(' ')) value.remove_prefix(1);
    response.fields[lower(line.substr(0, colon))] = value;
    at = stop + 2;
  }
  in_.erase(0, head_end + 4);
  if (to_head || response.status / 100 == 1 || response.status == 204 || response.status == 304)
    return response;
  if (response.fields.contains("transfer-encoding")) {
    for (;;) {
      auto line = in_.find("\r\n");
      while (line == std::string::npos) {
        if (!fill(end)) return std::nullopt;
        line = in_.find("\r\n");
      }
      const auto size = std::strtoul(in_.c_str(), nullptr, 16);
      while (in_.size() < line + 2 + size + 2)
        if (!fill(end)) return std::nullopt;
      response.body += in_.substr(line + 2, size);
      in_.erase(0, line + 2 + size + 2);
      if (size == 0) return response;
    }
  }
  if (!response.fields.contains("content-length")) {
    while (fill(end)) {
    }
    response.body = std::exchange(in_, {});
    return response;
  }
  const auto size = std::strtoul(response.fields["content-length"].c_str(), nullptr, 10);
  while (in_.size() < size)
    if (!fill(end)) return std::nullopt;
  response.body = in_.substr(0, size);
  in_.erase(0, size);
  return response;
}

bool HttpClient::has(std::size_t bytes, std::chrono::milliseconds longest) {
  const auto end = Clock::now() + longest;
  while (in_.size() < bytes)
    if (!fill(end)) return false;
  return true;
}

std::string HttpClient::take(std::size_t bytes, std::chrono::milliseconds longest) {
  has(bytes, longest);
  auto taken = in_.substr(0, bytes);
  in_.erase(0, bytes);
  return taken;
}

bool HttpClient::closed(std::chrono::milliseconds longest) {
  pollfd poll{socket_, POLLIN, 0};
  if (!in_.empty() || ::poll(&poll, 1, static_cast<int>(longest.count())) <= 0) return false;
  char byte = 0;
  return ::recv(socket_, &byte, 1, 0) <= 0;
}

std::string HttpClient::rest(std::chrono::milliseconds longest) {
  const auto end = Clock::now() + longest;
  while (fill(end)) {
  }
  return std::exchange(in_, {});
}

void HttpClient::finish() {
  ::shutdown(socket_, SHUT_WR);
}

void HttpClient::reset() {
  const linger now{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(socket_);
  socket_ = -1;
}

std::optional<Response> HttpClient::request(std::string_view method, std::string_view target,
                                            std::string_view body, std::string_view fields) {
  const bool with_body = !body.empty() || method == "POST" || method == "PUT";
  const auto length =
      with_body ? fmt::format("Content-Length: {}\r\n", body.size()) : std::string();
  if (!send(fmt::format("{} {} HTTP/1.1\r\nHost: test\r\n{}{}\r\n{}", method, target, fields,
                        length, body)))
    return std::nullopt;
  return receive(method == "HEAD");
}

Response ask(int port, std::string_view method, std::string_view target, std::string_view body,
             std::string_view fields) {
  HttpClient client(port);
  return client.request(method, target, body, fields).value_or(Response{});
}

}  // namespace karmad::test
