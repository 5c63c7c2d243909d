#pragma once

#include <compare>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings/settings.hpp"

namespace karmad {

/// All mirrors of a table at this address, as the operator names them.
struct MirrorName {
  std::string table;
  std::string address;
  auto operator<=>(const MirrorName&) const = default;
};

/// What the operator changed of a mirror. `configured`: its own settings at that time; once they
/// are others, the change no longer counts.
struct MirrorOverride {
  std::optional<ServiceState> state;
  std::optional<unsigned> weight;
  std::string configured;
  bool operator==(const MirrorOverride&) const = default;
};

/// The same of a table.
struct TableOverride {
  std::optional<std::string> strategy;
  std::optional<bool> hedging;  ///< false: `hedge = off`; true: as configured
  std::string configured;
  bool operator==(const TableOverride&) const = default;
};

/// All that the operator changed at run time.
struct Overrides {
  std::map<MirrorName, MirrorOverride> mirrors;
  std::map<std::string, TableOverride> tables;
  std::optional<bool> hedging;  ///< of the whole process
  std::optional<LogLevel> log_level;

  std::size_t size() const { return mirrors.size() + tables.size(); }
  bool operator==(const Overrides&) const = default;
};

/// Most mirrors and tables with changes.
inline constexpr std::size_t kMostOverrides = 4096;

/// The settings of the mirrors of that name, as text; empty: there is none.
std::string configured_text(const Settings& settings, const MirrorName& name);
/// The strategy and hedging of a table, as text.
std::string configured_text(const TableSettings& table);

/// The settings of the configuration with the operator's changes. Pure.
Settings with_overrides(Settings settings, const Overrides& overrides);

/// Removes changes of mirrors and tables whose own settings are not those of the time of the change
/// any more. A mirror that is missing keeps its change: it may come back. Returns what was removed,
/// as parts of a sentence.
std::vector<std::string> forget_reconfigured(Overrides& overrides, const Settings& configured);

/// The content of the state file: JSON.
std::string overrides_json(const Overrides& overrides);
/// Reads it. The error says what is wrong.
std::expected<Overrides, std::string> parse_overrides(std::string_view json);

}  // namespace karmad
