#include "balancer/client/commands.hpp"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "agent/json/json_tree.hpp"
#include "agent/mirrors/attempt.hpp"
#include "agent/transport/http/field_names.hpp"
#include "balancer/operate/state_file.hpp"
#include "balancer/trace/plain_text.hpp"
#include "config/settings/address.hpp"
#include "config/text/number_in.hpp"

namespace karmad {
namespace {

constexpr std::size_t kKeptBuffer = 64 << 10;

std::string failure(const ServerAddress& server, std::string_view why) {
  return fmt::format("no answer from {}: {}", text(server.address), why);
}

Task<void> ask(Loop& loop, Pool& pool, const AttemptRequest& request, AttemptResult& result) {
  Stop stop(loop);
  co_await attempt(loop, pool, request, stop, result);
  pool.clear();
  // Closed connections return to the pool in later turns of the loop.
  while (!pool.unused()) co_await next_turn(loop);
}

}  // namespace

std::expected<ServerAddress, std::string> parse_server_address(std::string text,
                                                               std::string_view default_port) {
  if (text.starts_with("https://"))
    return std::unexpected("https is not supported; use the address of a plain listener");
  if (text.starts_with("http://"))
    text.erase(0, 7);
  else if (text.contains('/'))
    return ServerAddress{{.host = {}, .port = 0, .unix_path = text}};
  if (text.ends_with('/')) text.pop_back();
  if (is_number(text)) text.insert(0, 1, ':');
  Address server;
  const auto bracket = text.rfind(']');
  const auto colon = text.rfind(':');
  const bool has_port = colon != text.npos && (bracket == text.npos || colon > bracket);
  server.host = text.substr(0, has_port ? colon : text.npos);
  const auto port =
      number_in<std::uint16_t>(has_port ? std::string_view(text).substr(colon + 1) : default_port);
  const bool lacks_brackets = !server.host.starts_with('[') && server.host.contains(':');
  if (server.host.starts_with('[') && server.host.ends_with(']'))
    server.host = server.host.substr(1, server.host.size() - 2);
  if (server.host.empty()) server.host = "127.0.0.1";
  if (!port || lacks_brackets)
    return std::unexpected(
        fmt::format("'{}' is not an address; write host:port, port, [IPv6]:port, "
                    "http://host:port or the path of a socket",
                    text));
  server.port = *port;
  return ServerAddress{server};
}

int failed(std::string_view command, std::string_view why, int code) {
  std::cerr << command << ": " << why << '\n';
  return code;
}

std::string refusal_text(const HttpAnswer& answer) {
  const auto reason = without_controls(text_member(tree_of(answer.body), "error"));
  return reason.empty() ? fmt::format("status {}; is it karmad?", answer.status)
                        : fmt::format("status {}: {}", answer.status, reason);
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

std::expected<HttpAnswer, std::string> http_ask(const ServerAddress& server,
                                                const HttpRequest& request,
                                                std::chrono::milliseconds longest) {
  Loop loop(0, kKeptBuffer, std::random_device{}());
  ConnectionLimits limits(1, {.kept = 0});
  Pool pool(loop, std::make_shared<PlainServer>(server.address), limits, LookUp::at_load);
  const auto authorization = "Bearer " + server.token;
  const Field field{kAuthorization, authorization};
  const auto now = Loop::now();
  const bool is_get = request.method == "GET";
  const AttemptRequest attempted{
      .began = now,
      .method = request.method,
      .target = request.target,
      .content_type = request.body.empty() ? "" : "application/json",
      .body = is_get ? std::nullopt : std::optional<std::string_view>(request.body),
      .extra = {&field, server.token.empty() ? 0U : 1U},
      .connect_timeout = 2 * longest,  // the deadline ends it
      .query_timeout = 2 * longest,
      .deadline = now + longest,
      .limits = {.most = kLongestAnswer, .most_is = "what is read"}};
  AttemptResult result;
  spawn(ask(loop, pool, attempted, result));
  loop.let_end();
  loop.run();
  if (result.out_of_time)
    return std::unexpected(
        failure(server, fmt::format("nothing came within {} ms", longest.count())));
  if (result.outcome != Outcome::answered) return std::unexpected(failure(server, result.why));
  return HttpAnswer{static_cast<unsigned>(result.reply.status), std::string(result.reply.body())};
}

}  // namespace karmad
