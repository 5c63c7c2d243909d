#include "demo/sql/read_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <regex>
#include <utility>

#include "demo/data/text.hpp"
#include "demo/language/query_string.hpp"
#include "demo/sql/aggregates.hpp"
#include "demo/sql/functions.hpp"

namespace karmad::demo {

namespace {

constexpr int kMostBrackets = 200;

CellType type_of_column(const Column& column) {
  switch (column.type) {
    case Type::bigint:
      return CellType::bigint;
    case Type::uint:
    case Type::timestamp:
      return CellType::whole;
    case Type::boolean:
      return CellType::boolean;
    case Type::real:
      return CellType::real;
    case Type::text:
    case Type::string:
      return CellType::text;
    case Type::multi:
    case Type::multi64:
      return CellType::multi;
    case Type::json:
      return column.member.empty() ? CellType::json : CellType::member;
    case Type::vector:
      return CellType::vector;
  }
  return CellType::text;
}

/// or > and > not > comparison > + - > * / % > sign > operand
class ExpressionReader {
 public:
  ExpressionReader(SqlCursor& cursor, const SqlScope& scope) : cursor_(cursor), scope_(scope) {}

  Expression either() {
    auto out = both();
    while (cursor_.take_word("or")) out = operation_of("or", {std::move(out), both()});
    return out;
  }

 private:
  Expression both() {
    auto out = negation();
    while (cursor_.take_word("and")) out = operation_of("and", {std::move(out), negation()});
    return out;
  }

  Expression negation() {
    if (cursor_.take_word("not")) return operation_of("not", {negation()});
    return comparison();
  }

  /// Filters compare a column, an alias or one of a few functions.
  Expression filtered() {
    static constexpr std::array<std::string_view, 10> kCalls{
        "any", "all", "match", "knn", "count", "weight", "groupby", "knn_dist", "facet", "in"};
    const auto& token = cursor_.peek();
    const bool call = token.kind == SqlToken::Kind::name && cursor_.at_sign("(", 1);
    if (call && std::ranges::find(kCalls, lower_case(token.text)) == kCalls.end()) {
      cursor_.take();
      cursor_.wrong();
    }
    return signed_operand();
  }

  Expression comparison() {
    auto left = scope_.filters ? filtered() : scope_.operands ? signed_operand() : sum();
    if (cursor_.take_words("not", "in")) return operation_of("not", {one_of(std::move(left))});
    if (cursor_.take_words("not", "between"))
      return operation_of("not", {between(std::move(left))});
    if (cursor_.take_word("in")) return one_of(std::move(left));
    if (cursor_.take_word("between")) return between(std::move(left));
    if (cursor_.take_word("is")) {
      const bool present = cursor_.take_word("not");
      cursor_.expect_word("null");
      auto out = operation_of("is null", {std::move(left)});
      return present ? operation_of("not", {std::move(out)}) : out;
    }
    constexpr std::array<std::string_view, 7> kSigns{"=", "!=", "<>", "<=", ">=", "<", ">"};
    for (const auto sign : kSigns)
      if (cursor_.take_sign(sign))
        return operation_of(sign == "<>" ? "!=" : std::string(sign), {left, value_for(left)});
    return left;
  }

  /// What `left` is compared with. A text is a mistake for a number.
  Expression value_for(const Expression& left) {
    auto value = sum();
    check_filter(left, value);
    return value;
  }

  void check_filter(const Expression& left, const Expression& value) {
    const auto& column = left.column;
    const bool number = left.kind == Expression::Kind::column && column.member.empty() &&
                        column.type != Type::text && column.type != Type::string &&
                        column.type != Type::json && !column.is_multi();
    if (number && value.kind == Expression::Kind::literal &&
        std::holds_alternative<std::string>(value.literal))
      cursor_.complaint().say(500, "table {}: unsupported filter type 'string' on attribute '{}'",
                              scope_.table, column.name);
  }

  Expression one_of(Expression left) {
    std::vector<Expression> arguments{std::move(left)};
    cursor_.expect_sign("(");
    do {
      arguments.push_back(literal_expression(cursor_.take_literal()));
      check_filter(arguments.front(), arguments.back());
    } while (cursor_.take_sign(","));
    cursor_.expect_sign(")");
    return operation_of("in", std::move(arguments));
  }

  Expression between(Expression left) {
    std::vector<Expression> arguments{std::move(left), sum()};
    cursor_.expect_word("and");
    arguments.push_back(sum());
    return operation_of("between", std::move(arguments));
  }

