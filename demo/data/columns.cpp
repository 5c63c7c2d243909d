#include "demo/data/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "demo/data/text.hpp"

namespace karmad {

namespace {

using Of = Column::Of;

const std::array<Column, 15> kColumns{{
    {"id", Of::id, Type::bigint, {}},
    {"title", Of::title, Type::text, {}},
    {"body", Of::body, Type::text, {}},
    {"price", Of::price, Type::uint, {}},
    {"rating", Of::rating, Type::real, {}},
    {"brand", Of::brand, Type::string, {}},
    {"seller", Of::seller, Type::string, {}},
    {"tags", Of::tags, Type::multi, {}},
    {"meta", Of::meta, Type::json, {}},
    {"ts", Of::ts, Type::timestamp, {}},
    {"stock", Of::stock, Type::bigint, {}},
    {"weight", Of::weight, Type::real, {}},
    {"lat", Of::lat, Type::real, {}},
    {"lon", Of::lon, Type::real, {}},
    {"embedding", Of::embedding, Type::vector, {}},
}};

Value member_of(const Document& document, std::string_view key) {
  for (const auto& member : document.meta) {
    if (member.key != key) continue;
    if (const auto* number = std::get_if<std::int64_t>(&member.value)) return *number;
    if (const auto* real = std::get_if<double>(&member.value)) return *real;
    if (const auto* is = std::get_if<bool>(&member.value)) return *is;
    return std::string_view(std::get<std::string>(member.value));
  }
  return {};
}

template <class T>
int order(T a, T b) {
  if (a == b) return 0;
  return a < b ? -1 : 1;
}

long double exact_number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* is = std::get_if<bool>(&value)) return *is ? 1 : 0;
  return std::get<double>(value);
}

int rank(const Value& value) {
  return value.index() == 0 ? 0 : value.index() == 3 ? 2 : 1;
}

/// The text by which a JSON value sorts; a number as answers show it. `buffer` holds the text.
std::string_view sort_text(const Value& value, std::array<char, 512>& buffer) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return *text;
  auto* end = buffer.data();
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *whole).ptr;
  if (const auto* real = std::get_if<double>(&value))
    end = fmt::format_to_n(buffer.data(), buffer.size(), "{:.6f}", *real).out;
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

}  // namespace

std::span<const Column> all_columns() {
  return kColumns;
}

std::string embedding_text(const Document& document) {
  if (document.embedding == std::array<float, 4>{}) return {};
  return fmt::format("{:.6f}", fmt::join(document.embedding, ","));
}

std::optional<Column> column_named(std::string_view name) {
  if (name.starts_with("meta.") && name.size() > 5)
    return Column{std::string(name), Of::meta, Type::json, std::string(name.substr(5))};
  if (name == "_id") name = "id";
  const auto found = std::find_if(kColumns.begin(), kColumns.end(), [&](const Column& column) {
    return collate(column.name, name) == 0;
  });
  if (found == kColumns.end()) return std::nullopt;
  return *found;
}

Value view(const Literal& literal) {
  if (const auto* text = std::get_if<std::string>(&literal)) return std::string_view(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&literal)) return *whole;
  if (const auto* real = std::get_if<double>(&literal)) return *real;
  if (const auto* is = std::get_if<bool>(&literal)) return *is;
  return {};
}

Literal to_literal(const Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* is = std::get_if<bool>(&value)) return *is;
  return {};
}

int compare(const Value& a, const Value& b) {
  if (rank(a) != rank(b)) return order(rank(a), rank(b));
  if (rank(a) == 0) return 0;
  if (rank(a) == 2) return collate(std::get<std::string_view>(a), std::get<std::string_view>(b));
  if (a.index() == 1 && b.index() == 1)
    return order(std::get<std::int64_t>(a), std::get<std::int64_t>(b));
  return order(exact_number(a), exact_number(b));
}

int sort_order(const Column& column, const Value& a, const Value& b) {
  if (column.type != Type::json) return compare(a, b);
  std::array<char, 512> left;
  std::array<char, 512> right;
  return collate(sort_text(a, left), sort_text(b, right));
}

int group_order(const Column& column, const Value& a, const Value& b) {
  if (column.type != Type::json) return compare(a, b);
  if (a.index() != b.index()) return order(a.index(), b.index());
  if (const auto* text = std::get_if<std::string_view>(&a))
    return order(*text, std::get<std::string_view>(b));
  return compare(a, b);
}

Value value_of(const Document& document, const Column& column) {
  switch (column.of) {
    case Of::id:
      return static_cast<std::int64_t>(document.id);
    case Of::title:
      return std::string_view(document.title);
    case Of::body:
      return std::string_view(document.body);
    case Of::price:
      return std::int64_t{document.price};
    case Of::rating:
      return double{document.rating};
    case Of::brand:
      return std::string_view(document.brand);
    case Of::seller:
      return std::string_view(document.seller);
    case Of::tags:
      if (document.tags.empty()) return {};
      return std::int64_t{document.tags.front()};
    case Of::meta:
      return member_of(document, column.member);
    case Of::ts:
      return std::int64_t{document.ts};
    case Of::stock:
      return document.stock;
    case Of::weight:
      return double{document.weight};
    case Of::lat:
      return double{document.lat};
    case Of::lon:
      return double{document.lon};
    case Of::embedding:
      return {};  // no single value
  }
  return {};
}

std::vector<Value> values_of(const Document& document, const Column& column) {
  if (column.of == Of::tags) {
    std::vector<Value> out;
    for (const auto tag : document.tags) out.emplace_back(std::int64_t{tag});
    return out;
  }
  auto value = value_of(document, column);
  if (rank(value) == 0) return {};
  return {value};
}

void append_json(std::string& out, const Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    append_quoted(out, *text);
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    fmt::format_to(std::back_inserter(out), "{}", *whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    fmt::format_to(std::back_inserter(out), "{:.6f}", *real);
  } else if (const auto* is = std::get_if<bool>(&value)) {
    out += *is ? "true" : "false";
  } else {
    out += "null";
  }
}

namespace {

/// Writes the JSON column: "size.w" and "size.h" are members of "size".
void append_meta(std::string& out, const Document& document) {
  std::string_view open;
  out += '{';
  for (const auto& member : document.meta) {
    std::string_view name = member.key;
    const auto dot = name.find('.');
    const auto within = dot == name.npos ? std::string_view{} : name.substr(0, dot);
    if (within != open && !open.empty()) out += '}';
    if (out.back() != '{') out += ',';
    if (within != open && !within.empty()) {
      append_quoted(out, within);
      out += ":{";
    }
    open = within;
    append_quoted(out, dot == name.npos ? name : name.substr(dot + 1));
    out += ':';
    append_json(out, member_of(document, member.key));
  }
  out += open.empty() ? "}" : "}}";
}

}  // namespace

void append_json(std::string& out, const Document& document, const Column& column) {
  if (column.type == Type::multi) {
    fmt::format_to(std::back_inserter(out), "[{}]", fmt::join(document.tags, ","));
  } else if (column.type == Type::vector) {
    fmt::format_to(std::back_inserter(out), "[{}]", embedding_text(document));
  } else if (column.type == Type::json && column.member.empty()) {
    append_meta(out, document);
  } else {
    append_json(out, value_of(document, column));
  }
}

}  // namespace karmad
