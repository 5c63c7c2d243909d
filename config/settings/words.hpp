#pragma once

#include <span>
#include <string_view>

#include "config/settings/settings.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {

/// The words of an enum as the configuration writes them, in lower case.
template <class Enum>
inline constexpr auto kWords = nullptr;
template <>
inline constexpr auto kWords<PartialResults> =
    enum_names<PartialResults>({{PartialResults::allow, "allow"}, {PartialResults::deny, "deny"}});
template <>
inline constexpr auto kWords<Collation> = enum_names<Collation>({{Collation::libc_ci, "libc_ci"},
                                                                 {Collation::libc_cs, "libc_cs"},
                                                                 {Collation::binary, "binary"}});
template <>
inline constexpr auto kWords<LookUp> = enum_names<LookUp>({{LookUp::at_load, "at_load"},
                                                           {LookUp::on_request, "request"}});
template <>
inline constexpr auto kWords<Resolve> =
    enum_names<Resolve>({{Resolve::one, "one"}, {Resolve::all, "all"}, {Resolve::srv, "srv"}});
template <>
inline constexpr auto kWords<AgentTls> = enum_names<AgentTls>(
    {{AgentTls::no, "no"}, {AgentTls::yes, "yes"}, {AgentTls::unverified, "unverified"}});
template <>
inline constexpr auto kWords<Updates> = enum_names<Updates>({{Updates::primary, "primary"},
                                                             {Updates::any, "any"},
                                                             {Updates::all, "all"}});
template <>
inline constexpr auto kWords<Methods> = enum_names<Methods>({{Methods::known, "known"},
                                                             {Methods::any, "any"}});
template <>
inline constexpr auto kWords<ShardBy> = enum_names<ShardBy>({{ShardBy::none, "none"},
                                                             {ShardBy::id, "id"}});
template <>
inline constexpr auto kWords<Consistency> =
    enum_names<Consistency>({{Consistency::any, "any"}, {Consistency::quorum, "quorum"}});
template <>
inline constexpr auto kWords<LogLevel> = enum_names<LogLevel>({{LogLevel::debug, "debug"},
                                                               {LogLevel::info, "info"},
                                                               {LogLevel::warning, "warning"},
                                                               {LogLevel::error, "error"}});
template <>
inline constexpr auto kWords<LogFormat> = enum_names<LogFormat>({{LogFormat::json, "json"},
                                                                 {LogFormat::text, "text"}});
template <>
inline constexpr auto kWords<RequestIds> = enum_names<RequestIds>({{RequestIds::make, "make"},
                                                                   {RequestIds::accept, "accept"}});
template <>
inline constexpr auto kWords<AdmissionMode> =
    enum_names<AdmissionMode>({{AdmissionMode::enforce, "enforce"},
                               {AdmissionMode::monitor, "monitor"},
                               {AdmissionMode::off, "off"}});
template <>
inline constexpr auto kWords<QueueOrder> = enum_names<QueueOrder>({{QueueOrder::fifo, "fifo"},
                                                                   {QueueOrder::lifo, "lifo"},
                                                                   {QueueOrder::codel, "codel"}});
template <>
inline constexpr auto kWords<TicketResize> = enum_names<TicketResize>(
    {{TicketResize::gradual, "gradual"}, {TicketResize::immediate, "immediate"}});

template <>
inline constexpr auto kWords<Required> = enum_names<Required>({{Required::yes, "yes"},
                                                               {Required::no, "no"}});
template <>
inline constexpr auto kWords<PassAuthorization> =
    enum_names<PassAuthorization>({{PassAuthorization::yes, "yes"}, {PassAuthorization::no, "no"}});
template <>
inline constexpr auto kWords<Compress> = enum_names<Compress>({{Compress::off, "off"},
                                                               {Compress::gzip, "gzip"},
                                                               {Compress::zstd, "zstd"}});
template <>
inline constexpr auto kWords<Outlier> = enum_names<Outlier>({{Outlier::off, "off"},
                                                             {Outlier::failures, "failures"},
                                                             {Outlier::latency, "latency"},
                                                             {Outlier::on, "on"}});

template <>
inline constexpr auto kWords<StatusOnQueryPort> =
    enum_names<StatusOnQueryPort>({{StatusOnQueryPort::yes, "yes"},
                                   {StatusOnQueryPort::health, "health"},
                                   {StatusOnQueryPort::no, "no"}});
template <>
inline constexpr auto kWords<ServiceState> =
    enum_names<ServiceState>({{ServiceState::ready, "ready"},
                              {ServiceState::drain, "drain"},
                              {ServiceState::maint, "maint"}});

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
