#pragma once

#include "balancer/client/commands.hpp"
#include "balancer/client/http_get.hpp"

namespace karmad {

/// Asks the admin listener of a running karmad, with the token of the options. Waits at most 15 s.
std::expected<HttpAnswer, std::string> ask_admin(const CtlOptions& options,
                                                 const HttpRequest& request);

}  // namespace karmad
