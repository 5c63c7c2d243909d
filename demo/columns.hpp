#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "demo/document.hpp"

namespace karmad {

enum class Type : std::uint8_t { bigint, text, uint, real, string, multi, json, timestamp };

/// One column of the table, or one member of its JSON column ("meta.color").
struct Column {
  enum class Of : std::uint8_t {
    id,
    title,
    body,
    price,
    rating,
    brand,
    seller,
    tags,
    meta,
    ts,
    stock,
    weight,
  };
  std::string name;
  Of of = Of::id;
  Type type = Type::bigint;
  std::string member;  ///< of the JSON column; empty: all of it
};

/// The table's columns in the order answers show them, `id` first.
std::span<const Column> all_columns();
/// The column a request calls `name` (letter case aside), also "meta.color" and "any(tags)"'s
/// inner.
std::optional<Column> column_named(std::string_view name);

/// A single value; nothing when a document has none. The text lives as long as its document.
using Value = std::variant<std::monostate, std::int64_t, double, std::string_view>;
/// A value that owns its text.
using Literal = std::variant<std::monostate, std::int64_t, double, std::string>;

Value view(const Literal& literal);
Literal owned(const Value& value);

/// Nothing before numbers before strings; numbers exactly, strings by `collate`.
int compare(const Value& a, const Value& b);

/// The order that `column` sorts by: as `compare`, but what stands in JSON sorts as text (10, 11,
/// 6), and nothing before all text.
int sort_order(const Column& column, const Value& a, const Value& b);
/// Zero for values that share a group; any total order otherwise. Real strings are grouped by
/// `collate`; in JSON "Red" and "red" are two keys, and so are 5 and "5".
int group_order(const Column& column, const Value& a, const Value& b);

/// The value of a column with one value; of a multi-valued one the smallest.
Value value_of(const Document& document, const Column& column);
/// All values of a column: none, one or several.
std::vector<Value> values_of(const Document& document, const Column& column);

/// Appends a value as JSON: floats with six decimals.
void append_json(std::string& out, const Value& value);
/// Appends a document's whole column as JSON.
void append_json(std::string& out, const Document& document, const Column& column);

}  // namespace karmad
