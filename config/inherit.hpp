#pragma once

#include <optional>

#include "config/settings.hpp"

namespace karmad {

/// A table that says nothing itself: its inherited settings are those of the instance, each with
/// the place that it has there.
inline TableSettings empty_table(const InstanceSettings& searchd) {
  TableSettings table;
  static_cast<InheritedByTables&>(table) = searchd;
  return table;
}

/// The same of an agent line in a table.
inline ShardSettings empty_line(const TableSettings& table) {
  ShardSettings line;
  static_cast<InheritedByLines&>(line) = table;
  return line;
}

/// The same of a mirror in a table.
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

/// Whether a level gave the value itself: an inherited one stands where it stands for the level
/// above.
template <class Setting>
bool is_own(const Setting& here, const Setting& above) {
  return place_of(here) != place_of(above);
}

}  // namespace karmad
