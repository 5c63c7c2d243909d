#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tests/support/process.hpp"

namespace karmad::test {

/// An HTTP answer, its body decoded. Field names are in lower case.
struct Response {
  int status = 0;
  std::map<std::string, std::string> fields;
  std::string body;
};

/// A blocking client on one TCP connection to 127.0.0.1, for requests good and bad.
class HttpClient {
 public:
  /// `receive_buffer`: of the socket, in bytes; 0: as the system likes it. `from`: its own address,
  /// of 127.0.0.0/8.
  explicit HttpClient(int port, int receive_buffer = 0, const char* from = nullptr);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  bool connected() const { return socket_ >= 0; }
  /// Sends these bytes as they are; false when the other side closed.
  bool send(std::string_view bytes);
  /// Reads one answer; nothing when the connection ended or time was up. `to_head`: no body.
  std::optional<Response> receive(bool to_head = false, std::chrono::milliseconds longest = kSoon);
  /// Whether so many bytes that receive() has not taken come.
  bool has(std::size_t bytes, std::chrono::milliseconds longest = kSoon);
  /// The next bytes that receive() has not taken; fewer if no more come.
  std::string take(std::size_t bytes, std::chrono::milliseconds longest = kSoon);
  /// True when the other side closes without another byte.
  bool closed(std::chrono::milliseconds longest = kSoon);
  /// Everything that comes until the other side closes or time is up.
  std::string rest(std::chrono::milliseconds longest = kSoon);
  /// Whether the other side was seen to reset the connection, not just to end it.
  bool was_reset() const { return was_reset_; }
  /// Reads and drops so many bytes; the number that came before the connection ended.
  std::size_t drop(std::size_t bytes);
  /// Ends the sending half.
  void finish();
  /// Makes the connection end with a reset.
  void reset();

  /// One request and its answer; `fields` are further header lines, each ended by CRLF.
  std::optional<Response> request(std::string_view method, std::string_view target,
                                  std::string_view body = {}, std::string_view fields = {});

 private:
  bool fill(std::chrono::steady_clock::time_point end);

  int socket_ = -1;
  bool was_reset_ = false;
  std::string in_;
};

/// One request on a connection of its own.
Response ask(int port, std::string_view method, std::string_view target, std::string_view body = {},
             std::string_view fields = {});
inline Response get(int port, std::string_view target) {
  return ask(port, "GET", target);
}
inline Response post(int port, std::string_view target, std::string_view body) {
  return ask(port, "POST", target, body);
}

}  // namespace karmad::test
