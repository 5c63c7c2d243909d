#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "agent/transport/dns.hpp"
#include "balancer/discovery/main_door.hpp"

namespace karmad {

struct SourceRequest {
  std::string target;
  std::string body;  ///< empty: a GET, else a POST of JSON
};

/// A connection to a source over HTTP, for one request. Main thread only. Every step has a time
/// limit, and fails after close(); texts are bounded by kLongestSource. References must stay valid
/// until the step has ended.
class SourceConnection {
 public:
  template <class T>
  using Step = boost::asio::awaitable<std::expected<T, std::string>>;
  struct Done {};

  explicit SourceConnection(std::shared_ptr<MainDoor> door)
      : door_(std::move(door)), stream_(door_->io()) {}

  /// Connects, sends the request and reads the head of the answer, whose status must be 200.
  Step<Done> begin(const Address& server, const SourceRequest& request, const DnsSettings& dns);
  /// The rest of the answer.
  Step<std::string> rest();
  /// The next line of the answer; nothing: none came in that time. The end is an error.
  Step<std::optional<std::string>> next_line(Micros longest);

  void close();

 private:
  Step<Done> connect(const Address& server, const DnsSettings& dns);
  Step<std::size_t> read_some(Micros longest);

  const std::shared_ptr<MainDoor> door_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_{64 << 10};
  std::optional<boost::beast::http::response_parser<boost::beast::http::buffer_body>> parser_;
  std::string text_;          ///< of the body, not handed out yet
  std::size_t searched_ = 0;  ///< bytes of it without the end of a line
  bool timed_out_ = false;
  bool closed_ = false;
};

}  // namespace karmad
