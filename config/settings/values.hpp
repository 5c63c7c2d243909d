#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/settings/discovery_source.hpp"
#include "config/settings/keys.hpp"
#include "config/settings/units.hpp"
#include "config/text/closest.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

/// Reads one of the enum's words, in any case.
template <class Enum>
std::expected<Enum, Unfit> parse_word(std::string_view text) {
  const auto word = lower(text);
  if (const auto found = kWords<Enum>.find(word)) return *found;
  const auto known = words<Enum>();
  return std::unexpected(Unfit{0, fmt::format("{} is not one of {}{}", in_quotes(text),
                                              fmt::join(known, ", "), suggestion(word, known))});
}

/// Reads a value of the setting's type. Rejects only what the type cannot hold; check() checks the
/// bounds later.
template <class T>
std::expected<T, Unfit> parse_value(std::string_view text, const Bounds& bounds) {
  if (text.empty()) return std::unexpected(Unfit{0, "a value is missing"});
  if (!bounds.zero_word.empty() && lower(text) == bounds.zero_word) return T{};
  if constexpr (std::is_same_v<T, Micros>) {
    const auto time = parse_time(text, bounds.bare);
    if (time && *time == 0us && !bounds.zero_means.empty())
      return std::unexpected(Unfit{0, fmt::format("it must not be 0; write {} for {}",
                                                  bounds.zero_word, bounds.zero_means)});
    return time;
  } else if constexpr (std::is_same_v<T, std::vector<Micros>>) {
    return parse_times(text, bounds.bare);
  } else if constexpr (std::is_same_v<T, Rate>) {
    return parse_rate(text);
  } else if constexpr (std::is_same_v<T, AddressRanges>) {
    return parse_ranges(text);
  } else if constexpr (std::is_same_v<T, AppNames>) {
    return parse_app_names(text);
  } else if constexpr (std::is_same_v<T, Origins>) {
    return parse_origins(text);
  } else if constexpr (std::is_same_v<T, DnsServers>) {
    return parse_dns_servers(text);
  } else if constexpr (std::is_same_v<T, DiscoverySource>) {
    return parse_discovery(text);
  } else if constexpr (std::is_same_v<T, ClientAuth>) {
    return parse_client_auth(text);
  } else if constexpr (std::is_same_v<T, bool>) {
    return parse_switch(text);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return std::string(text);
  } else if constexpr (std::is_enum_v<T>) {
    return parse_word<T>(text);
  } else if constexpr (std::is_same_v<T, double>) {
    return parse_real(text);
  } else if constexpr (std::is_same_v<T, TicketCount>) {
    return parse_tickets(text);
  } else if constexpr (std::is_same_v<T, MemorySize>) {
    return parse_memory(text);
  } else if constexpr (std::is_same_v<T, FileMode>) {
    return parse_mode(text);
  } else {
    const auto number = std::is_same_v<T, std::size_t> ? parse_size(text) : parse_count(text);
    if (!number) return std::unexpected(number.error());
    if (*number > std::numeric_limits<T>::max())
      return std::unexpected(Unfit{0, fmt::format("{} is too large", in_quotes(text))});
    return static_cast<T>(*number);
  }
}

/// The text that parse_value() reads as this value.
template <class T>
std::string value_text(const T& value, const Bounds& bounds = {}) {
  if constexpr (std::is_same_v<T, Micros>) {
    return value == 0us && !bounds.zero_word.empty() ? std::string(bounds.zero_word)
                                                     : time_text(value);
  } else if constexpr (std::is_same_v<T, std::vector<Micros>>) {
    std::string out;
    for (const auto time : value) out.append(out.empty() ? "" : ", ").append(time_text(time));
    return out;
  } else if constexpr (std::is_same_v<T, Rate>) {
    return rate_text(value);
  } else if constexpr (std::is_same_v<T, AddressRanges>) {
    std::string out;
    for (const auto& range : value) out.append(out.empty() ? "" : ", ").append(text(range));
    return out;
  } else if constexpr (std::is_same_v<T, AppNames>) {
    return fmt::format("{}", fmt::join(value, ", "));
  } else if constexpr (std::is_same_v<T, Origins>) {
    return value.any ? "*" : fmt::format("{}", fmt::join(value.list, ", "));
  } else if constexpr (std::is_same_v<T, DnsServers>) {
    std::string out;
    for (const auto& server : value) out.append(out.empty() ? "" : ", ").append(text(server));
    return out;
  } else if constexpr (std::is_same_v<T, DiscoverySource> || std::is_same_v<T, ClientAuth>) {
    return text(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(word(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return fmt::format("{}", value);
  } else if constexpr (std::is_same_v<T, TicketCount>) {
    return tickets_text(value);
  } else if constexpr (std::is_same_v<T, MemorySize>) {
    return memory_text(value);
  } else if constexpr (std::is_same_v<T, FileMode>) {
    return mode_text(value);
  } else {
    if (value == 0 && !bounds.zero_word.empty()) return std::string(bounds.zero_word);
    return std::is_same_v<T, std::size_t> ? size_text(value) : fmt::format("{}", value);
  }
}

/// A number in the unit of its bounds; nothing for types without bounds.
template <class T>
std::optional<std::int64_t> measure(const T& value) {
  if constexpr (std::is_same_v<T, Micros>)
    return value.count();
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return static_cast<std::int64_t>(value);
  else if constexpr (std::is_same_v<T, TicketCount>)
    return value.count;
  else if constexpr (std::is_same_v<T, MemorySize>)
    return value.automatic ? std::nullopt : std::optional(static_cast<std::int64_t>(value.bytes));
  else
    return std::nullopt;
}

/// One of the bounds of such a setting, as its values are written; of a list that of each element.
template <class T>
std::string bound_text(std::int64_t bound) {
  if constexpr (std::is_same_v<T, Micros> || std::is_same_v<T, std::vector<Micros>>)
    return time_text(Micros{bound});
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return value_text(static_cast<T>(bound));
  else if constexpr (std::is_same_v<T, TicketCount>)
    return fmt::format("{}", bound);
  else if constexpr (std::is_same_v<T, MemorySize>)
    return size_text(static_cast<std::uint64_t>(bound));
  else
    return {};
}

}  // namespace karmad
