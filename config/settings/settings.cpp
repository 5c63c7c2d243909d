#include "config/settings/settings.hpp"

#include <fmt/format.h>

namespace karmad {

std::string text(const Place& at) {
  if (at.line == 0) return "default";
  return at.column == 0 ? at.file : fmt::format("{}:{}:{}", at.file, at.line, at.column);
}

std::string text(const Problem& problem) {
  const auto* const label = problem.severity == Problem::Severity::warning ? "warning: " : "";
  return problem.at.line == 0 ? label + problem.message
                              : fmt::format("{}: {}{}", text(problem.at), label, problem.message);
}

namespace {

/// The first bytes of a text, with the rest of the character that the last of them belongs to.
std::string_view beginning(std::string_view text, std::size_t bytes) {
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80) ++bytes;
  return text.substr(0, bytes);
}

}  // namespace

std::string cleaned(std::string_view text, std::size_t longest) {
  const auto shown = beginning(text, longest);
  std::string out;
  for (const char c : shown) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + (text.size() > shown.size() ? "…" : "");
}

std::string in_quotes(std::string_view text, std::size_t longest) {
  return "'" + cleaned(text, longest) + "'";
}

std::string first_in_quotes(std::string_view text) {
  return in_quotes(beginning(text, 1));
}

namespace {

bool has_options(const Listen& listen) {
  return listen.proxy || listen.no_auth || listen.auth != nullptr;
}

std::string own_auth(const ClientAuth& auth) {
  return fmt::format(",{}={}", auth.kind == ClientAuth::Kind::basic ? "users" : "tokens",
                     auth.file);
}

}  // namespace

std::string text(const Listen& listen) {
  const std::string_view protocol = listen.admin          ? ":admin"
                                    : listen.tls          ? ":https"
                                    : listen.read_only    ? ":mysql_readonly"
                                    : listen.mysql        ? ":mysql"
                                    : has_options(listen) ? ":http"
                                                          : "";
  return fmt::format("{}{}{}{}{}", text(listen.address), protocol, listen.proxy ? ",proxy" : "",
                     listen.no_auth ? ",no-auth" : "", listen.auth ? own_auth(*listen.auth) : "");
}

std::string text(const Address& address) {
  if (address.is_unix()) return address.unix_path;
  const bool v6 = address.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(v6 ? "[{}]:{}" : "{}:{}"), address.host, address.port);
}

}  // namespace karmad
