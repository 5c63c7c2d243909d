#include "demo/server.hpp"

#include <fmt/chrono.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

namespace karmad::demo {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::uint32_t kHeadLimit = 16 << 10;
constexpr std::uint64_t kBodyLimit = 16 << 20;
constexpr auto kIdle = std::chrono::minutes(5);    // client_timeout of the search server
constexpr auto kLinger = std::chrono::seconds(2);  // for a client to read its refusal
constexpr std::size_t kHugeBody = std::size_t{256} << 20;

HttpRequest request_of(const http::request<http::string_body>& message) {
  HttpRequest out;
  out.method = message.method_string();
  const std::string_view target = message.target();
  const auto question = target.find('?');
  out.path = target.substr(0, question);
  if (question != std::string_view::npos) out.query = target.substr(question + 1);
  out.body = message.body();
  return out;
}

WallMs wall_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// The field Date of a server whose clock is so far ahead; empty without one.
std::string date_of(std::optional<std::chrono::seconds> ahead) {
  if (!ahead) return {};
  const auto now = std::chrono::system_clock::now() + *ahead;
  return fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

}  // namespace

Session::Session(beast::tcp_stream stream, SessionContext& shared, Kind kind)
    : stream_(std::move(stream)), shared_(shared), kind_(kind) {
  if (kind_ == Kind::ordinary) shared_.control.connection_opened();
}

Session::~Session() {
  if (kind_ == Kind::ordinary) shared_.control.connection_closed();
}

void Session::start() {
  asio::co_spawn(
      stream_.get_executor(), [self = shared_from_this()] { return self->run(); }, asio::detached);
}

void Session::close() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->stream_.close(); });
}

asio::awaitable<void> Session::run() {
  boost::system::error_code ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  for (bool more = true; more;) {
    Parser parser;
    parser.header_limit(kHeadLimit);
    parser.body_limit(kBodyLimit);
    more = co_await read(parser) && co_await respond(parser.get());
  }
  shut();
}

asio::awaitable<bool> Session::read(Parser& parser) {
  stream_.expires_after(kIdle);
  auto [error, size] = co_await http::async_read_header(stream_, buffer_, parser, kToken);
  if (!error && !parser.is_done()) {
    if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(stream_, asio::buffer(kContinue), kToken);
    }
    std::tie(error, size) = co_await http::async_read(stream_, buffer_, parser, kToken);
  }
  if (!error) co_return true;
  if (error == http::error::header_limit) {
    co_await refuse(431, "the head is too large");
  } else if (error == http::error::body_limit) {
    co_await refuse(413, "the body is too large");
  } else if (error == http::error::bad_version) {
    co_await refuse(505, "only HTTP/1.0 and HTTP/1.1");
  } else if (error.category() == make_error_code(http::error::bad_method).category() &&
             error != http::error::end_of_stream && error != http::error::partial_message) {
    co_await refuse(400, "this is not HTTP: " + error.message());
  }
  co_return false;
}

asio::awaitable<void> Session::refuse(int status, std::string_view why) {
  const WireOptions options{.name = shared_.name, .keep_alive = false};
  co_await send(deliver(error_answer(status, why), Mode::ok, options));
  // A close with unread bytes would reset the connection, and the client could lose the answer.
  boost::system::error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kLinger);
  co_await discard_input();
}

