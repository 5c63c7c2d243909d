#pragma once

#include <fmt/format.h>

#include <expected>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "config/settings/address.hpp"
#include "config/settings/keys.hpp"
#include "config/settings/units.hpp"
#include "config/text/closest.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

/// The readers of types without bounds.
inline constexpr auto kReaders = std::make_tuple(
    parse_rate, parse_ranges, parse_app_names, parse_origins, parse_dns_servers, parse_discovery,
    parse_client_auth, parse_switch, parse_real, parse_tickets, parse_memory, parse_mode);

/// Reads a value of the setting's type. Rejects only what the type cannot hold; check() checks the
/// bounds later.
template <class T>
std::expected<T, Unfit> parse_value(std::string_view text, const Bounds& bounds) {
  if (text.empty()) return unfit(0, "a value is missing");
  if (!bounds.zero_word.empty() && lower(text) == bounds.zero_word) return T{};
  if constexpr (std::is_same_v<T, Micros>) {
    const auto time = parse_time(text, bounds.bare);
    if (time && *time == 0us && !bounds.zero_means.empty())
      return std::unexpected(Unfit{0, fmt::format("it must not be 0; write {} for {}",
                                                  bounds.zero_word, bounds.zero_means)});
    return time;
  } else if constexpr (std::is_same_v<T, std::vector<Micros>>) {
    return parse_times(text, bounds.bare);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return std::string(text);
  } else if constexpr (std::is_enum_v<T>) {
    const auto known = words<T>();
    if (const auto found = kWords<T>.find(lower(text))) return *found;
    return unfit(0, fmt::format("{} is not one of {}{}", in_quotes(text), fmt::join(known, ", "),
                                suggestion(lower(text), known)));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const auto number = std::is_same_v<T, std::size_t> ? parse_size(text) : parse_count(text);
    if (!number) return std::unexpected(number.error());
    if (*number > std::numeric_limits<T>::max()) return unfit(text, "is too large");
    return static_cast<T>(*number);
  } else {
    return std::get<std::expected<T, Unfit> (*)(std::string_view)>(kReaders)(text);
  }
}

/// The text that parse_value() reads as this value.
template <class T>
std::string value_text(const T& value, const Bounds& bounds = {}) {
  if constexpr (std::is_same_v<T, Micros>) {
    return value == 0us && !bounds.zero_word.empty() ? std::string(bounds.zero_word)
                                                     : time_text(value);
  } else if constexpr (std::is_same_v<T, Origins>) {
    return value.any ? "*" : value_text(value.list);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::ranges::range<T>) {
    std::string out;
    for (const auto& each : value) out.append(out.empty() ? "" : ", ").append(value_text(each));
    return out;
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(word(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return fmt::format("{}", value);
  } else if constexpr (std::is_integral_v<T>) {
    if (value == 0 && !bounds.zero_word.empty()) return std::string(bounds.zero_word);
    return std::is_same_v<T, std::size_t> ? size_text(value) : fmt::format("{}", value);
  } else {
    return text(value);
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
