#include "balancer/client/http_get.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "agent/transport/loop/run_detached.hpp"
#include "balancer/operate/state_file.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;

/// One request and its answer on a connected socket.
template <class Socket>
class Exchange {
 public:
  Exchange(Socket& socket, const ServerAddress& server, const HttpRequest& request)
      : socket_(socket), request_(http::string_to_verb(request.method), request.target, 11) {
    request_.set(http::field::host, server.path.empty() ? server.text() : "localhost");
    request_.set(http::field::connection, "close");
    if (!server.token.empty()) request_.set(http::field::authorization, "Bearer " + server.token);
    if (!request.body.empty()) request_.set(http::field::content_type, "application/json");
    request_.body() = request.body;
    if (request.method != "GET") request_.prepare_payload();
    answer_.body_limit(kLongestAnswer);
  }

  void start() {
    http::async_write(socket_, request_, [this](ErrorCode error, std::size_t) {
      if (error) return end(error);
      http::async_read(socket_, buffer_, answer_,
                       [this](ErrorCode failure, std::size_t) { end(failure); });
    });
  }
  /// None: it has not ended.
  std::optional<ErrorCode> ended;
  HttpAnswer take() {
    auto& message = answer_.get();
    return {message.result_int(), std::move(message.body())};
  }

 private:
  void end(ErrorCode error) { ended = error; }

  Socket& socket_;
  http::request<http::string_body> request_;
  http::response_parser<http::string_body> answer_;
  boost::beast::flat_buffer buffer_;
};

std::string failure(const ServerAddress& server, std::string_view why) {
  return fmt::format("no answer from {}: {}", server.text(), why);
}

template <class Socket, class Connect>
std::expected<HttpAnswer, std::string> exchange(const ServerAddress& server,
                                                const HttpRequest& request,
                                                std::chrono::milliseconds longest,
                                                Connect connect) {
  asio::io_context io;
  Socket socket(io);
  Exchange<Socket> run(socket, server, request);
  connect(io, socket, [&run](ErrorCode error) {
    if (error) {
      run.ended = error;
    } else {
      run.start();
    }
  });
  io.run_for(longest);
  if (!run.ended)
    return std::unexpected(
        failure(server, fmt::format("nothing came within {} ms", longest.count())));
  if (*run.ended) return std::unexpected(failure(server, run.ended->message()));
  return run.take();
}

using Tcp = asio::ip::tcp;
using Resolved = std::pair<Tcp::resolver::results_type, ErrorCode>;

/// Looks a name up. A look-up cannot be cancelled: one that takes too long continues on its thread.
std::expected<Resolved, std::string> look_up(const ServerAddress& server,
                                             std::chrono::milliseconds longest) {
  auto promise = std::make_shared<std::promise<Resolved>>();
  auto found = promise->get_future();
  run_detached([promise, server] {
    asio::io_context io;
    Resolved result;
    result.first = Tcp::resolver(io).resolve(server.host, server.port, result.second);
    promise->set_value(std::move(result));
  });
  if (found.wait_for(longest) == std::future_status::ready) return found.get();
  return std::unexpected(
      failure(server, fmt::format("the look-up of the name '{}' has no answer within {} ms",
                                  server.host, longest.count())));
}

}  // namespace

std::expected<ServerAddress, std::string> parse_server_address(std::string text,
                                                               std::string_view default_port) {
  if (text.starts_with("https://"))
    return std::unexpected("https is not supported; use the address of a plain listener");
  if (text.starts_with("http://"))
    text.erase(0, 7);
  else if (text.contains('/'))
    return ServerAddress{.path = text};
  if (text.ends_with('/')) text.pop_back();
  ServerAddress server;
  const auto bracket = text.rfind(']');
  const auto colon = text.rfind(':');
  const bool has_port = colon != text.npos && (bracket == text.npos || colon > bracket);
  server.host = text.substr(0, has_port ? colon : text.npos);
  server.port = has_port ? text.substr(colon + 1) : std::string(default_port);
  if (server.host.starts_with('[') && server.host.ends_with(']'))
    server.host = server.host.substr(1, server.host.size() - 2);
  if (server.host.empty()) server.host = "127.0.0.1";
  const bool digits =
      !server.port.empty() && server.port.size() < 6 && std::ranges::all_of(server.port, is_digit);
  if (!digits || std::stoul(server.port) > 65535)
    return std::unexpected(fmt::format(
        "'{}' is not an address; write host:port, http://host:port or the path of a socket", text));
  return server;
}

std::expected<ServerAddress, std::string> server_with_token(const std::string& text,
                                                            const std::string& token_file,
                                                            std::string_view default_port) {
  auto server = parse_server_address(text, default_port);
  if (!server || token_file.empty()) return server;
  auto token = read_token_file(token_file);
  if (!token) return std::unexpected(fmt::format("{}: {}", token_file, token.error()));
  server->token = *std::move(token);
  return server;
}

std::expected<HttpAnswer, std::string> http_get(const ServerAddress& server,
                                                const std::string& target,
                                                std::chrono::milliseconds longest) {
  return http_ask(server, {.target = target}, longest);
}

std::expected<HttpAnswer, std::string> http_ask(const ServerAddress& server,
                                                const HttpRequest& request,
                                                std::chrono::milliseconds longest) {
  if (!server.path.empty()) {
    using Local = asio::local::stream_protocol;
    return exchange<Local::socket>(server, request, longest,
                                   [&](asio::io_context&, Local::socket& socket, auto then) {
                                     socket.async_connect(Local::endpoint(server.path), then);
                                   });
  }
  const auto began = std::chrono::steady_clock::now();
  const auto found = look_up(server, longest);
  if (!found) return std::unexpected(found.error());
  const auto& [endpoints, error] = *found;
  if (error) return std::unexpected(failure(server, error.message()));
  const auto left = longest - std::chrono::floor<std::chrono::milliseconds>(
                                  std::chrono::steady_clock::now() - began);
  return exchange<Tcp::socket>(
      server, request, left, [&](asio::io_context&, Tcp::socket& socket, auto then) {
        asio::async_connect(
            socket, endpoints,
            [then](ErrorCode failed, const Tcp::endpoint&) mutable { then(failed); });
      });
}

}  // namespace karmad
