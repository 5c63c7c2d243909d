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

/// The setting with its place; null: an optional one that is not set.
template <class T>
const Located<T>* if_set(const Located<T>& setting) {
  return &setting;
}
template <class T>
const Located<T>* if_set(const std::optional<Located<T>>& setting) {
  return setting ? &*setting : nullptr;
}
template <class Field>
concept Setting = requires(Field field) {
  if_set(field);
};
/// The type of its value.
template <Setting Field>
using ValueOf = decltype(if_set(Field())->value);

template <Setting Field>
Place place_of(const Field& setting) {
  const auto* const set = if_set(setting);
  return set == nullptr ? Place{} : set->at;
}

/// Whether a level sets the value itself: an inherited value has the place of the level above.
template <Setting Field>
bool is_own(const Field& here, const Field& above) {
  return place_of(here) != place_of(above);
}

}  // namespace karmad
