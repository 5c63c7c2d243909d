#include "balancer/discovery/following.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <fstream>
#include <vector>

#include "agent/transport/resolve.hpp"
#include "agent/transport/tls.hpp"
#include "balancer/discovery/found.hpp"

namespace karmad {
namespace {

namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

constexpr Micros kLongestStep = 5s;
constexpr std::size_t kReadAtOnce = 16 << 10;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

std::string reason_of(const boost::system::error_code& error) {
  if (error == boost::beast::error::timeout) return "no answer in time";
  if (error == http::error::end_of_stream || error == asio::error::eof ||
      error == asio::ssl::error::stream_truncated)
    return "the connection was closed";
  return error.message();
}

/// The token, which is the first line of the file, or why there is none.
std::expected<std::string, std::string> read_token(const std::string& file) {
  constexpr std::size_t kLongestToken = 16 << 10;
  std::string token;
  if (!std::getline(std::ifstream(file), token))
    return std::unexpected(fmt::format("{}: no token can be read", file));
  if (token.ends_with('\r')) token.pop_back();
  const bool is_sound = !token.empty() && token.size() <= kLongestToken &&
                        std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_sound)
    return std::unexpected(
        fmt::format("{}: its first line must be a token, without blanks, of at most {} bytes", file,
                    kLongestToken));
  return token;
}

/// Looks the server's name up on another thread.
asio::awaitable<std::expected<Endpoints, std::string>> find_server(
    const std::shared_ptr<MainThreadExecutor>& door, const Address& server,
    const DnsSettings& dns) {
  using Result = std::expected<Endpoints, std::string>;
  if (auto literal = literal_endpoints(server)) co_return Result(*std::move(literal));
  struct State {
    explicit State(asio::io_context& io) : done(io, asio::steady_timer::time_point::max()) {}
    asio::steady_timer done;
    Result result;
  };
  auto state = std::make_shared<State>(door->io());
  run_aside(
      door, [server, dns] { return resolve_now(server, dns); },
      [state](Result found) {
        state->result = std::move(found);
        state->done.cancel();
      });
  co_await state->done.async_wait(kAwait);
  co_return std::move(state->result);
}

}  // namespace

void SourceConnection::close() {
  closed_ = true;
  boost::system::error_code ignored;
  stream_.socket().close(ignored);
}

SourceConnection::Step<SourceConnection::Done> SourceConnection::connect(const Address& server,
                                                                         const DnsSettings& dns) {
  using Result = std::expected<Done, std::string>;
  auto found = co_await find_server(door_, server, dns);
  if (!found) co_return Result(std::unexpected(found.error()));
  std::vector<Tcp::endpoint> endpoints;
  for (const auto& each : *found) {
    Tcp::endpoint endpoint;
    endpoint.resize(each.size());
    std::memcpy(endpoint.data(), each.data(), each.size());
    endpoints.push_back(endpoint);
  }
  if (closed_) co_return Result(std::unexpected("closed"));
  stream_.expires_after(kLongestStep);
  const auto [error, endpoint] = co_await stream_.async_connect(endpoints, kAwait);
  if (error) co_return Result(std::unexpected(fmt::format("cannot connect: {}", reason_of(error))));
  co_return Result(Done{});
}

SourceConnection::Step<SourceConnection::Done> SourceConnection::encrypt(const Address& server) {
  using Result = std::expected<Done, std::string>;
  const auto made = TlsClient::read({.ca = access_.ca, .certificate = access_.certificate});
  if (!made) co_return Result(std::unexpected(made.error().why));
  ::SSL_CTX_up_ref(made->get());
  context_.emplace(made->get());
  encrypted_.emplace(stream_, *context_);
  auto* const ssl = encrypted_->native_handle();
  set_peer_name(ssl, server.host);
  const auto [error] = co_await encrypted_->async_handshake(asio::ssl::stream_base::client, kAwait);
  if (!error) co_return Result(Done{});
  auto refusal = tls_refusal(ssl);
  co_return Result(std::unexpected(refusal.empty() ? "no TLS: " + reason_of(error) : refusal));
}

