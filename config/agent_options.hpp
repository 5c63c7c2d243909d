#pragma once

#include <cstdint>
#include <string>

#include "config/settings.hpp"
#include "config/source_text.hpp"

namespace karmad {

/// No mirror may be given more weight than this.
inline constexpr unsigned kMostWeight = 1000;

/// Whose options a bracket of an agent line may hold: those of the mirror it stands behind (`role`,
/// `tags`, `weight`, `max_in_flight`), those of the line (`conn`, `ha_strategy`, …), or either of
/// them, not mixed.
enum class OptionsOf : std::uint8_t { mirror, line, either };

/// Reads what stands between the brackets, `name=value,name=value`, into the mirror or the line.
/// All mistakes are reported, each at its character.
void read_agent_options(const SourceText& options, OptionsOf whose, MirrorSettings& mirror,
                        ShardSettings& line, Problems& problems);

/// The text from which the options of a mirror in this table are read; empty when it has none.
std::string mirror_options_text(const MirrorSettings& mirror, const TableSettings& table);
/// The same of a line; whether it is a blackhole is not part of it.
std::string line_options_text(const ShardSettings& line, const TableSettings& table);

}  // namespace karmad
