#include "config/settings/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/text/closest.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestUnixPath = 107;  // sun_path has 108 bytes, including the final zero

bool is_host_letter(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

bool is_ipv6(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

std::expected<std::string, Unfit> parse_ipv6(std::string_view bracketed) {
  if (!bracketed.ends_with(']')) return unfit(0, "the '[' of an IPv6 address has no ']'");
  const auto inside = bracketed.substr(1, bracketed.size() - 2);
  const auto zone = inside.find('%');  // fe80::1%eth0
  in6_addr address{};
  if (inet_pton(AF_INET6, std::string(inside.substr(0, zone)).c_str(), &address) != 1)
    return unfit(1, fmt::format("{} is not an IPv6 address", in_quotes(inside)));
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, &address, text.data(), text.size());
  std::string host = text.data();
  if (zone != std::string_view::npos) {
    const auto name = inside.substr(zone + 1);
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_host_letter))
      return unfit(zone + 1, fmt::format("{} is not the zone of an IPv6 address", in_quotes(name)));
    host += inside.substr(zone);
  }
  return host;
}

}  // namespace

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::expected<std::string, Unfit> parse_host(std::string_view text) {
  if (text.empty()) return unfit(0, "a host is missing");
  if (text[0] == '[') return parse_ipv6(text);
  const auto bad = std::find_if_not(text.begin(), text.end(), is_host_letter);
  if (bad != text.end()) {
    if (is_ipv6(std::string(text)))
      return unfit(0, fmt::format("an IPv6 address needs brackets: [{}]", text));
    return unfit(
        static_cast<std::size_t>(bad - text.begin()),
        fmt::format("{} cannot be part of a host name", first_in_quotes({bad, text.end()})));
  }
  const bool no_letter = std::none_of(text.begin(), text.end(), is_letter);
  in_addr address{};
  if (no_letter && inet_pton(AF_INET, std::string(text).c_str(), &address) != 1)
    return unfit(text, "is neither a host name nor an IPv4 address");
  return lower(text);
}

std::expected<std::uint16_t, Unfit> parse_port(std::string_view text) {
  const auto number = parse_count(text);
  if (!number) return std::unexpected(number.error());
  if (*number > 65535) return unfit(0, fmt::format("port {} is larger than 65535", *number));
  return static_cast<std::uint16_t>(*number);
}

std::expected<std::string, Unfit> parse_unix_path(std::string_view text) {
  const auto bad = std::find_if_not(text.begin(), text.end(),
                                    [](char c) { return is_host_letter(c) || c == '/'; });
  if (bad != text.end())
    return unfit(
        static_cast<std::size_t>(bad - text.begin()),
        fmt::format("{} cannot be part of a socket's path", first_in_quotes({bad, text.end()})));
  if (text.size() > kLongestUnixPath)
    return unfit(0, fmt::format("the path of a unix socket has at most {} bytes, this has {}",
                                kLongestUnixPath, text.size()));
  return std::string(text);
}

namespace {

constexpr std::size_t kMostServers = 8;
constexpr std::size_t kLongestName = 1024;
constexpr std::uint16_t kDnsPort = 53;
constexpr std::uint16_t kEtcdPort = 2379;
constexpr std::uint16_t kProxyPort = 8001;  // of `kubectl proxy`
constexpr std::uint16_t kHttpsPort = 443;
constexpr std::string_view kPlain = "http://";
constexpr std::string_view kEncrypted = "https://";
// Where Kubernetes mounts what a pod needs for the API server.
constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";
constexpr std::array<std::string_view, 3> kSources{"file", "etcd", "kubernetes"};

/// A part of a text and its offset there.
struct Piece {
  std::string_view text;
  std::size_t at = 0;

