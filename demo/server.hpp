#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "demo/control.hpp"
#include "demo/engine/engine.hpp"
#include "demo/wire.hpp"

namespace karmad::demo {

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
  Session& operator=(Session&&) = delete;

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

/// A listening socket that can be closed and reopened; meanwhile its port stays reserved.
class Listener {
 public:
  using Strand = asio::strand<asio::io_context::executor_type>;

  /// Binds and listens. Throws `boost::system::system_error` if the address is not available.
  Listener(asio::io_context& io, const asio::ip::tcp::endpoint& at, SessionContext& shared,
           Session::Kind kind);

  asio::ip::tcp::endpoint endpoint() const { return endpoint_; }
  /// Accepts connections. Like the following, only on the strand, or before the threads start.
  void accept();
  /// Refuses new connections and closes the open ones.
  void refuse();
  void listen_again();
  bool refusing() const { return refusing_; }

 private:
  void bind();
  asio::awaitable<void> accept_loop();
  void remember(const std::shared_ptr<Session>& session);

  asio::io_context& io_;
  Strand strand_;
  asio::ip::tcp::acceptor acceptor_;
  asio::ip::tcp::endpoint endpoint_;
  SessionContext& shared_;
  const Session::Kind kind_;
  bool refusing_ = false;
  std::list<std::weak_ptr<Session>> sessions_;
  friend class Server;
};

/// The agent's sockets.
class Server {
 public:
  struct Options {
    asio::ip::tcp::endpoint listen;
    std::optional<asio::ip::tcp::endpoint> control;
  };

  /// `shared` must outlive `io`, which owns the sessions.
  Server(asio::io_context& io, SessionContext& shared, const Options& options);

  asio::ip::tcp::endpoint endpoint() const { return main_.endpoint(); }
  std::optional<asio::ip::tcp::endpoint> control_endpoint() const;

 private:
  /// Opens or closes the listening socket as the switches say, now and when their time is over.
  void apply_switches();

  SessionContext& shared_;
  Listener main_;
  std::optional<Listener> side_;
  asio::steady_timer end_of_switches_;
};

}  // namespace karmad::demo
