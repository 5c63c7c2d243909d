#pragma once

#include <span>
#include <vector>

#include "demo/sql/show.hpp"

namespace karmad {

/// Runs statements one after the other; a SELECT adds a result set of its own and one for each of
/// its facets. SHOW META tells of the last SELECT of the script.
std::vector<ResultSet> run_script(const SqlServer& server, std::span<const Statement> statements,
                                  Complaint& complaint);

}  // namespace karmad
