#pragma once

#include <optional>
#include <string_view>

#include "config/passage.hpp"
#include "config/settings.hpp"

namespace karmad {

/// No retry count may be larger; 8 is the most that is sensible.
inline constexpr unsigned kMostRetries = 100;

/// Reads `mirror|mirror…[option,option…]`, a mirror being `host[:port][:table,table…]` or
/// `/path[:table,table…]`. A mirror without tables takes those of the nearest one to its right,
/// the last one `own_table`. Options hold for all mirrors and win over `defaults`. All mistakes are
/// reported, each at its character; then there is no shard. HA-026.
std::optional<ShardSettings> parse_agent_line(const Passage& line, std::string_view own_table,
                                              Problems& problems, Problems& notices,
                                              ShardSettings defaults = {});

/// The line that parse_agent_line reads as this shard, every port and table spelled out. Whether it
/// is a blackhole is not part of it.
std::string text(const ShardSettings& shard);

}  // namespace karmad
