#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace karmad {

/// One value in a document's JSON attribute. Members of an inner object are adjacent.
struct MetaMember {
  std::string key;  ///< its path: "color", "size.w"
  std::variant<std::int64_t, double, std::string, bool> value;
};

/// A catalogue entry: two text fields, and attributes of every type that answers have.
struct Document {
  std::uint64_t id = 0;
  std::string title;
  std::string body;
  std::uint32_t price = 0;
  float rating = 0;  ///< a multiple of 1/8, so that sums are exact in any order
  std::string brand;
  std::string seller;               ///< one name in several spellings of upper and lower case
  std::vector<std::uint32_t> tags;  ///< ascending, may be empty
  std::vector<MetaMember> meta;
  std::uint32_t ts = 0;              ///< seconds since 1970
  std::int64_t stock = 0;            ///< often so large that the sum of a few overflows 64 bits
  std::array<float, 4> embedding{};  ///< about a unit vector; all zero: the document has none
  float weight = 0;                  ///< sums depend on the order; some differ and print alike
  float lat = 0;                     ///< degrees, a multiple of 1/8, like `lon`
  float lon = 0;
};

}  // namespace karmad
