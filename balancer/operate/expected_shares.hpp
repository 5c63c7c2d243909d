#pragma once

#include <string>
#include <vector>

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

}  // namespace karmad
