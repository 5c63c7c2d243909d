#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

#include "config/settings/settings.hpp"

namespace karmad {

/// Where a running karmad listens: `host:port`, `port`, `http://host:port` or the path of a socket.
struct ServerAddress {
  Address address;
  std::string token{};  ///< for Authorization: Bearer; empty: none
};

/// Without a port it is `default_port`. The error says what is wrong.
std::expected<ServerAddress, std::string> parse_server_address(
    std::string text, std::string_view default_port = "9308");

/// Prints why a command, such as `karmad ctl`, has failed; returns `code`, with which it ends.
int failed(std::string_view command, std::string_view why, int code);

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};

/// `status 403: REASON`, with the `error` of the body; without one: `status 404; is it karmad?`.
std::string refusal_text(const HttpAnswer& answer);

/// Longest body that http_ask() accepts, in bytes.
inline constexpr std::size_t kLongestAnswer = 64 << 20;

/// The same with the token of this file, unless its name is empty.
std::expected<ServerAddress, std::string> server_with_token(const std::string& text,
                                                            const std::string& token_file,
                                                            std::string_view default_port = "9308");

/// A request of a command to a running karmad.
struct HttpRequest {
  std::string method = "GET";
  std::string target;
  std::string body{};  ///< JSON; empty: none
};

/// Sends a request on a new connection and waits for the whole answer, at most `longest`. The error
/// says what failed, with the address.
std::expected<HttpAnswer, std::string> http_ask(const ServerAddress& server,
                                                const HttpRequest& request,
                                                std::chrono::milliseconds longest);

struct CtlOptions;
/// The admin listener and the token that the options name.
std::expected<ServerAddress, std::string> admin_server(const CtlOptions& options);
/// Longest wait for the answer of an admin listener.
inline constexpr std::chrono::seconds kAdminWait{15};

}  // namespace karmad
