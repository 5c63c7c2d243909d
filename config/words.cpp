#include "config/words.hpp"

#include <array>

namespace karmad {
namespace {

constexpr std::array<std::string_view, 2> kPartialResults{"allow", "deny"};
constexpr std::array<std::string_view, 3> kCollations{"libc_ci", "libc_cs", "binary"};
constexpr std::array<std::string_view, 2> kLookUps{"at_load", "request"};
constexpr std::array<std::string_view, 2> kUpdates{"primary", "any"};
constexpr std::array<std::string_view, 2> kConsistencies{"any", "quorum"};
constexpr std::array<std::string_view, 4> kLogLevels{"debug", "info", "warning", "error"};
constexpr std::array<std::string_view, 3> kAdmissionModes{"enforce", "monitor", "off"};
constexpr std::array<std::string_view, 3> kQueueOrders{"fifo", "lifo", "codel"};
constexpr std::array<std::string_view, 2> kTicketResizes{"gradual", "immediate"};

}  // namespace

template <>
std::span<const std::string_view> words<PartialResults>() {
  return kPartialResults;
}
template <>
std::span<const std::string_view> words<Collation>() {
  return kCollations;
}
template <>
std::span<const std::string_view> words<LookUp>() {
  return kLookUps;
}
template <>
std::span<const std::string_view> words<Updates>() {
  return kUpdates;
}
template <>
std::span<const std::string_view> words<Consistency>() {
  return kConsistencies;
}
template <>
std::span<const std::string_view> words<LogLevel>() {
  return kLogLevels;
}
template <>
std::span<const std::string_view> words<AdmissionMode>() {
  return kAdmissionModes;
}
template <>
std::span<const std::string_view> words<QueueOrder>() {
  return kQueueOrders;
}
template <>
std::span<const std::string_view> words<TicketResize>() {
  return kTicketResizes;
}

}  // namespace karmad
