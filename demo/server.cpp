#include "demo/server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

namespace karmad {

namespace {

constexpr auto kAcceptToken = asio::as_tuple(asio::use_awaitable);

}  // namespace

Listener::Listener(asio::io_context& io, const asio::ip::tcp::endpoint& at, SessionContext& shared,
                   Session::Kind kind)
    : io_(io),
      strand_(asio::make_strand(io)),
      acceptor_(strand_),
      endpoint_(at),
      shared_(shared),
      kind_(kind) {
  bind();
  endpoint_ = acceptor_.local_endpoint();
  acceptor_.listen();
}

void Listener::bind() {
  acceptor_.open(endpoint_.protocol());
  acceptor_.set_option(asio::socket_base::reuse_address(true));
  acceptor_.bind(endpoint_);
}

void Listener::accept() {
  asio::co_spawn(strand_, accept_loop(), asio::detached);
}

asio::awaitable<void> Listener::accept_loop() {
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(asio::make_strand(io_), kAcceptToken);
    if (error == asio::error::operation_aborted || !acceptor_.is_open()) co_return;
    if (error) {  // most likely no descriptor is free; one may become free soon
      asio::steady_timer pause(strand_, std::chrono::milliseconds(10));
      co_await pause.async_wait(kAcceptToken);
      continue;
    }
    const auto session =
        std::make_shared<Session>(boost::beast::tcp_stream(std::move(socket)), shared_, kind_);
    remember(session);
    session->start();
  }
}

void Listener::remember(const std::shared_ptr<Session>& session) {
  sessions_.remove_if([](const auto& old) { return old.expired(); });
  sessions_.push_back(session);
}

void Listener::refuse() {
  if (refusing_) return;
  refusing_ = true;
  acceptor_.close();
  bind();  // without listening: keeps the port, and connections are refused
  for (const auto& weak : sessions_)
    if (const auto session = weak.lock()) session->close();
  sessions_.clear();
}

void Listener::listen_again() {
  if (!refusing_) return;
  refusing_ = false;
  acceptor_.listen();
  accept();
}

Server::Server(asio::io_context& io, SessionContext& shared, const Options& options)
    : shared_(shared),
      main_(io, options.listen, shared, Session::Kind::ordinary),
      end_of_switches_(main_.strand_) {
  shared_.separate_control = options.control.has_value();
  shared_.switches_changed = [this] {
    asio::dispatch(main_.strand_, [this] { apply_switches(); });
  };
  if (options.control) side_.emplace(io, *options.control, shared, Session::Kind::control_only);
  if (side_) side_->accept();
  main_.accept();
}

std::optional<asio::ip::tcp::endpoint> Server::control_endpoint() const {
  if (!side_) return std::nullopt;
  return side_->endpoint();
}

void Server::apply_switches() {
  const auto switches = shared_.control.current(Control::Clock::now());
  if (switches.mode == Mode::refuse) {
    main_.refuse();
  } else {
    main_.listen_again();
  }
  end_of_switches_.cancel();
  if (switches.for_seconds <= 0) return;
  const std::chrono::duration<double> rest(switches.for_seconds);
  end_of_switches_.expires_after(std::chrono::duration_cast<Control::Clock::duration>(rest) +
                                 std::chrono::milliseconds(1));
  end_of_switches_.async_wait([this](boost::system::error_code error) {
    if (!error) apply_switches();
  });
}

}  // namespace karmad
