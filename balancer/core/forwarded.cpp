#include "balancer/core/forwarded.hpp"

#include <ranges>
#include <vector>

#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad {
namespace {

using wire::same_word;
using wire::trimmed;

/// The values of all fields of that name, joined as one list.
std::string joined(const Head& fields, std::string_view name) {
  std::string all;
  if (!fields.names.may_have(name)) return all;
  for (const auto& field : fields.all()) {
    if (!same_word(field.name, name) || field.value.empty()) continue;
    if (!all.empty()) all.append(", ");
    all.append(field.value);
  }
  return all;
}

/// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`.
std::optional<IpAddress> node(std::string_view text) {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == text.npos || (close + 1 < text.size() && text[close + 1] != ':'))
      return std::nullopt;
    return parse_address(text.substr(1, close - 1));
  }
  const auto colon = text.find(':');
  if (colon != text.npos && colon == text.rfind(':')) text = text.substr(0, colon);
  return parse_address(text);
}

using Parts = std::vector<std::string_view>;

/// Splits at every comma.
Parts split_plainly(std::string_view text) {
  Parts parts;
  for (const auto part : std::views::split(text, ','))
    parts.push_back(trimmed(std::string_view(part.begin(), part.end())));
  return parts;
}

/// Splits at `separator`, but not within quotes (RFC 9110 section 5.6.4). None: a quote is open.
std::optional<Parts> split(std::string_view text, char separator) {
  Parts parts;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == separator) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (quoted) return std::nullopt;
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

/// The `for` of an element of Forwarded.
std::optional<IpAddress> for_of(std::string_view element) {
  constexpr std::string_view kFor = "for=";
  const auto pairs = split(element, ';');
  if (!pairs) return std::nullopt;
  for (auto pair : *pairs) {
    if (pair.size() <= kFor.size() || !same_word(pair.substr(0, kFor.size()), kFor)) continue;
    pair.remove_prefix(kFor.size());
    if (pair.size() >= 2 && pair.front() == '"' && pair.back() == '"')
      pair = pair.substr(1, pair.size() - 2);
    return node(pair);
  }
  return std::nullopt;
}

/// Walks from the nearest hop to the farthest one and stops at the first that is not trusted.
template <class Read>
std::optional<IpAddress> walk(const Parts& elements, const AddressRanges& trusted, Read read) {
  std::optional<IpAddress> client;
  for (const auto element : elements | std::views::reverse) {
    if (element.empty()) continue;
    const auto address = read(element);
    if (!address) break;
    client = address;
    if (!contains(trusted, *address)) break;
  }
  return client;
}

constexpr std::string_view kUnknown = "unknown";

/// A value of Forwarded: in quotes if it is more than a token. What cannot stand in quotes is
/// escaped.
std::string forwarded_value(std::string_view text) {
  if (!text.empty() && wire::all_in(text, wire::kTokenByte)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// The element of Forwarded that this hop adds.
std::string own_element(const ForwardedBy& by, std::string_view host) {
  const bool v6 = by.peer.find(':') != by.peer.npos;
  const auto peer = v6                ? '[' + std::string(by.peer) + ']'
                    : by.peer.empty() ? std::string(kUnknown)
                                      : std::string(by.peer);
  std::string element = "for=" + forwarded_value(peer);
  if (!host.empty()) element.append(";host=").append(forwarded_value(host));
  return element.append(";proto=").append(by.proto);
}

}  // namespace

bool is_trusted(const AddressRanges& trusted, const std::optional<IpAddress>& peer) {
  return peer ? contains(trusted, *peer) : !trusted.empty();
}

std::optional<IpAddress> forwarded_client(const Head& fields, const AddressRanges& trusted) {
  if (const auto list = joined(fields, kForwardedFor); !list.empty())
    return walk(split_plainly(list), trusted, node);
  const auto list = joined(fields, kForwarded);
  // A quote that a client has left open hides nothing that a proxy adds behind it.
  return walk(split(list, ',').value_or(split_plainly(list)), trusted, for_of);
}

ForwardedFields::ForwardedFields(const Head& fields, const ForwardedBy& by)
    : addresses(by.peer.empty() ? kUnknown : by.peer), proto(by.proto), host(fields.find("Host")) {
  const auto own_host = host;
  if (by.trusted) {
    chain_ = joined(fields, kForwardedFor);
    if (!chain_.empty() && !by.peer.empty()) chain_.append(", ").append(by.peer);
    if (!chain_.empty()) addresses = chain_;
    if (const auto told = fields.find(kForwardedProto); !told.empty()) proto = told;
    if (const auto told = fields.find(kForwardedHost); !told.empty()) host = told;
  }
  if (!fields.names.may_have(kForwarded)) return;
  auto before = joined(fields, kForwarded);
  if (before.empty()) return;
  forwarded = own_element(by, own_host);
  // An open quote would swallow what this hop adds.
  if (by.trusted && split(before, ',')) forwarded = before.append(", ").append(forwarded);
}

}  // namespace karmad
