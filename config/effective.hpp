#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/settings/keys.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// One effective setting, with a name that is unique in a configuration: `searchd: hedge`, `table
/// t: updates`, `table t: shard 1: mirror 10.0.0.1:9308`.
struct EffectiveSetting {
  std::string name;
  std::string value;
  std::string source;  ///< `file:line:column`, `default`, …
  bool operator==(const EffectiveSetting&) const = default;
};

/// All settings of searchd, and for each table those that it does not inherit, its shards and their
/// mirrors.
std::vector<EffectiveSetting> effective_settings(const Settings& settings);

/// A setting that differs; without `before` it is new, without `after` it is gone.
struct SettingChange {
  std::string name;
  std::optional<EffectiveSetting> before;
  std::optional<EffectiveSetting> after;
};

/// The settings with different values, in the order of `before`, then the new ones. Sources do not
/// count.
std::vector<SettingChange> difference(const std::vector<EffectiveSetting>& before,
                                      const std::vector<EffectiveSetting>& after);

/// `name: before (source) -> after (source)`.
std::string text(const SettingChange& change);

/// The effective settings as a configuration that loads to the same settings; after each value its
/// place, or `default`. Unset keys appear as comments.
std::string dump(const Settings& settings);

}  // namespace karmad
