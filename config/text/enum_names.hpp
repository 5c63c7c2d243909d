#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace karmad {

/// Whether an enum has an enumerator of this value. The compiler prints any other value as a cast,
/// `(Enum)7`.
template <auto value>
consteval bool is_enumerator() {
  constexpr std::string_view printed = __PRETTY_FUNCTION__;
  constexpr std::string_view before = "value = ";
  return printed[printed.find(before) + before.size()] != '(';
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
  return stands_in_order(rows, value) && !is_enumerator<static_cast<Enum>(Size)>();
}

template <class Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

/// The names of all values of an enum, made by enum_names().
template <class Enum, std::size_t Size>
class EnumNames {
 public:
  consteval explicit EnumNames(const std::array<EnumName<Enum>, Size>& rows) {
    if (!lists_all(rows, &EnumName<Enum>::value)) throw "a value is missing or out of order";
    std::ranges::transform(rows, names_.begin(), &EnumName<Enum>::name);
  }

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

}  // namespace karmad
