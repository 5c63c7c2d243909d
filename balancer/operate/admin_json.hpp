#pragma once

#include <string>
#include <vector>

#include "balancer/operate/admin_call.hpp"
#include "config/effective.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// The part of its shard's searches that a mirror gets: 0 to 1.
struct ExpectedShare {
  std::string table;
  std::size_t shard = 1;  ///< from 1
  std::string mirror;     ///< its address
  double share = 0;
};

/// The shares as long as nothing is measured: by strategies, weights and states alone. For settings
/// without problems.
std::vector<ExpectedShare> expected_shares(const Settings& settings);

/// `{"error":…,"problems":[…]}`.
AdminResult admin_error(int status, std::string_view reason, const Problems& problems = {});

/// `{"call":…,"changed":[{"before":…,"after":…}],"saved":…}`. `before` and `after`: subjects() of
/// the same call. `not_saved`: why the state file could not be written; empty: it was, or there is
/// none.
AdminResult admin_changed(AdminVerb verb, const std::vector<std::string>& before,
                          const std::vector<std::string>& after, std::string_view not_saved);

/// `{"call":"reload","changed":[{"setting","before","after",…}],"at_next_start":[…]}`. `fixed`:
/// names of the settings that are changed in the file and take effect at the next start.
AdminResult admin_reloaded(const std::vector<SettingChange>& changes,
                           const std::vector<std::string_view>& fixed);

/// `{"settings":[…],"shares":[…],"overrides":{…}}`.
AdminResult admin_config(const Settings& settings, const Overrides& overrides);

}  // namespace karmad
