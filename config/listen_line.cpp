#include "config/load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "config/settings/address.hpp"
#include "config/text/closest.hpp"

namespace karmad {

namespace {

constexpr std::array<std::string_view, 9> kProtocols{
    "http", "admin", "https", "mysql", "mysql41", "sphinx", "sphinxse", "replication", "buddy"};

/// A part of the line between colons.
struct Field {
  std::string_view text;
  std::size_t offset;
};

/// Splits at colons, but not inside the brackets of a leading IPv6 address.
std::vector<Field> fields_of(std::string_view line) {
  std::vector<Field> fields;
  std::size_t begin = 0;
  const auto bracket = line.starts_with('[') ? line.find(']') : 0;
  auto colon = line.find(':', bracket == std::string_view::npos ? line.size() : bracket);
  for (; colon != std::string_view::npos; colon = line.find(':', begin)) {
    fields.push_back({line.substr(begin, colon - begin), begin});
    begin = colon + 1;
  }
  fields.push_back({line.substr(begin), begin});
  return fields;
}

constexpr std::uint16_t kDefaultMysqlPort = 9306;

/// Removes `_vip` and `_readonly`, which the search server has for its protocols.
std::string without_suffixes(std::string word) {
  for (const std::string_view suffix : {"_vip", "_readonly", "_vip"})
    if (word.ends_with(suffix)) word.resize(word.size() - suffix.size());
  return word;
}

bool is_protocol_field(const Field& field) {
  return !field.text.empty() && field.text[0] >= 'A' &&
         std::find(kProtocols.begin(), kProtocols.end(), without_suffixes(lower(field.text))) !=
             kProtocols.end();
}

constexpr std::array<std::string_view, 4> kListenerOptions{"proxy", "no-auth", "users=", "tokens="};
// What others call them.
constexpr std::array<std::string_view, 4> kForeignProxy{"accept-proxy", "proxy_protocol",
                                                        "send-proxy", "proxy-protocol"};

/// Sets the option if it is `users=FILE` or `tokens=FILE`. Empty: it is not; else what is wrong.
std::optional<std::string> take_own_auth(std::string_view option, Listen& listen) {
  using enum ClientAuth::Kind;
  const auto word = option.substr(0, option.find('=') + 1);
  if (word != kListenerOptions[2] && word != kListenerOptions[3]) return std::nullopt;
  const auto file = option.substr(word.size());
  if (!file.starts_with('/')) return fmt::format("{} needs the absolute path of a file", word);
  if (listen.auth)
    return fmt::format("{} is the second file with credentials of this listener; it has one", word);
  listen.auth = std::make_shared<const ClientAuth>(
      ClientAuth{word == kListenerOptions[2] ? basic : bearer, std::string(file)});
  return std::string();
}

/// Takes the options behind the protocol, `http,proxy`, off the field and sets them. A problem: one
/// of them is unknown.
std::optional<Unfit> take_options(Field& field, Listen& listen) {
  const auto comma = field.text.find(',');
  if (comma == field.text.npos) return std::nullopt;
  auto rest = field.text.substr(comma + 1);
  auto offset = field.offset + comma + 1;
  field.text = field.text.substr(0, comma);
  for (;;) {
    const auto end = std::min(rest.find(','), rest.size());
    const auto option = lower(rest.substr(0, end));
    if (option == kListenerOptions[0]) {
      listen.proxy = true;
    } else if (option == kListenerOptions[1]) {
      listen.no_auth = true;
    } else if (const auto trouble = take_own_auth(rest.substr(0, end), listen)) {
      if (!trouble->empty()) return Unfit{offset, *trouble};
    } else {
      const bool is_foreign = std::ranges::find(kForeignProxy, option) != kForeignProxy.end();
      return Unfit{offset,
                   fmt::format("unknown option {} of a listener{}; known are {}", in_quotes(option),
                               suggestion(is_foreign ? "proxy" : option, kListenerOptions),
                               fmt::join(kListenerOptions, ", "))};
    }
    if (end == rest.size()) return std::nullopt;
    rest.remove_prefix(end + 1);
    offset += end + 1;
  }
}

}  // namespace

std::optional<Listen> parse_listen(const SourceText& line, Problems& problems, Problems& notices) {
  const auto problem = [&](std::size_t offset, std::string message) {
    problems.push_back({line.place(offset), std::move(message)});
    return std::nullopt;
  };
  auto fields = fields_of(line.text());
  Listen listen;
  if (fields.size() > 1)
    if (const auto unknown = take_options(fields.back(), listen))
      return problem(unknown->offset, unknown->why);
  if (fields.size() > 1 && is_protocol_field(fields.back())) {
    const auto field = fields.back();
    const auto word = lower(field.text);
    const auto protocol = without_suffixes(word);
    fields.pop_back();
    listen.tls = protocol == "https";
    listen.admin = protocol == "admin";
    listen.mysql = protocol.starts_with("mysql");
    listen.read_only = listen.mysql && word.find("_readonly") != word.npos;
    if (protocol != "http" && !listen.tls && !listen.admin && !listen.mysql) {
      notices.push_back(
          {line.place(0), fmt::format("listen = {} is ignored: karmad does not support {}",
                                      line.text(), protocol)});
      return std::nullopt;
    }
    const bool has_unused_suffix = listen.mysql ? word.find("_vip") != word.npos : word != protocol;
    if (has_unused_suffix)
      notices.push_back(
          {line.place(field.offset),
           fmt::format("karmad reads {} as {}{}: the suffix {}is ignored", word, protocol,
                       listen.read_only ? "_readonly" : "", listen.mysql ? "_vip " : "")});
  }

  listen.address.host = listen.admin ? "127.0.0.1" : "*";
  listen.address.port = listen.mysql ? kDefaultMysqlPort : kDefaultPort;
  listen.at = line.place(0);
  const auto before = problems.size();
  const auto unknown_protocol = [&](const Field& field) {
    if (std::ranges::count(kProtocols, lower(field.text)) != 0)
      problem(fields.back().offset,
              fmt::format("{} is not expected behind the protocol", in_quotes(fields.back().text)));
    else
      problem(field.offset, fmt::format("unknown protocol {}{}", in_quotes(field.text),
                                        suggestion(lower(field.text), kProtocols)));
  };
  if (line.text().starts_with('/')) {
    auto path = parse_unix_path(fields[0].text);
    if (!path) problem(path.error().offset, path.error().why);
    if (fields.size() > 1) unknown_protocol(fields[1]);
    if (problems.size() != before) return std::nullopt;
    listen.address = {.host = {}, .port = 0, .unix_path = std::move(*path)};
    return listen;
  }
  if (fields.size() > 2 && fields[0].text.empty())
    return problem(0, "an IPv6 address needs brackets, as in [::1]:9308");
  if (!is_number(fields[0].text)) {
    const auto& first = fields[0];
    if (first.text == "*") {
      listen.address.host = "*";
    } else {
      auto host = parse_host(first.text);
      if (host)
        listen.address.host = std::move(*host);
      else
        problem(first.offset + host.error().offset, host.error().why);
    }
    fields.erase(fields.begin());
  }
  if (!fields.empty()) {
    const auto& field = fields[0];
    const auto port = parse_port(field.text);
    if (port)
      listen.address.port = *port;
    else if (!field.text.empty() && field.text[0] >= 'A')
      unknown_protocol(field);
    else
      problem(field.offset + port.error().offset, port.error().why);
  }
  if (fields.size() > 1) unknown_protocol(fields[1]);
  if (problems.size() != before) return std::nullopt;
  return listen;
}

}  // namespace karmad
