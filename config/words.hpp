#pragma once

#include <span>
#include <string_view>

#include "config/settings.hpp"

namespace karmad {

/// The words of an enum, in the order of its values.
template <class Enum>
std::span<const std::string_view> words();
template <>
std::span<const std::string_view> words<PartialResults>();
template <>
std::span<const std::string_view> words<Collation>();
template <>
std::span<const std::string_view> words<LookUp>();
template <>
std::span<const std::string_view> words<Updates>();
template <>
std::span<const std::string_view> words<Consistency>();
template <>
std::span<const std::string_view> words<LogLevel>();
template <>
std::span<const std::string_view> words<AdmissionMode>();
template <>
std::span<const std::string_view> words<QueueOrder>();
template <>
std::span<const std::string_view> words<TicketResize>();

/// The word for a value in the configuration.
template <class Enum>
std::string_view word(Enum value) {
  return words<Enum>()[static_cast<std::size_t>(value)];
}

}  // namespace karmad
