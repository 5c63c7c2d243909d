#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/transport/http/http_syntax.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// All mirrors of a table at this address, as the operator names them.
struct MirrorName {
  std::string table;
  std::string address;
  bool operator==(const MirrorName&) const = default;
};

/// The table in any case: the file may spell it in another one after a reload.
struct MirrorNameLess {
  bool operator()(const MirrorName& a, const MirrorName& b) const {
    const wire::WordLess less;
    if (less(a.table, b.table)) return true;
    return !less(b.table, a.table) && a.address < b.address;
  }
};

/// A setting that the operator changed. `configured`: its value in the configuration at that time,
/// as text; once it is another one, the change no longer counts. None: not known, so the first
/// value that is seen counts.
template <class T>
struct Override {
  T value{};
  std::optional<std::string> configured{};
  bool operator==(const Override&) const = default;
};

/// What the operator changed of a mirror.
struct MirrorOverride {
  std::optional<Override<ServiceState>> state;
  std::optional<Override<unsigned>> weight;
  bool operator==(const MirrorOverride&) const = default;
};

/// The same of a table.
struct TableOverride {
  std::optional<Override<std::string>> strategy;
  std::optional<Override<bool>> hedging;  ///< false: `hedge = off`; true: as configured
  bool operator==(const TableOverride&) const = default;
};

/// All that the operator changed at run time.
struct Overrides {
  std::map<MirrorName, MirrorOverride, MirrorNameLess> mirrors;
  std::map<std::string, TableOverride, wire::WordLess> tables;
  std::optional<Override<bool>> hedging;  ///< of the whole process
  std::optional<Override<LogLevel>> log_level;

  std::size_t size() const { return mirrors.size() + tables.size(); }
  bool operator==(const Overrides&) const = default;
};

/// Most mirrors and tables with changes.
inline constexpr std::size_t kMostOverrides = 4096;

// The values of the configuration, as text: each one once if the mirrors of that name or the shards
// of the table differ. Empty: there is no such mirror.
std::string configured_state(const Settings& settings, const MirrorName& name);
std::string configured_weight(const Settings& settings, const MirrorName& name);
std::string configured_strategy(const TableSettings& table);
std::string configured_hedging(const Settings& settings);
std::string configured_log_level(const Settings& settings);

/// The settings of the configuration with the operator's changes. Pure.
Settings with_overrides(Settings settings, const Overrides& overrides);

/// Removes changes of settings whose configured value is not that of the time of the change any
/// more; a change of another setting of the mirror or table does not matter. A mirror that is
/// missing keeps its changes: it may come back. Returns what was removed, as parts of a sentence.
std::vector<std::string> forget_reconfigured(Overrides& overrides, const Settings& configured);

/// The content of the state file: JSON. `found`: JSON for its member of that name; empty: none.
std::string overrides_json(const Overrides& overrides, std::string_view found = {});
/// Reads it. The error says what is wrong.
std::expected<Overrides, std::string> parse_overrides(std::string_view json);

}  // namespace karmad
