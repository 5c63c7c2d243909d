#include "agent/transport/http/upgrade.hpp"

#include <algorithm>
#include <array>

#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

using namespace wire;

namespace {

/// Whether the list has the element, whatever its case.
bool lists(std::string_view list, std::string_view element) {
  bool found = false;
  for_each_element(list, [&](std::string_view each) { found |= same_word(each, element); });
  return found;
}

/// Whether requests could follow in that protocol: HTTP of any version, also inside TLS.
bool carries_requests(std::string_view protocol) {
  constexpr std::array<std::string_view, 6> names{"http", "https", "h2", "h2c", "h3", "tls"};
  const auto name = protocol.substr(0, protocol.find('/'));
  return std::ranges::any_of(names, [&](std::string_view each) { return same_word(name, each); });
}

}  // namespace

std::string_view offered_upgrade(const Head& request) {
  if (request.minor_version == 0 || !request.connection_names_fields) return {};
  bool is_named = false;
  std::size_t fields = 0;
  for (const auto& [name, value] : request.all()) {
    if (same_word(name, "connection")) is_named |= lists(value, "upgrade");
    if (same_word(name, "upgrade")) ++fields;
  }
  if (!is_named || fields != 1) return {};
  const auto offered = request.find("Upgrade");
  bool may_pass = true;
  for_each_element(offered, [&](std::string_view each) { may_pass &= !carries_requests(each); });
  return may_pass ? offered : std::string_view();
}

bool accepts_offer(const Head& reply, std::string_view offered) {
  const auto chosen = reply.find("Upgrade");
  std::size_t known = 0;
  std::size_t all = 0;
  for_each_element(chosen, [&](std::string_view each) {
    ++all;
    if (lists(offered, each)) ++known;
  });
  return all > 0 && known == all;
}

}  // namespace karmad