  Expression sum() {
    auto out = product();
    for (;;) {
      if (cursor_.take_sign("+"))
        out = operation_of("+", {std::move(out), product()});
      else if (cursor_.take_sign("-"))
        out = operation_of("-", {std::move(out), product()});
      else
        return out;
    }
  }

  Expression product() {
    auto out = signed_operand();
    for (;;) {
      if (cursor_.take_sign("*"))
        out = operation_of("*", {std::move(out), signed_operand()});
      else if (cursor_.take_sign("/"))
        out = operation_of("/", {std::move(out), signed_operand()});
      else if (cursor_.take_sign("%") || cursor_.take_word("mod"))
        out = operation_of("%", {std::move(out), signed_operand()});
      else if (cursor_.take_word("div"))
        out = operation_of("div", {std::move(out), signed_operand()});
      else
        return out;
    }
  }

  Expression signed_operand() {
    if (cursor_.take_sign("-")) return operation_of("neg", {signed_operand()});
    return operand();
  }

  Expression operand() {
    using Kind = SqlToken::Kind;
    const auto& token = cursor_.peek();
    if (token.kind == Kind::number || token.kind == Kind::text)
      return literal_expression(cursor_.take_literal());
    if (++depth_ > kMostBrackets) cursor_.wrong();
    Expression out;
    if (cursor_.take_sign("(")) {
      out = either();
      cursor_.expect_sign(")");
    } else if (token.kind == Kind::name && (!is_reserved(token.text) || is_call())) {
      const auto begin = cursor_.begin();
      const auto name = cursor_.take_name();
      out = cursor_.take_sign("(") ? call(lower_case(name), begin) : named(path(name));
    } else {
      cursor_.wrong();
    }
    --depth_;
    return out;
  }

  /// IN(…) and FACET(), which are words of clauses, too.
  bool is_call() const {
    return cursor_.at_sign("(", 1) &&
           (cursor_.at_word("in") || (cursor_.at_word("facet") && scope_.facet != nullptr));
  }

  /// meta['color'] is meta.color.
  std::string path(std::string name) {
    while (cursor_.take_sign("[")) {
      const bool place = cursor_.peek().kind == SqlToken::Kind::number;
      name += place ? fmt::format("[{}]", cursor_.take_count()) : "." + cursor_.take_text();
      cursor_.expect_sign("]");
    }
    return name;
  }

  Expression named(std::string name) {
    if (name.starts_with("@@")) return literal_expression(std::string("<empty>"));
    if (!variable_.empty() && name == variable_) {
      auto out = call_expression("element", {});
      out.type = CellType::member;
      return out;
    }
    for (const auto& alias : scope_.aliases)
      if (collate(alias.name, name) == 0) return alias.expression;
    const auto prefix = (is_strict() ? scope_.table_alias : scope_.table) + ".";
    if (prefix.size() > 1 && lower_case(name).starts_with(lower_case(prefix)))
      name.erase(0, prefix.size());
    const auto column = column_named(name);
    if (!column || scope_.table.empty()) {
      cursor_.complaint().say(500, "table {}: unknown column: {}", scope_.table, name);
      return {};
    }
    return column_expression(*column);
  }

  /// Reads the arguments of a call behind its bracket.
  Expression call(std::string name, std::size_t begin) {
    if (name == "match") return match();
    if (name == "knn") return knn();
    if (name == "facet" && scope_.facet != nullptr) {
      cursor_.expect_sign(")");
      return *scope_.facet;
    }
    if (name == "count") return counted();
    Expression out;
    out.kind = Expression::Kind::function;
    const auto variable = loop_variable();
    if (!variable.empty()) {
      const auto outer = std::exchange(variable_, variable);
      out.arguments.push_back(either());
      variable_ = outer;
      cursor_.expect_word("for");
      cursor_.take_name();
      cursor_.expect_word("in");
      name += " for";
    }
    if (!cursor_.at_sign(")")) {
      do {
        if (cursor_.at_sign("{"))
          options(name, out.arguments);
        else if (cursor_.take_word("interval"))
          out.arguments.push_back(seconds());
        else
          out.arguments.push_back(either());
      } while (cursor_.take_sign(","));
    }
    cursor_.expect_sign(")");
    finish(std::move(name), begin, out);
    return out;
  }