SourceConnection::Step<SourceConnection::Done> SourceConnection::begin(const Address& server,
                                                                       const SourceRequest& request,
                                                                       const DnsSettings& dns) {
  using Result = std::expected<Done, std::string>;
  auto connected = co_await connect(server, dns);
  if (connected && access_.tls) connected = co_await encrypt(server);
  if (!connected) co_return Result(std::unexpected(connected.error()));
  http::request<http::string_body> head(request.body.empty() ? http::verb::get : http::verb::post,
                                        request.target, 11);
  head.set(http::field::host, text(server));
  head.set(http::field::accept, "application/json");
  head.set(http::field::user_agent, "karmad");
  if (!request.body.empty()) head.set(http::field::content_type, "application/json");
  if (!access_.token.empty()) {
    const auto token = read_token(access_.token);
    if (!token) co_return Result(std::unexpected(token.error()));
    head.set(http::field::authorization, "Bearer " + *token);
  }
  head.body() = request.body;
  head.prepare_payload();
  stream_.expires_after(kLongestStep);
  const auto [not_sent, sent] =
      co_await over([&](auto& stream) { return http::async_write(stream, head, kAwait); });
  if (not_sent) co_return Result(std::unexpected(reason_of(not_sent)));
  parser_.emplace();
  parser_->body_limit(boost::none);  // a watch has no end; its lines are bounded
  const auto [no_head, size] = co_await over(
      [&](auto& stream) { return http::async_read_header(stream, buffer_, *parser_, kAwait); });
  if (no_head) co_return Result(std::unexpected(reason_of(no_head)));
  if (const auto status = parser_->get().result_int(); status != 200) {
    const auto body = co_await rest();
    auto why = fmt::format("the answer has status {}", status);
    if (body && !body->empty()) why += ": " + body->substr(0, 200);
    co_return Result(std::unexpected(std::move(why)));
  }
  co_return Result(Done{});
}

SourceConnection::Step<std::size_t> SourceConnection::read_some(Micros longest) {
  using Result = std::expected<std::size_t, std::string>;
  std::array<char, kReadAtOnce> room{};
  auto& body = parser_->get().body();
  body.data = room.data();
  body.size = room.size();
  stream_.expires_after(longest);
  const auto [error, size] = co_await over(
      [&](auto& stream) { return http::async_read_some(stream, buffer_, *parser_, kAwait); });
  timed_out_ = error == boost::beast::error::timeout;
  if (error && error != http::error::need_buffer)
    co_return Result(std::unexpected(reason_of(error)));
  const auto count = room.size() - body.size;
  text_.append(room.data(), count);
  if (text_.size() > kLongestSource)
    co_return Result(
        std::unexpected(fmt::format("the answer is longer than {} bytes", kLongestSource)));
  co_return Result(count);
}

SourceConnection::Step<std::string> SourceConnection::rest() {
  using Result = std::expected<std::string, std::string>;
  while (!parser_->is_done()) {
    const auto read = co_await read_some(kLongestStep);
    if (!read) co_return Result(std::unexpected(read.error()));
  }
  co_return Result(std::move(text_));
}

SourceConnection::Step<std::optional<std::string>> SourceConnection::next_line(Micros longest) {
  using Result = std::expected<std::optional<std::string>, std::string>;
  for (;;) {
    const auto end = text_.find('\n', searched_);
    if (end != std::string::npos) {
      auto line = text_.substr(0, end);
      text_.erase(0, end + 1);
      searched_ = 0;
      if (line.empty() || line == "\r") continue;
      co_return Result(std::optional(std::move(line)));
    }
    searched_ = text_.size();
    if (parser_->is_done()) co_return Result(std::unexpected("the answer has ended"));
    const auto read = co_await read_some(longest);
    if (!read && timed_out_ && text_.empty()) co_return Result(std::optional<std::string>());
    if (!read) co_return Result(std::unexpected(read.error()));
  }
}

boost::asio::awaitable<void> Following::pause(Micros time) {
  if (stopped_) co_return;
  timer_.expires_after(time);
  co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

boost::asio::awaitable<void> FollowedSource::follow(std::shared_ptr<Following> of,
                                                    Session session) {
  while (!of->stopped()) {
    const auto server = text(of->server());
    const auto why = co_await session(of);
    if (of->stopped()) break;
    of->report(std::unexpected(fmt::format("{}: {}", server, why)));
    co_await of->back_off();
  }
}

}  // namespace karmad
