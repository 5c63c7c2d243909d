#include "agent/transport/http/upgrade.hpp"

#include <algorithm>
#include <array>

#include "agent/transport/http/head_lines.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

using namespace wire;

namespace {

/// Whether requests could follow in that protocol: HTTP of any version, also inside TLS.
bool carries_requests(std::string_view protocol) {
  constexpr std::array<std::string_view, 6> names{"http", "https", "h2", "h2c", "h3", "tls"};
  const auto name = protocol.substr(0, protocol.find('/'));
  return std::ranges::any_of(names, [&](std::string_view each) { return same_word(name, each); });
}

}  // namespace

std::string_view offered_upgrade(const Head& request) {
  if (request.minor_version == 0 || !connection_names(request, "upgrade")) return {};
  const auto is_offer = [](const Field& field) { return same_word(field.name, "upgrade"); };
  if (std::ranges::count_if(request.all(), is_offer) != 1) return {};
  const auto offered = request.find("Upgrade");
  bool may_pass = true;
  for_each_element(offered, [&](std::string_view each) { may_pass &= !carries_requests(each); });
  return may_pass ? offered : std::string_view();
}

bool accepts_offer(const Head& reply, std::string_view offered) {
  bool any = false;
  bool all_known = true;
  for_each_element(reply.find("Upgrade"), [&](std::string_view chosen) {
    any = true;
    bool known = false;
    for_each_element(offered, [&](std::string_view each) { known |= same_word(each, chosen); });
    all_known &= known;
  });
  return any && all_known;
}

}  // namespace karmad
