#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings/settings.hpp"

namespace karmad {

/// Why a text is not a valid value, and the character at fault.
struct Unfit {
  std::size_t offset = 0;
  std::string why;
};
inline std::unexpected<Unfit> unfit(std::size_t offset, std::string why) {
  return std::unexpected(Unfit{offset, std::move(why)});
}
/// `why` follows the text, from its first character.
inline std::unexpected<Unfit> unfit(std::string_view text, std::string_view why) {
  return unfit(0, fmt::format("{} {}", in_quotes(text), why));
}

/// `15ms`, `3s`, `2m`: a whole number, directly followed by us, ms, s, m, h, d or w in any case. A
/// number without unit counts in `bare_unit`.
std::expected<Micros, Unfit> parse_time(std::string_view text, Micros bare_unit);

/// Most elements of a list of times.
inline constexpr std::size_t kMostTimes = 8;
/// `300ms, 1s, 3s`: one to kMostTimes times, separated by commas.
std::expected<std::vector<Micros>, Unfit> parse_times(std::string_view text, Micros bare_unit);

/// `100`, `100/s`, `6/m`, `10/h`, `1/d`: a whole number from 1 per second (the default), minute,
/// hour or day; or `unlimited`.
std::expected<Rate, Unfit> parse_rate(std::string_view text);

/// Most elements of a list of ranges.
inline constexpr std::size_t kMostRanges = 256;
/// `10.0.0.0/8, ::1, fe80::/10`: addresses and CIDR ranges of IPv4 and IPv6, separated by commas.
std::expected<AddressRanges, Unfit> parse_ranges(std::string_view text);

/// Most elements of a list of names, and bytes of each.
inline constexpr std::size_t kMostAppNames = 32;
inline constexpr std::size_t kLongestAppName = 128;
/// `nightly-, Grafana/`: prefixes of application names, separated by commas.
std::expected<AppNames, Unfit> parse_app_names(std::string_view text);

inline constexpr std::size_t kMostOrigins = 64;
/// `*`, or `https://app.example.org, http://localhost:3000`: origins of web pages, separated by
/// commas.
std::expected<Origins, Unfit> parse_origins(std::string_view text);

/// `4096`, `64k`, `8MiB`: a whole number, optionally with k, m, g, t (powers of 1024; also kib …).
std::expected<std::uint64_t, Unfit> parse_size(std::string_view text);

/// A whole number from 0.
std::expected<std::uint64_t, Unfit> parse_count(std::string_view text);

/// `0` or `1`; also `no` or `yes`.
std::expected<bool, Unfit> parse_switch(std::string_view text);

/// A decimal number from 0: `0.67`.
std::expected<double, Unfit> parse_real(std::string_view text);

/// `auto`, `unlimited` or a whole number.
std::expected<TicketCount, Unfit> parse_tickets(std::string_view text);
/// The text that parse_tickets() reads as this value.
std::string text(TicketCount tickets);
/// `auto`, or a size.
std::expected<MemorySize, Unfit> parse_memory(std::string_view text);
/// The text that parse_memory() reads as this value.
std::string text(MemorySize memory);

/// Permissions as chmod takes them: three octal digits, optionally after a zero: `660`, `0660`.
std::expected<FileMode, Unfit> parse_mode(std::string_view text);
/// The text that parse_mode() reads as this value: `0660`.
std::string text(FileMode mode);

/// The shortest text that parse_time() reads as this value with any bare unit: `1m`, `1500ms`, `0`.
std::string time_text(Micros time);

/// The text that parse_rate() reads as this value: `100/s`, `unlimited`.
std::string text(const Rate& rate);

/// The shortest text that parse_size() reads as this value: `128m`, `4097`.
std::string size_text(std::uint64_t bytes);

/// `basic /PATH` or `bearer /PATH`.
std::expected<ClientAuth, Unfit> parse_client_auth(std::string_view text);
/// The text that parse_client_auth() reads as this value.
std::string text(const ClientAuth& auth);

}  // namespace karmad
