#pragma once

#include <optional>

#include "config/settings/settings.hpp"

namespace karmad {

/// A table without settings of its own: inherits those of the instance, each with its place there.
inline TableSettings empty_table(const InstanceSettings& searchd) {
  TableSettings table;
  static_cast<InheritedByTables&>(table) = searchd;
  return table;
}

/// The same for an agent line of a table.
inline ShardSettings empty_line(const TableSettings& table) {
  ShardSettings line;
  static_cast<InheritedByLines&>(line) = table;
  return line;
}

/// The same for a mirror of a table.
inline MirrorSettings empty_mirror(const TableSettings& table) {
  MirrorSettings mirror;
  static_cast<InheritedByMirrors&>(mirror) = table;
  return mirror;
}

template <class T>
Place place_of(const Located<T>& setting) {
  return setting.at;
}
template <class T>
Place place_of(const std::optional<Located<T>>& setting) {
  return setting ? setting->at : Place{};
}

/// Whether a level sets the value itself: an inherited value has the place of the level above.
template <class Setting>
bool is_own(const Setting& here, const Setting& above) {
  return place_of(here) != place_of(above);
}

}  // namespace karmad
