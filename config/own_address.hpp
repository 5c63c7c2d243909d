#pragma once

#include "config/settings/settings.hpp"
#include "config/text/environment.hpp"

namespace karmad {

/// Whether two listeners would get the same connections.
bool overlap(const Address& a, const Address& b);

/// Whether a connection to `agent` from this machine would reach `listen`, as far as that is known
/// without looking names up: other names than `localhost` and those of `host` are taken for other
/// machines, and so is a listener with port 0.
bool leads_here(const Address& listen, const Address& agent, const ThisHost& host);

}  // namespace karmad
