#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings/settings.hpp"

namespace karmad {

/// Shards that lose their last mirror that can serve searches when the settings `before` become
/// `after`, as `table t, shard 1`. A mirror can serve if it is in the state `ready` and `works`
/// says so of its address. If none of a shard works, the states alone count. Both settings have the
/// same tables and shards. Pure.
std::vector<std::string> shards_without_mirrors(
    const Settings& before, const Settings& after,
    const std::function<bool(const std::string& address)>& works);

/// The reason to refuse such a change.
std::string last_mirror_text(const std::vector<std::string>& shards);

}  // namespace karmad