  /// The `x` of ANY(x>3 FOR x IN list), whose first word was not read yet; empty: there is no FOR.
  std::string loop_variable() const {
    std::size_t depth = 0;
    for (std::size_t ahead = 0; cursor_.peek(ahead).kind != SqlToken::Kind::end; ++ahead) {
      if (cursor_.at_sign("(", ahead)) ++depth;
      if (cursor_.at_sign(")", ahead) && depth-- == 0) break;
      if (depth == 0 && cursor_.at_word("for", ahead)) return cursor_.peek(ahead + 1).text;
    }
    return {};
  }

  /// The seconds of INTERVAL 1 DAY, behind its first word.
  Expression seconds() {
    const auto number = static_cast<std::int64_t>(cursor_.take_count());
    const auto unit = lower_case(cursor_.take_name());
    return literal_expression(number * (unit == "week"     ? 604'800
                                        : unit == "day"    ? 86'400
                                        : unit == "hour"   ? 3600
                                        : unit == "minute" ? 60
                                                           : 1));
  }

  /// Aggregates are of numbers, and of JSON only converted ones.
  void check_aggregate(const std::string& name, const Expression& argument) {
    const auto type = argument.type;
    if (cursor_.complaint() || name == "count distinct" || !is_strict()) return;
    if (type == CellType::member)
      cursor_.complaint().say(500,
                              "table {}: ambiguous attribute type '{}', use INTEGER(), BIGINT() or "
                              "DOUBLE() conversion functions",
                              scope_.table, argument.name);
    else if (type > CellType::exact)
      cursor_.complaint().say(500, "table {}: can not aggregate non-scalar attribute '{}'",
                              scope_.table, argument.name);
  }

  void finish(std::string name, std::size_t begin, Expression& out) {
    const bool one = out.arguments.size() == 1;
    if (name == "exist" && out.arguments.size() == 2) {
      const auto* column = std::get_if<std::string>(&out.arguments[0].literal);
      out = column != nullptr && column_named(*column) ? named(*column) : out.arguments[1];
      return;
    }
    if (const auto type = aggregate_type(name, one ? out.arguments[0].type : CellType::whole);
        type && one) {
      out.kind = Expression::Kind::aggregate;
      out.type = *type;
      check_aggregate(name, out.arguments[0]);
    } else if (const auto found = function_type(name, out.arguments)) {
      out.type = *found;
      if (name == "regex") check_pattern(out);
    } else if (!cursor_.complaint()) {
      cursor_.complaint().say(
          500, "table {}: parse error: P09: syntax error, unexpected '(', expecting $end near '{}'",
          scope_.table, cursor_.text_from(begin).substr(name.size() + 1));
    }
    out.name = std::move(name);
  }

  void check_pattern(const Expression& call) {
    const auto* text = std::get_if<std::string>(&call.arguments[1].literal);
    try {
      const std::regex pattern(text == nullptr ? "" : *text, std::regex::ECMAScript);
    } catch (const std::regex_error&) {
      cursor_.complaint().say(500, "table {}: invalid pattern in REGEX()", scope_.table);
    }
  }

  Expression match() {
    if (scope_.match == nullptr) cursor_.wrong();
    const auto text = cursor_.take_text();
    cursor_.expect_sign(")");
    if (scope_.match != nullptr && !cursor_.complaint())
      *scope_.match = read_query_string(text, scope_.table, cursor_.complaint());
    return literal_expression(std::int64_t{1});
  }

  /// `KNN(embedding, 5, (0.1,-0.2,…))`, or with the id of a document in place of the vector.
  Expression knn() {
    if (scope_.knn == nullptr) cursor_.wrong();
    const auto name = cursor_.take_name();
    const auto column = column_named(name);
    if (!column || column->type != Type::vector)
      cursor_.complaint().say(500, "table {}: requested KNN search attribute '{}' not found",
                              scope_.table, name);
    Knn out;
    cursor_.expect_sign(",");
    out.k = cursor_.take_count();
    cursor_.expect_sign(",");
    if (cursor_.at_sign("("))
      vector(out);
    else
      out.document = cursor_.take_count();
    if (cursor_.take_sign(",")) cursor_.take_count();  // ef
    cursor_.expect_sign(")");
    if (scope_.knn != nullptr) *scope_.knn = {std::move(out)};
    return literal_expression(std::int64_t{1});
  }

