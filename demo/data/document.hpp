#pragma once

#include <rapidjson/document.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace karmad::demo {

/// A value of a JSON column, shared by the copies of a document: never changed, only replaced.
using Meta = std::shared_ptr<const rapidjson::Document>;

/// The JSON object in `text`; null if it has none.
rapidjson::Document parse_object(std::string_view text);
/// `text` as the value of a JSON column; null if it is no JSON object.
Meta read_meta(std::string_view text);

/// A document: two text fields, and attributes of every type that answers have. A table shows some
/// of them as its columns: those of the catalogue, or those of a loaded file.
struct Document {
  std::uint64_t id = 0;
  std::string title;
  std::string body;
  std::uint32_t price = 0;
  float rating = 0;  ///< a multiple of 1/8, so that sums are exact in any order
  std::string brand;
  std::string seller;                ///< one name in several spellings of upper and lower case
  std::vector<std::int64_t> tags;    ///< ascending, may be empty
  Meta meta;                         ///< null: the document has none
  std::uint32_t ts = 0;              ///< seconds since 1970
  std::int64_t stock = 0;            ///< often so large that the sum of a few overflows 64 bits
  std::array<float, 4> embedding{};  ///< about a unit vector; all zero: the document has none
  float weight = 0;                  ///< sums depend on the order; some differ and print alike
  float lat = 0;                     ///< degrees, a multiple of 1/8, like `lon`
  float lon = 0;

  // Only in a loaded file.
  std::uint32_t n = 0;
  std::int64_t big = 0;
  float cost = 0;  ///< its column is called `price`, too
  float tiny = 0;
  std::uint8_t ok = 0;  ///< a boolean
  std::string city;
  std::string sku;
  std::vector<std::int64_t> mtags;  ///< ascending, may be empty
};

}  // namespace karmad::demo
