#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "config/settings/settings.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

/// Highest weight of a mirror.
inline constexpr unsigned kMostWeight = 1000;

/// Which options a bracket of an agent line may have: those of the mirror before it (`role`,
/// `tags`, `weight`, `max_in_flight`, `resolve`), those of the line (`conn`, `ha_strategy`, …), or
/// either, but not both kinds.
enum class OptionsOf : std::uint8_t { mirror, line, either };

/// Reads the text between the brackets, `name=value,name=value`, into the mirror or the line.
/// Reports every mistake at its character.
void read_agent_options(const SourceText& options, OptionsOf whose, MirrorSettings& mirror,
                        ShardSettings& line, Problems& problems);

/// The options of a mirror in this table as text; empty if it has none.
std::string mirror_options_text(const MirrorSettings& mirror, const TableSettings& table);
/// The same for a line, without the kind (blackhole or not).
std::string line_options_text(const ShardSettings& line, const TableSettings& table);

/// The names of all options of a mirror and of a line.
std::span<const std::string_view> mirror_option_names();
std::span<const std::string_view> line_option_names();

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