  void vector(Knn& out) {
    std::size_t count = 0;
    cursor_.expect_sign("(");
    do {
      const bool negative = cursor_.take_sign("-");
      const auto value = number_of_cell(to_cell(view(cursor_.take_literal())));
      if (count < out.vector.size())
        out.vector[count] = static_cast<float>(negative ? -value : value);
      ++count;
    } while (cursor_.take_sign(","));
    cursor_.expect_sign(")");
    if (count != out.vector.size())
      cursor_.complaint().say(
          500,
          "table {}: KNN index 'embedding' requires a vector of {} entries; {} entries specified",
          scope_.table, out.vector.size(), count);
  }

  Expression counted() {
    Expression out;
    out.kind = Expression::Kind::aggregate;
    out.type = CellType::bigint;
    out.name = "count";
    if (cursor_.take_word("distinct")) {
      out.type = CellType::whole;
      out.name = "count distinct";
      out.arguments.push_back(named(path(cursor_.take_name())));
    } else {
      cursor_.expect_sign("*");
    }
    cursor_.expect_sign(")");
    return out;
  }

  /// {in=degrees, out=km}: of GEODIST the values of `in` and `out`, of others ";in=degrees;out=km".
  void options(const std::string& name, std::vector<Expression>& arguments) {
    std::string in;
    std::string out;
    std::string all;
    cursor_.expect_sign("{");
    while (!cursor_.at_sign("}") && !cursor_.at_end()) {
      const auto key = lower_case(cursor_.take().text);
      cursor_.expect_sign("=");
      auto value = lower_case(cursor_.take().text);
      all += ";" + key + "=" + value;
      if (key == "in") in = value;
      if (key == "out") out = value;
      if (!cursor_.take_sign(",")) break;
    }
    cursor_.expect_sign("}");
    arguments.push_back(literal_expression(name == "geodist" ? in : all));
    if (name == "geodist") arguments.push_back(literal_expression(out));
  }

  SqlCursor& cursor_;
  const SqlScope& scope_;
  int depth_ = 0;
  std::string variable_;  ///< of the innermost FOR
};

}  // namespace

Expression literal_expression(Literal literal) {
  Expression out;
  if (std::holds_alternative<std::string>(literal)) out.type = CellType::text;
  if (std::holds_alternative<double>(literal)) out.type = CellType::real;
  if (const auto* whole = std::get_if<std::int64_t>(&literal))
    out.type = *whole < std::numeric_limits<std::int32_t>::min() ||
                       *whole > std::numeric_limits<std::uint32_t>::max()
                   ? CellType::bigint
                   : CellType::whole;
  out.literal = std::move(literal);
  return out;
}

Expression operation_of(std::string name, std::vector<Expression> arguments) {
  Expression out;
  out.kind = Expression::Kind::operation;
  if (name == "/") {
    out.type = std::max(CellType::real, common_type(arguments));
  } else if (name == "%" || name == "div") {
    out.type = std::min(CellType::bigint, common_type(arguments));
  } else if (name == "+" || name == "-" || name == "*" || name == "neg") {
    out.type = common_type(arguments);
  }
  out.name = std::move(name);
  out.arguments = std::move(arguments);
  return out;
}

Expression column_expression(const Column& column) {
  Expression out;
  out.kind = Expression::Kind::column;
  out.column = column;
  out.type = type_of_column(column);
  out.name = column.name;
  return out;
}

Expression call_expression(std::string name, std::vector<Expression> arguments) {
  Expression out;
  const bool one = arguments.size() == 1;
  const auto aggregate = aggregate_type(name, one ? arguments[0].type : CellType::whole);
  const auto function = aggregate ? std::nullopt : function_type(name, arguments);
  out.kind = aggregate ? Expression::Kind::aggregate : Expression::Kind::function;
  out.type = aggregate ? *aggregate : function.value_or(CellType::whole);
  out.name = std::move(name);
  out.arguments = std::move(arguments);
  return out;
}

bool is_reserved(std::string_view word) {
  static constexpr std::array<std::string_view, 27> kWords{
      "and",    "as",     "asc",    "between", "by",     "desc",  "distinct", "div",   "facet",
      "from",   "group",  "having", "in",      "is",     "limit", "mod",      "not",   "null",
      "offset", "option", "or",     "order",   "select", "set",   "show",     "where", "within"};
  return std::ranges::any_of(kWords,
                             [&](std::string_view other) { return collate(word, other) == 0; });
}

Expression read_expression(SqlCursor& cursor, const SqlScope& scope) {
  return ExpressionReader{cursor, scope}.either();
}

}  // namespace karmad::demo
