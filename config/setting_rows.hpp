#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings/keys.hpp"

namespace karmad {

/// One setting as it would be written in a configuration.
struct SettingRow {
  std::string_view key;
  std::string value;  ///< nothing is escaped
  Place at;
  bool is_set = true;      ///< false: `unset` tells what is used instead
  std::string_view unset;  ///< from the table of keys
};

/// The settings of `searchd`, and those of a table that it does not inherit, in the order of the
/// table of keys. A list gives one row for each element.
std::vector<SettingRow> setting_rows(const InstanceSettings& searchd);
std::vector<SettingRow> setting_rows(const TableSettings& table, const InstanceSettings& searchd);

}  // namespace karmad
