#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "demo/data/document.hpp"

namespace karmad::demo {

enum class Type : std::uint8_t {
  bigint,
  text,
  uint,
  boolean,
  real,
  string,
  multi,
  multi64,
  json,
  timestamp,
  vector
};

/// Where a document keeps the value of a column.
using Place = std::variant<std::uint64_t Document::*, std::string Document::*,
                           std::uint32_t Document::*, std::uint8_t Document::*, float Document::*,
                           std::int64_t Document::*, std::vector<std::int64_t> Document::*,
                           Meta Document::*, std::array<float, 4> Document::*>;

/// One column of the table, or one member of its JSON column ("meta.color").
struct Column {
  std::string name;
  Place at = &Document::id;
  Type type = Type::bigint;
  std::string member;  ///< of the JSON column, "size.w" or "arr[0]"; empty: all of it

  bool is_id() const { return std::holds_alternative<std::uint64_t Document::*>(at); }
  bool is_multi() const { return type == Type::multi || type == Type::multi64; }
};

/// The columns of a loaded file, a choice of those that the demo agent knows. Once, at the start;
/// else the table has those of the catalogue.
void choose_columns(std::span<const std::string> names);
/// Whether that was done. Then requests are refused, and pages cut, as by the search server; with
/// the catalogue, which only the demo agent has, it takes more.
bool is_strict();
/// The table's columns in the order of answers, `id` first.
std::span<const Column> all_columns();
/// The column `name` of a request (case-insensitive), also "meta.color" and "meta.arr[0]".
std::optional<Column> column_named(std::string_view name);

/// A single value; nothing if a document has none. The text lives as long as its document.
/// Booleans are only in JSON.
using Value = std::variant<std::monostate, std::int64_t, double, std::string_view, bool>;
/// A value that owns its text.
using Literal = std::variant<std::monostate, std::int64_t, double, std::string, bool>;

Value view(const Literal& literal);
Literal to_literal(const Value& value);

/// Order: nothing, numbers, strings. Numbers compare exactly, strings by `collate`.
int compare(const Value& a, const Value& b);

/// A text of JSON as the number that it is compared with numbers by; other values as they are.
Value numeric(const Value& value);

/// The text by which a value of JSON sorts (10, 11, 6); booleans and missing values are an empty
/// one.
std::string sort_text(const Value& value);
/// The text that a column of texts stores for a value: as above, booleans as 1 and 0.
std::string stored_text(const Value& value);
/// Zero for members of JSON of the same group, otherwise any total order: "Red" and "red" are two
/// keys, but 5 and "5" are one.
int member_order(const Value& a, const Value& b);

/// The value of a column; the smallest one of a multi-valued column.
Value value_of(const Document& document, const Column& column);
/// All values of a column: none, one or several.
std::vector<Value> values_of(const Document& document, const Column& column);

/// The numbers of a document's vector, with commas; empty without a vector.
std::string embedding_text(const Document& document);

/// Appends a value as JSON: floats with six decimals.
void append_json(std::string& out, const Value& value);
/// Appends a value of a JSON column.
void append_json(std::string& out, const rapidjson::Value& value);
/// The value of a JSON column's member "size.w" or "arr[0]", all of it with an empty path; null
/// without one.
const rapidjson::Value* member_at(const Document& document, const Column& column);
/// Appends all values of a document's column as JSON.
void append_json(std::string& out, const Document& document, const Column& column);

}  // namespace karmad::demo