asio::awaitable<bool> Session::respond(const Parser::value_type& message) {
  const auto request = request_of(message);
  WireOptions options{.name = shared_.name,
                      .date = date_of(shared_.clock),
                      .head = message.method() == http::verb::head,
                      .http10 = message.version() == 10,
                      .keep_alive = message.keep_alive()};
  if (request.path == "/control") co_return co_await respond_control(request, options);
  if (kind_ == Kind::control_only)
    co_return co_await send(deliver(error_answer(404, "only /control here"), Mode::ok, options));

  const auto now = Control::Clock::now();
  const auto switches = shared_.control.current(now);
  const std::string target(message.target());
  const std::string timeout(message["X-Timeout-Ms"]);
  const auto effects =
      shared_.control.decide(purpose_of(request.path), {target, timeout, request.body}, now);
  HttpAnswer answer;
  if (effects.overloaded) {
    answer = error_answer(switches.overload_status, "the demo agent simulates overload");
    options.retry_after = switches.retry_after;
  } else if (effects.error) {
    answer = error_answer(500, "the demo agent simulates an error");
  } else if (effects.mode != Mode::blackhole) {
    answer = shared_.engine.answer(request, shared_.control.membership(), wall_clock());
    if (answer.updates > 0) shared_.control.count_updates(answer.updates);
  }
  if (effects.wait.count() > 0) co_await wait(effects.wait);
  auto delivery = deliver(answer, effects.mode, options);
  if (effects.mode == Mode::huge) {
    co_await send_endless(std::move(delivery.bytes));
    co_return false;
  }
  co_return co_await send(std::move(delivery));
}

asio::awaitable<bool> Session::respond_control(const HttpRequest& request,
                                               const WireOptions& options) {
  const bool last_way_in = kind_ == Kind::ordinary && !shared_.separate_control;
  const bool allowed =
      request.method == "GET" || request.method == "POST" || request.method == "HEAD";
  Control::ControlResult done;
  if (allowed) {
    done = shared_.control.answer(request.query, request.body, last_way_in, Control::Clock::now(),
                                  wall_clock());
  } else {
    done.answer = error_answer(405, "method not allowed, use GET, HEAD, POST");
    done.answer.allow = "GET, HEAD, POST";
  }
  const bool more = co_await send(deliver(done.answer, Mode::ok, options));
  if (done.changed) shared_.switches_changed();
  co_return more;
}

asio::awaitable<bool> Session::send(Delivery delivery) {
  stream_.expires_after(kIdle);
  if (!delivery.bytes.empty()) {
    auto [error, size] = co_await asio::async_write(stream_, asio::buffer(delivery.bytes), kToken);
    if (error) co_return false;
  }
  boost::system::error_code ignored;
  switch (delivery.after) {
    case After::keep:
      co_return true;
    case After::close:
      co_return false;
    case After::reset:
      stream_.socket().set_option(asio::socket_base::linger(true, 0), ignored);
      stream_.close();
      co_return false;
    case After::silence:
      stream_.expires_never();
      co_await discard_input();
      co_return false;
  }
  co_return false;
}

asio::awaitable<void> Session::send_endless(std::string head) {
  const std::string part(64 << 10, 'x');
  head += R"({"took":1,"endless":")";
  co_await asio::async_write(stream_, asio::buffer(head), kToken);
  for (std::size_t sent = 0; sent + part.size() < kHugeBody; sent += part.size()) {
    stream_.expires_after(kIdle);
    auto [error, size] = co_await asio::async_write(stream_, asio::buffer(part), kToken);
    if (error) co_return;
  }
}

asio::awaitable<void> Session::wait(Millis time) {
  asio::steady_timer timer(stream_.get_executor(),
                           std::chrono::duration_cast<std::chrono::steady_clock::duration>(time));
  co_await timer.async_wait(kToken);
}

asio::awaitable<void> Session::discard_input() {
  std::array<char, 4096> bytes;  // NOLINT: filled by the read
  for (;;) {
    auto [error, size] = co_await stream_.async_read_some(asio::buffer(bytes), kToken);
    if (error) co_return;
  }
}

void Session::shut() {
  boost::system::error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.close();
}

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
    auto [error, socket] = co_await acceptor_.async_accept(asio::make_strand(io_), kToken);
    if (error == asio::error::operation_aborted || !acceptor_.is_open()) co_return;
    if (error) {  // most likely no descriptor is free; one may become free soon
      asio::steady_timer pause(strand_, std::chrono::milliseconds(10));
      co_await pause.async_wait(kToken);
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

}  // namespace karmad::demo
