#pragma once

#include <optional>
#include <string_view>

#include "config/agent_options.hpp"
#include "config/settings.hpp"
#include "config/source_text.hpp"

namespace karmad {

/// Reads `mirror[option,option…]|mirror[option…]…[option,option…]`, a mirror being
/// `host[:port][:table,table…]` or `/path[:table,table…]`. A mirror without tables takes those of
/// the nearest one to its right, the last one `own_table`. The bracket right behind a mirror holds
/// its own options, the one at the end of the line those that hold for all mirrors. They win over
/// `line_above` and `mirror_above`, what is inherited. All mistakes are reported, each at its
/// character; then there is no shard. HA-026.
std::optional<ShardSettings> parse_agent_line(const SourceText& line, std::string_view own_table,
                                              Problems& problems, Problems& notices,
                                              ShardSettings line_above = {},
                                              MirrorSettings mirror_above = {});

/// The line that parse_agent_line reads as this shard of the table, every port and table spelled
/// out. Whether it is a blackhole is not part of it.
std::string text(const ShardSettings& shard, const TableSettings& table = {});

}  // namespace karmad
