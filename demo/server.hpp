#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <list>
#include <memory>
#include <optional>

#include "demo/session.hpp"

namespace karmad {

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

}  // namespace karmad
