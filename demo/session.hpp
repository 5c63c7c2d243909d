#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "demo/control.hpp"
#include "demo/engine/engine.hpp"
#include "demo/wire.hpp"

namespace karmad {

namespace asio = boost::asio;

/// The state that sessions share; outlives them.
struct SessionContext {
  const Engine& engine;
  Control& control;
  std::string name;
  bool separate_control = false;              ///< /control has its own port
  std::optional<std::chrono::seconds> clock;  ///< sends Date, so far ahead; nothing: no Date
  std::function<void()> switches_changed;     ///< called after the answer has been sent
};

/// One connection: answers requests in order. Runs on its stream's executor, a strand.
class Session : public std::enable_shared_from_this<Session> {
 public:
  enum class Kind : std::uint8_t { ordinary, control_only };

  Session(boost::beast::tcp_stream stream, SessionContext& shared, Kind kind);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start();
  /// Closes the connection, from any thread.
  void close();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  asio::awaitable<void> run();
  /// Reads one request; false at the connection's end, or after a refused request.
  asio::awaitable<bool> read(Parser& parser);
  /// Answers one request; false if the connection has ended.
  asio::awaitable<bool> respond(const Parser::value_type& message);
  asio::awaitable<bool> respond_control(const HttpRequest& request, const WireOptions& options);
  asio::awaitable<bool> send(Delivery delivery);
  asio::awaitable<void> send_endless(std::string head);
  asio::awaitable<void> wait(Millis time);
  /// Reads and drops bytes until the peer closes the connection or the timer expires.
  asio::awaitable<void> discard_input();
  asio::awaitable<void> refuse(int status, std::string_view why);
  void shut();

  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  SessionContext& shared_;
  const Kind kind_;
};

}  // namespace karmad
