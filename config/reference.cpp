#include "config/reference.hpp"

#include <fmt/format.h>

#include "config/settings/values.hpp"

namespace karmad {

namespace {

/// The cells of a row that depend on the field's type.
struct Cells {
  std::string value;
  std::string range;
  std::string fallback;
};

template <class T>
Cells cells_of(const Bounds& bounds) {
  constexpr bool is_number = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  Cells cells;
  if constexpr (std::is_same_v<T, Micros>)
    cells.value =
        fmt::format("time{}; a bare number: {}",
                    bounds.zero_word.empty() ? "" : fmt::format(" or `{}`", bounds.zero_word),
                    time_text(bounds.bare).substr(1));
  else if constexpr (std::is_same_v<T, std::vector<Micros>>)
    cells.value = fmt::format("1 … {} times; a bare number: {}", kMostTimes,
                              time_text(bounds.bare).substr(1));
  else if constexpr (std::is_same_v<T, Rate>)
    cells.value = "number, `/s`, `/m`, `/h` or `/d`; or `unlimited`";
  else if constexpr (std::is_same_v<T, AddressRanges>)
    cells.value = "list of addresses and CIDR ranges";
  else if constexpr (std::is_same_v<T, AppNames>)
    cells.value = fmt::format("1 … {} texts, separated by commas", kMostAppNames);
  else if constexpr (std::is_same_v<T, DnsServers>)
    cells.value = "list of IP addresses with ports";
  else if constexpr (std::is_same_v<T, DiscoverySource>)
    cells.value = "kind and place of the source";
  else if constexpr (std::is_same_v<T, bool>)
    cells.value = "0 or 1";
  else if constexpr (std::is_same_v<T, std::string>)
    cells.value = "text";
  else if constexpr (std::is_enum_v<T>)
    cells.value = fmt::format("`{}`", fmt::join(words<T>(), "`, `"));
  else if constexpr (std::is_same_v<T, TicketCount>)
    cells.value = "number, `auto` or `unlimited`";
  else if constexpr (std::is_same_v<T, MemorySize>)
    cells.value = "size or `auto`";
  else if constexpr (std::is_same_v<T, FileMode>)
    cells.value = "three octal digits";
  else
    cells.value = std::is_same_v<T, std::size_t> ? "size" : "number";
  if (is_number && !bounds.zero_word.empty())
    cells.value += fmt::format(" or `{}`", bounds.zero_word);
  constexpr bool is_time = std::is_same_v<T, Micros> || std::is_same_v<T, std::vector<Micros>>;
  if constexpr (std::is_same_v<T, Rate>) cells.range = "1 … 2147483647";
  if (is_number || is_time || std::is_same_v<T, TicketCount> || std::is_same_v<T, MemorySize>)
    cells.range = fmt::format("{}{} … {}", bounds.zero && bounds.zero_means.empty() ? "0, " : "",
                              bound_text<T>(bounds.lowest), bound_text<T>(bounds.highest));
  return cells;
}

template <class Owner>
struct CellsOf {
  const Key<Owner>& key;
  const Owner& defaults;

  Cells operator()(std::monostate) const { return {"word", "", std::string(key.unset)}; }
  Cells operator()(std::vector<Listen> Owner::*) const {
    return {"list of addresses", "", fmt::format("`{}`", key.unset)};
  }
  Cells operator()(std::vector<ShardSettings> Owner::*) const {
    return {"list of agent lines", "1 … 64 mirrors", std::string(key.unset)};
  }
  Cells operator()(std::vector<std::string> Owner::*) const {
    return {"list of paths", "", std::string(key.unset)};
  }
  template <class T>
  Cells operator()(Located<T> Owner::*field) const {
    auto cells = cells_of<T>(key.bounds);
    const auto value = value_text((defaults.*field).value, key.bounds);
    cells.fallback =
        value.empty() || key.inherited ? std::string(key.unset) : fmt::format("`{}`", value);
    return cells;
  }
  template <class T>
  Cells operator()(std::optional<Located<T>> Owner::*) const {
    auto cells = cells_of<T>(key.bounds);
    cells.fallback = key.unset;
    return cells;
  }
};

/// Escapes bars, which end a cell even inside code.
std::string in_a_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

template <class Owner>
std::vector<KeyText> texts_of(std::span<const Key<Owner>> keys) {
  std::vector<KeyText> texts;
  const Owner defaults;
  for (const auto& key : keys) {
    auto cells = std::visit(CellsOf<Owner>{key, defaults}, key.field);
    if (!key.alias_of.empty()) cells.fallback = fmt::format("see `{}`", key.alias_of);
    texts.push_back({key.name, std::move(cells.value), std::move(cells.fallback),
                     std::move(cells.range), key.meaning});
  }
  return texts;
}

std::string table_of(const std::vector<KeyText>& keys) {
  std::string out = "| key | value | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const auto& key : keys)
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name, key.value, key.fallback,
                       key.range, in_a_cell(key.meaning));
  return out;
}

}  // namespace

std::vector<KeyText> searchd_key_texts() {
  return texts_of(searchd_keys());
}
std::vector<KeyText> table_key_texts() {
  return texts_of(table_keys());
}

std::string reference() {
  return fmt::format("### In `searchd`\n\n{}\n### In a distributed table\n\n{}",
                     table_of(searchd_key_texts()), table_of(table_key_texts()));
}

}  // namespace karmad
