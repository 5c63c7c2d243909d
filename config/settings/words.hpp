#pragma once

#include <span>
#include <string_view>

#include "config/settings/settings.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {

/// The words of an enum as the configuration writes them, in lower case: its identifiers.
template <class Enum>
inline constexpr auto kWords = enumerators<Enum>();
template <>
inline constexpr auto kWords<LookUp> = enum_names<LookUp>({{LookUp::at_load, "at_load"},
                                                           {LookUp::on_request, "request"}});

/// The word for a value in the configuration.
template <class Enum>
constexpr std::span<const std::string_view> words() {
  return kWords<Enum>.all();
}

/// The word of a value.
template <class Enum>
constexpr std::string_view word(Enum value) {
  return kWords<Enum>[value];
}

}  // namespace karmad
