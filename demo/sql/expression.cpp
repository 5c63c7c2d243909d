#include "demo/sql/expression.hpp"

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "demo/data/dice.hpp"
#include "demo/data/text.hpp"
#include "demo/engine/highlight.hpp"
#include "demo/sql/aggregates.hpp"
#include "demo/sql/cell_text.hpp"
#include "demo/sql/functions.hpp"

namespace karmad::demo {

namespace {

Cell column_cell(const Column& column, const Row& row) {
  if (row.index == nullptr) return {};
  const auto& document = row.index->documents()[row.hit.document];
  if (const auto* list = std::get_if<Tags Document::*>(&column.at)) return document.**list;
  if (column.type == Type::vector) return embedding_text(document);
  const auto* node = column.type == Type::json ? member_at(document, column) : nullptr;
  if (node != nullptr && (node->IsObject() || node->IsArray())) {
    JsonText json;
    append_json(json.text, *node);
    return json;
  }
  return to_cell(value_of(document, column));
}

/// Whole numbers wrap around at 64 bits.
Cell calculate(std::string_view sign, const Cell& left, const Cell& right) {
  const auto a = number_of_cell(left);
  const auto b = number_of_cell(right);
  if (sign == "/") return a / b;
  if (sign == "%" || sign == "div") {
    const auto of = static_cast<std::int64_t>(a);
    const auto by = static_cast<std::int64_t>(b);
    if (by == 0 || by == -1) return by == 0 || sign == "%" ? 0 : -of;
    return sign == "%" ? of % by : of / by;
  }
  if (std::holds_alternative<std::int64_t>(left) && std::holds_alternative<std::int64_t>(right)) {
    const auto x = static_cast<std::uint64_t>(std::get<std::int64_t>(left));
    const auto y = static_cast<std::uint64_t>(std::get<std::int64_t>(right));
    return static_cast<std::int64_t>(sign == "+" ? x + y : sign == "-" ? x - y : x * y);
  }
  return sign == "+" ? a + b : sign == "-" ? a - b : a * b;
}

/// Values of different kinds, and a missing one, are never equal and have no order.
bool compares(std::string_view sign, const Value& a, const Value& b) {
  const bool text = a.index() == 3;
  if (a.index() == 0 || b.index() == 0 || text != (b.index() == 3)) return sign == "!=";
  const auto order = compare(a, b);
  if (sign == "=") return order == 0;
  if (sign == "!=") return order != 0;
  if (sign == "<") return order < 0;
  if (sign == "<=") return order <= 0;
  return sign == ">" ? order > 0 : order >= 0;
}

/// Whether a single value satisfies an operation whose other operands are `rest`.
bool holds_for(std::string_view sign, const Value& value, const std::vector<Cell>& rest) {
  if (sign == "between")
    return compares(">=", value, to_value(rest[0])) && compares("<=", value, to_value(rest[1]));
  if (sign == "in")
    return std::ranges::any_of(
        rest, [&](const Cell& wanted) { return compares("=", value, to_value(wanted)); });
  return compares(sign, value, to_value(rest[0]));
}

bool is_quantifier(const Expression& expression) {
  return expression.kind == Expression::Kind::function &&
         (expression.name == "any" || expression.name == "all");
}

/// Any value of a list, or all of them.
bool holds_for_list(const Expression& expression, const Expression& subject, const Tags& tags,
                    const std::vector<Cell>& rest) {
  const bool differs = expression.name == "!=" && !is_quantifier(subject);
  const auto fits = [&](std::int64_t tag) {
    return holds_for(differs ? "=" : std::string_view(expression.name), Value{tag}, rest);
  };
  if (is_quantifier(subject) && subject.name == "all")
    return !tags.empty() && std::ranges::all_of(tags, fits);
  return std::ranges::any_of(tags, fits) != differs;
}

bool condition(const Expression& expression, const Row& row) {
  const auto& subject = expression.arguments[0];
  std::vector<Cell> rest;
  for (std::size_t i = 1; i < expression.arguments.size(); ++i)
    rest.push_back(evaluate(expression.arguments[i], row));
  const auto left = evaluate(is_quantifier(subject) ? subject.arguments[0] : subject, row);
  const auto* tags = std::get_if<Tags>(&left);
  const bool json =
      subject.type == CellType::member && std::ranges::none_of(rest, [](const Cell& cell) {
        return std::holds_alternative<std::string>(cell);
      });
  if (tags != nullptr) return holds_for_list(expression, subject, *tags, rest);
  const bool member = json && subject.kind == Expression::Kind::column && row.index != nullptr;
  const auto* node =
      member ? member_at(row.index->documents()[row.hit.document], subject.column) : nullptr;
  // A null in JSON is compared with numbers as 0.
  const auto value = node != nullptr && node->IsNull() ? Value{std::int64_t{0}} : to_value(left);
  return holds_for(expression.name, json ? numeric(value) : value, rest);
}

/// Expressions of 32 bits take numbers of 32 bits as signed ones, those of JSON as none.
Cell narrow_cell(const Expression& expression, const Row& row) {
  const auto cell = evaluate(expression, row);
  if (expression.type == CellType::member)
    return std::int64_t{
        static_cast<std::int32_t>(number_of_cell(to_cell(numeric(to_value(cell)))))};
  const auto* whole = std::get_if<std::int64_t>(&cell);
  if (whole == nullptr || expression.type > CellType::whole) return cell;
  return std::int64_t{static_cast<std::int32_t>(*whole)};
}

Cell operation(const Expression& expression, const Row& row) {
  const auto& name = expression.name;
  const auto& arguments = expression.arguments;
  if (name == "and" || name == "or") {
    const bool first = is_true(evaluate(arguments[0], row));
    if (first == (name == "or")) return std::int64_t{first};
    return std::int64_t{is_true(evaluate(arguments[1], row))};
  }
  if (name == "not") return std::int64_t{!is_true(evaluate(arguments[0], row))};
  if (name == "is null")
    return std::int64_t{std::holds_alternative<std::monostate>(evaluate(arguments[0], row))};
  if (name == "neg") return calculate("-", std::int64_t{0}, evaluate(arguments[0], row));
  if (std::string_view("+-*/%div").find(name) != std::string_view::npos) {
    const bool narrow = expression.type == CellType::whole;
    return calculate(name, narrow ? narrow_cell(arguments[0], row) : evaluate(arguments[0], row),
                     narrow ? narrow_cell(arguments[1], row) : evaluate(arguments[1], row));
  }
  return std::int64_t{condition(expression, row)};
}

std::string highlighted(const Expression& expression, const Row& row) {
  if (row.index == nullptr || row.words == nullptr) return {};
  const auto& document = row.index->documents()[row.hit.document];
  std::string out;
  Highlight how;
  const auto options = expression.arguments.empty()
                           ? std::string()
                           : plain_text(evaluate(expression.arguments[0], row));
  if (const auto at = options.find(";limit="); at != std::string::npos)
    how.limit = std::strtoul(options.c_str() + at + 7, nullptr, 10);
  for (const auto* text : {&document.title, &document.body}) {
    const auto marked = marked_text(*text, how, *row.words);
    const bool wanted =
        expression.arguments.size() < 2 ||
        plain_text(evaluate(expression.arguments[1], row))
                .find(text == &document.title ? "title" : "body") != std::string::npos;
    if (!wanted) continue;
    if (!out.empty()) out += " | ";
    out += marked;
  }
  return out;
}

/// ANY, ALL or INDEXOF(condition FOR x IN list): the last one is -1 without a place.
Cell in_list(const Expression& expression, const Row& row) {
  const auto& list = expression.arguments[1];
  if (row.index == nullptr || list.kind != Expression::Kind::column) return std::int64_t{0};
  const auto values = values_of(row.index->documents()[row.hit.document], list.column);
  const auto fits = [&](const Value& value) {
    auto inner = row;
    inner.element = &value;
    return is_true(evaluate(expression.arguments[0], inner));
  };
  if (expression.name == "indexof for") {
    const auto found = std::ranges::find_if(values, fits);
    return found == values.end() ? std::int64_t{-1} : std::int64_t{found - values.begin()};
  }
  const bool all = expression.name == "all for";
  return std::int64_t{all ? !values.empty() && std::ranges::all_of(values, fits)
                          : std::ranges::any_of(values, fits)};
}

/// A number for a group, another one in each part of the catalogue.
Cell scattered(const Row& row) {
  auto hash = row.index->salt();
  for (const auto& part : row.group->key) {
    std::string text;
    append_json(text, view(part));
    for (const char c : text) hash = Dice{hash + static_cast<unsigned char>(c)}.next();
  }
  return static_cast<std::int64_t>(hash ^ std::uint64_t{1} << 63);
}

Cell row_function(const Expression& expression, const Row& row) {
  const auto& name = expression.name;
  if (name == "weight") return row.hit.score;
  if (name == "knn_dist") return row.hit.distance;
  if (name == "hybrid_score") return row.hit.fused;
  if (name == "rand")
    return static_cast<std::int64_t>(Dice{row.index->documents()[row.hit.document].id}.next() >> 1);
  if (name == "scattered") return row.group == nullptr ? Cell{} : scattered(row);
  if (name == "highlight") return highlighted(expression, row);
  if (name == "groupby") {
    if (row.group == nullptr) return {};
    const auto* which = std::get_if<std::int64_t>(&expression.literal);
    const auto& key = row.group->key;
    const bool is_float = key.size() == 1 && std::holds_alternative<double>(key[0]) &&
                          expression.type == CellType::bigint;
    if (which == nullptr && (key.size() > 1 || is_float)) return row.group->number;
    const auto place = which == nullptr ? 0 : static_cast<std::size_t>(*which);
    if (place >= row.group->key.size()) return {};
    const auto cell = to_cell(view(row.group->key[place]));
    const bool shown_as_text = which == nullptr && expression.type == CellType::text;
    if (!shown_as_text || std::holds_alternative<std::monostate>(cell)) return cell;
    return plain_text(cell);
  }
  if (name == "element") return row.element == nullptr ? Cell{} : to_cell(*row.element);
  if (name.ends_with(" for")) return in_list(expression, row);
  const bool narrow =
      name == "interval" || name == "min" || name == "max" || name == "least" || name == "greatest";
  std::vector<Cell> cells;
  for (const auto& argument : expression.arguments)
    cells.push_back(narrow && expression.type == CellType::whole ? narrow_cell(argument, row)
                                                                 : evaluate(argument, row));
  if (name == "any" || name == "all") return cells[0];
  if (name == "snippet") return marked_text(plain_text(cells[0]), {}, words(plain_text(cells[1])));
  if (name == "regex") {
    // The reader has checked the pattern.
    const std::regex pattern(plain_text(cells[1]), std::regex::ECMAScript);
    return std::int64_t{std::regex_search(plain_text(cells[0]), pattern)};
  }
  return call_function(name, cells);
}

/// A value with no more digits than its type has.
Cell fitted(Cell cell, CellType type) {
  const auto* whole = std::get_if<std::int64_t>(&cell);
  const auto* real = std::get_if<double>(&cell);
  if (type == CellType::real && (whole != nullptr || real != nullptr))
    return double{static_cast<float>(number_of_cell(cell))};
  if (type == CellType::exact && whole != nullptr) return static_cast<double>(*whole);
  if (type == CellType::whole && whole != nullptr)
    return std::int64_t{static_cast<std::uint32_t>(*whole)};
  return cell;
}

bool any_part(const Expression& expression, auto wanted) {
  return wanted(expression) ||
         std::ranges::any_of(expression.arguments,
                             [&](const Expression& part) { return any_part(part, wanted); });
}

}  // namespace

Cell evaluate(const Expression& expression, const Row& row) {
  switch (expression.kind) {
    case Expression::Kind::literal:
    case Expression::Kind::list:
      return to_cell(view(expression.literal));
    case Expression::Kind::column:
      return column_cell(expression.column, row);
    case Expression::Kind::operation:
      return fitted(operation(expression, row), expression.type);
    case Expression::Kind::function:
      return fitted(row_function(expression, row), expression.type);
    case Expression::Kind::aggregate:
      return fitted(aggregate_of(expression, row), expression.type);
  }
  return {};
}

bool has_aggregate(const Expression& expression) {
  return any_part(expression,
                  [](const Expression& part) { return part.kind == Expression::Kind::aggregate; });
}

bool has_function(const Expression& expression, std::string_view name) {
  return any_part(expression, [&](const Expression& part) {
    return part.kind == Expression::Kind::function && part.name == name;
  });
}

bool is_true(const Cell& cell) {
  return number_of_cell(cell) != 0;
}

double number_of_cell(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* is = std::get_if<bool>(&cell)) return *is ? 1 : 0;
  return 0;
}

Value to_value(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* text = std::get_if<std::string>(&cell)) return std::string_view(*text);
  if (const auto* json = std::get_if<JsonText>(&cell)) return std::string_view(json->text);
  if (const auto* is = std::get_if<bool>(&cell)) return *is;
  return {};
}

Cell to_cell(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  if (const auto* is = std::get_if<bool>(&value)) return *is;
  return {};
}

int cell_order(const Cell& a, const Cell& b, CellType type) {
  if (type != CellType::member) return compare(to_value(a), to_value(b));
  return collate(sort_text(to_value(a)), sort_text(to_value(b)));
}

}  // namespace karmad::demo
