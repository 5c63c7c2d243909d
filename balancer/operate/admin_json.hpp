#pragma once

#include <string>
#include <vector>

#include "balancer/operate/admin_call.hpp"
#include "balancer/operate/expected_shares.hpp"
#include "config/effective.hpp"

namespace karmad {

/// `{"error":…,"problems":[…]}`.
AdminResult admin_error(int status, std::string_view reason, const Problems& problems = {});

/// `{"call":…,"changed":[{"before":…,"after":…}],"saved":…}`. `before` and `after`: subjects() of
/// the same call. `not_saved`: why the state file could not be written; empty: it was, or there is
/// none.
AdminResult admin_changed(AdminVerb verb, const std::vector<std::string>& before,
                          const std::vector<std::string>& after, std::string_view not_saved);

/// `{"call":"reload","changed":[{"setting","before","after",…}]}`.
AdminResult admin_reloaded(const std::vector<SettingChange>& changes);

/// `{"settings":[…],"shares":[…],"overrides":{…}}`.
AdminResult admin_config(const Settings& settings, const Overrides& overrides);

}  // namespace karmad
