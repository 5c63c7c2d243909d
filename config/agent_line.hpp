#pragma once

#include <string_view>

#include "config/agent_options.hpp"
#include "config/settings/settings.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

/// Whether a table may have this name: letters, digits, `_`, and then also `-` and `.`.
bool is_table_name(std::string_view name);

/// Reads `mirror[option,option…]|mirror[option…]…[option,option…]`; a mirror is
/// `host[:port][:table,table…]` or `/path[:table,table…]`. A mirror without tables has those of the
/// nearest mirror to its right, the last one `own_table`. Brackets directly after a mirror have its
/// options, brackets at the end those of all mirrors. Options override the inherited `line_above`
/// and `mirror_above`. Reports every mistake at its character; what is readable is in the shard, so
/// that it can be checked too. HA-026.
ShardSettings parse_agent_line(const SourceText& line, std::string_view own_table,
                               Problems& problems, Problems& notices, ShardSettings line_above = {},
                               MirrorSettings mirror_above = {});

/// The line that parse_agent_line() reads as this shard of the table, with every port and table
/// written out. Does not show whether it is a blackhole.
std::string text(const ShardSettings& shard, const TableSettings& table = {});

/// One mirror of it.
std::string text(const MirrorSettings& mirror, const TableSettings& table);

}  // namespace karmad
