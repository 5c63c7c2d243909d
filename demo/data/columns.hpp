#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "demo/data/document.hpp"

namespace karmad {

enum class Type : std::uint8_t { bigint, text, uint, real, string, multi, json, timestamp, vector };

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
    lat,
    lon,
    embedding,
  };
  std::string name;
  Of of = Of::id;
  Type type = Type::bigint;
  std::string member;  ///< of the JSON column; empty: all of it
};

/// The table's columns in the order of answers, `id` first.
std::span<const Column> all_columns();
/// The column `name` of a request (case-insensitive), also "meta.color", and `tags` of "any(tags)".
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

/// The sort order of `column`: like `compare`, but JSON values sort as text (10, 11, 6); booleans
/// and missing values are an empty text.
int sort_order(const Column& column, const Value& a, const Value& b);
/// Zero for values of the same group, otherwise any total order. String columns are grouped by
/// `collate`; in JSON "Red" and "red" are two keys, and so are 5 and "5".
int group_order(const Column& column, const Value& a, const Value& b);

/// The value of a column; the smallest one of a multi-valued column.
Value value_of(const Document& document, const Column& column);
/// All values of a column: none, one or several.
std::vector<Value> values_of(const Document& document, const Column& column);

/// The numbers of a document's vector, with commas; empty without a vector.
std::string embedding_text(const Document& document);

/// Appends a value as JSON: floats with six decimals.
void append_json(std::string& out, const Value& value);
/// Appends all values of a document's column as JSON.
void append_json(std::string& out, const Document& document, const Column& column);

}  // namespace karmad
