#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace karmad {

/// The identifier of an enum's value; empty for a value without one, which the compiler prints as a
/// cast, `(Enum)7`.
template <auto value>
consteval std::string_view enumerator() {
  constexpr std::string_view before = "value = ";
  std::string_view printed = __PRETTY_FUNCTION__;
  printed.remove_prefix(printed.find(before) + before.size());
  if (printed.starts_with('(')) return {};
  printed = printed.substr(0, printed.find_first_of(";]"));
  return printed.substr(printed.rfind(':') + 1);
}

/// Whether row i of a table is the one of value i of its enum.
template <class Row, std::size_t Size, class Enum>
constexpr bool stands_in_order(const std::array<Row, Size>& rows, Enum Row::*value) {
  for (std::size_t i = 0; i < Size; ++i)
    if (static_cast<std::size_t>(rows[i].*value) != i) return false;
  return true;
}

/// The same, and no value of the enum lacks its row.
template <class Row, std::size_t Size, class Enum>
constexpr bool lists_all(const std::array<Row, Size>& rows, Enum Row::*value) {
  return stands_in_order(rows, value) && enumerator<static_cast<Enum>(Size)>().empty();
}

template <class Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

/// The names of all values of an enum, made by enum_names() or enumerators().
template <class Enum, std::size_t Size>
class EnumNames {
 public:
  consteval explicit EnumNames(const std::array<EnumName<Enum>, Size>& rows) {
    if (!lists_all(rows, &EnumName<Enum>::value)) throw "a value is missing or out of order";
    std::ranges::transform(rows, names_.begin(), &EnumName<Enum>::name);
  }
  consteval explicit EnumNames(const std::array<std::string_view, Size>& names) : names_(names) {}

  constexpr std::string_view operator[](Enum value) const {
    return names_[static_cast<std::size_t>(value)];
  }
  /// The value of that name.
  constexpr std::optional<Enum> find(std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) return std::nullopt;
    return static_cast<Enum>(found - names_.begin());
  }
  /// In the order of the values.
  constexpr const std::array<std::string_view, Size>& all() const { return names_; }

 private:
  std::array<std::string_view, Size> names_;
};

/// One row for each value, in their order: anything else does not compile.
template <class Enum, std::size_t Size>
consteval EnumNames<Enum, Size> enum_names(const EnumName<Enum> (&rows)[Size]) {
  return EnumNames<Enum, Size>(std::to_array(rows));
}

/// The identifiers of all values of an enum that counts from 0.
template <class Enum, std::size_t size = 0>
consteval auto enumerators() {
  if constexpr (!enumerator<static_cast<Enum>(size)>().empty()) {
    return enumerators<Enum, size + 1>();
  } else {
    return []<std::size_t... i>(std::index_sequence<i...>) {
      return EnumNames<Enum, size>(std::array{enumerator<static_cast<Enum>(i)>()...});
    }
    (std::make_index_sequence<size>());
  }
}

}  // namespace karmad
