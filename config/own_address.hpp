#pragma once

#include <string_view>

#include "config/settings/settings.hpp"
#include "config/text/environment.hpp"

namespace karmad {

/// Whether two listeners would get the same connections.
bool overlap(const Address& a, const Address& b);

/// Whether a connection to `agent` from this machine would reach `listen`, as far as that is known
/// without looking names up: other names than `localhost` and those of `host` are taken for other
/// machines, and so is a listener with port 0.
bool leads_here(const Address& listen, const Address& agent, const ThisHost& host);

/// `unspecified`, `multicast` or `broadcast`, if the host is such an address, which no server has;
/// else empty.
std::string_view kind_without_server(std::string_view host);

}  // namespace karmad