  Piece cut() const {
    const auto part = trimmed(text, " \t");
    return {part, at + static_cast<std::size_t>(part.data() - text.data())};
  }
  Piece from(std::size_t begin) const { return {text.substr(begin), at + begin}; }
  std::unexpected<Unfit> unfit(std::string why) const {
    return std::unexpected(Unfit{at, std::move(why)});
  }
};

/// `host[:port]` with brackets around IPv6.
std::expected<Address, Unfit> read_server(Piece piece, std::uint16_t port) {
  const auto behind = piece.text.starts_with('[') ? piece.text.find(']') : 0;
  const auto colon = piece.text.find(':', std::min(behind, piece.text.size()));
  auto host = parse_host(piece.text.substr(0, colon));
  if (!host) return std::unexpected(Unfit{piece.at + host.error().offset, host.error().why});
  Address address{.host = *std::move(host), .port = port, .unix_path = {}};
  if (colon == std::string_view::npos) return address;
  const auto digits = piece.from(colon + 1);
  const auto read = parse_port(digits.text);
  if (!read) return std::unexpected(Unfit{digits.at + read.error().offset, read.error().why});
  if (*read == 0) return digits.unfit("a server cannot have port 0");
  address.port = *read;
  return address;
}

std::string_view scheme(const DiscoverySource& source) {
  return source.access.tls ? kEncrypted : kPlain;
}

/// The servers of `http://…[,http://…]`, or `https:` in all of them; returns the path behind the
/// first. `port`: the default with TLS, and without.
std::expected<std::string, Unfit> read_urls(Piece urls,
                                            std::pair<std::uint16_t, std::uint16_t> port,
                                            DiscoverySource& source) {
  auto& servers = source.servers;
  source.access.tls = urls.cut().text.starts_with(kEncrypted);
  std::string path;
  for (auto rest = urls;;) {
    const auto comma = std::min(rest.text.find(','), rest.text.size());
    const auto url = Piece{rest.text.substr(0, comma), rest.at}.cut();
    if (!url.text.starts_with(scheme(source)))
      return url.unfit(fmt::format("expected {}HOST:PORT, found {}",
                                   servers.empty() ? "http:// or https://" : scheme(source),
                                   in_quotes(url.text)));
    if (servers.size() == kMostServers)
      return url.unfit(fmt::format("there are at most {} servers", kMostServers));
    const auto server = url.from(scheme(source).size());
    const auto slash = std::min(server.text.find('/'), server.text.size());
    auto address = read_server({server.text.substr(0, slash), server.at},
                               source.access.tls ? port.first : port.second);
    if (!address) return std::unexpected(address.error());
    const auto behind = server.from(slash);
    if (servers.empty()) {
      path = behind.text;
    } else if (!behind.text.empty() && behind.text != path) {
      return behind.unfit("only the first URL has a path, which counts for all");
    }
    servers.push_back(*std::move(address));
    if (comma == rest.text.size()) return path;
    rest = rest.from(comma + 1);
  }
}

std::expected<DiscoverySource, Unfit> read_etcd(Piece urls) {
  DiscoverySource source{.kind = DiscoverySource::Kind::etcd};
  auto prefix = read_urls(urls, {kEtcdPort, kEtcdPort}, source);
  if (!prefix) return std::unexpected(prefix.error());
  if (prefix->size() < 2)
    return urls.unfit("the prefix of the keys is missing, as in http://127.0.0.1:2379/karmad/t/");
  source.name = *std::move(prefix);
  return source;
}

bool is_dns_label(std::string_view text) {
  return !text.empty() && text.size() <= 63 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

std::expected<DiscoverySource, Unfit> read_kubernetes(Piece words) {
  DiscoverySource source{.kind = DiscoverySource::Kind::kubernetes};
  const auto blank = std::min(words.text.find_first_of(" \t"), words.text.size());
  const auto name = words.text.substr(0, blank);
  const auto slash = name.find('/');
  const auto colon = std::min(name.find(':'), name.size());
  if (slash >= colon || !is_dns_label(name.substr(0, slash)) ||
      !is_dns_label(name.substr(slash + 1, colon - slash - 1)))
    return words.unfit(fmt::format("expected NAMESPACE/SERVICE, found {}", in_quotes(name)));
  if (colon < name.size() && !is_dns_label(name.substr(colon + 1)))
    return words.from(colon + 1).unfit("the name of a port is missing");
  source.name = name.substr(0, colon);
  if (colon < name.size()) source.port = name.substr(colon + 1);
  if (const auto url = words.from(blank).cut(); !url.text.empty()) {
    const auto path = read_urls(url, {kHttpsPort, kProxyPort}, source);
    if (!path) return std::unexpected(path.error());
    if (source.servers.size() > 1) return url.unfit("the API has one URL");
    if (!path->empty() && *path != "/") return url.unfit("the URL of the API has no path");
  } else {
    source.servers.push_back({.host = "127.0.0.1", .port = kProxyPort, .unix_path = {}});
  }
  return source;
}

}  // namespace

std::expected<DiscoverySource, Unfit> parse_discovery(std::string_view text) {
  if (text.size() > kLongestName) return std::unexpected(Unfit{0, "it is longer than 1024 bytes"});
  const Piece all{text, 0};
  const auto blank = std::min(text.find_first_of(" \t"), text.size());
  const auto kind = lower(text.substr(0, blank));
  const auto what = all.from(blank).cut();
  if (std::ranges::find(kSources, kind) == kSources.end())
    return all.unfit(fmt::format("{} is not one of {}{}", in_quotes(kind),
                                 fmt::join(kSources, ", "), suggestion(kind, kSources)));
  if (kind == "etcd") return read_etcd(what);
  if (kind == "kubernetes") return read_kubernetes(what);
  if (!what.text.starts_with('/'))
    return what.unfit("expected the path of a file, from the root: file /PATH");
  return DiscoverySource{.name = std::string(what.text)};
}

std::string text(const DiscoverySource& source) {
  if (source.kind == DiscoverySource::Kind::file) return "file " + source.name;
  std::string urls;
  for (const auto& server : source.servers) {
    urls += fmt::format("{}{}{}", urls.empty() ? "" : ",", scheme(source), text(server));
    if (source.kind == DiscoverySource::Kind::etcd && &server == &source.servers.front())
      urls += source.name;
  }
  if (source.kind == DiscoverySource::Kind::etcd) return "etcd " + urls;
  return fmt::format("kubernetes {}{}{} {}", source.name, source.port.empty() ? "" : ":",
                     source.port, urls);
}

DiscoverySource source_of(const DiscoverySettings& settings) {
  auto source = settings.discovery->value;
  if (!source.access.tls) return source;
  const bool in_pod = source.kind == DiscoverySource::Kind::kubernetes;
  const auto file = [&](const auto& setting, std::string_view of_pod) {
    return setting ? setting->value : in_pod ? fmt::format("{}{}", kServiceAccount, of_pod) : "";
  };
  source.access.ca = file(settings.discovery_ca, "ca.crt");
  source.access.token = file(settings.discovery_token, "token");
  if (settings.discovery_certificate)
    source.access.certificate = settings.discovery_certificate->value;
  return source;
}

std::expected<DnsServers, Unfit> parse_dns_servers(std::string_view text) {
  DnsServers servers;
  for (Piece rest{text, 0};;) {
    const auto comma = std::min(rest.text.find(','), rest.text.size());
    const auto one = Piece{rest.text.substr(0, comma), rest.at}.cut();
    auto server = read_server(one, kDnsPort);
    if (!server) return std::unexpected(server.error());
    if (!is_ip_address(server->host))
      return one.unfit(fmt::format("a name server is an IP address, not {}", in_quotes(one.text)));
    servers.push_back(*std::move(server));
    if (servers.size() > kMostServers)
      return one.unfit(fmt::format("there are at most {} name servers", kMostServers));
    if (comma == rest.text.size()) return servers;
    rest = rest.from(comma + 1);
  }
}

bool is_ip_address(const std::string& host) {
  in_addr v4{};
  return host.contains(':') || inet_pton(AF_INET, host.c_str(), &v4) == 1;  // no name has a colon
}

bool is_srv_name(std::string_view host) {
  const auto dot = host.find('.');
  return host.starts_with('_') && dot != std::string_view::npos &&
         host.substr(dot).starts_with("._");
}

Resolve resolve_of(const MirrorSettings& mirror) {
  if (mirror.address.is_unix() || is_ip_address(mirror.address.host)) return Resolve::one;
  return is_srv_name(mirror.address.host) ? Resolve::srv : mirror.resolve.value;
}

}  // namespace karmad
