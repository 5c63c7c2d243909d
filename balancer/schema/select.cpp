#include "balancer/schema/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config/text/source_text.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {
namespace {

using Is = SchemaExpression::Is;
using Expression = SchemaExpression;
template <class T>
using Result = SchemaResult<T>;

constexpr std::size_t kDeepest = 64;  // of brackets
constexpr std::size_t kMostUnions = 64;
constexpr std::size_t kMostChained = 1000;   // operators of a statement, but AND and OR
constexpr std::size_t kMostCopied = 50'000;  // parts of expressions that stand for several

/// Words that end an expression or a table: no alias without AS.
constexpr std::array<std::string_view, 34> kReserved{
    "from",    "where",  "group",     "having",    "order",   "limit",        "union",
    "on",      "using",  "inner",     "cross",     "left",    "right",        "join",
    "as",      "and",    "or",        "not",       "is",      "like",         "in",
    "between", "then",   "else",      "end",       "when",    "asc",          "desc",
    "for",     "offset", "procedure", "separator", "collate", "straight_join"};

bool is_reserved(const SqlToken& token) {
  return std::ranges::any_of(kReserved, [&](auto word) { return token.is_word(word); });
}

bool is_number(const SqlToken& token) {
  if (token.kind != SqlToken::Kind::word) return false;
  const char first = token.text.front();
  return (first >= '0' && first <= '9') ||
         (first == '.' && token.text.size() > 1 && token.text[1] >= '0' && token.text[1] <= '9');
}

std::unexpected<ClientError> wrong(const SqlToken& at, std::string_view expected) {
  return std::unexpected(ClientError{
      400, fmt::format("syntax error: expected {} at offset {} in a SELECT that karmad answers "
                       "itself",
                       expected, at.at)});
}

std::size_t size_of(const Expression& expression) {
  std::size_t size = 1;
  for (const auto& part : expression.parts) size += size_of(part);
  return size;
}

class Reader {
 public:
  explicit Reader(SchemaTokens& tokens) : tokens_(tokens) {}

  Result<std::shared_ptr<const SchemaSelect>> select() {
    auto first = one_select();
    if (!first || !tokens_.take_word("union")) return first;
    if (++unions_ > kMostUnions) return wrong(tokens_.now(), "fewer UNIONs");
    auto whole = std::make_shared<SchemaSelect>(**first);
    whole->keeps_equal = tokens_.take_word("all");
    if (!whole->keeps_equal) tokens_.take_word("distinct");
    auto next = nested([&] { return select_in_brackets_or_not(); });
    if (!next) return next;
    auto rest = std::make_shared<SchemaSelect>(**next);
    whole->order = std::exchange(rest->order, {});
    whole->limit = std::exchange(rest->limit, SchemaSelect::kAll);
    whole->offset = std::exchange(rest->offset, 0);
    whole->next = std::move(rest);
    return whole;
  }

  Result<Expression> expression() {
    return nested([&] { return either(); });
  }

 private:
  template <class Read>
  auto nested(Read read) -> decltype(read()) {
    if (depth_ == kDeepest) return wrong(tokens_.now(), "fewer brackets");
    ++depth_;
    auto result = read();
    --depth_;
    return result;
  }

  Result<std::shared_ptr<const SchemaSelect>> select_in_brackets_or_not() {
    if (!tokens_.take_sign('(')) return select();
    auto inner = select();
    if (inner && !tokens_.take_sign(')')) return wrong(tokens_.now(), ")");
    return inner;
  }

  Result<std::shared_ptr<const SchemaSelect>> one_select() {
    if (!tokens_.take_word("select")) return wrong(tokens_.now(), "SELECT");
    auto out = std::make_shared<SchemaSelect>();
    for (bool more = true; more;) {
      more = tokens_.take_word("all") || tokens_.take_word("sql_no_cache") ||
             tokens_.take_word("sql_cache") || tokens_.take_word("high_priority") ||
             tokens_.take_word("straight_join") || tokens_.take_word("sql_calc_found_rows");
      if (!tokens_.take_word("distinct")) continue;
      out->distinct = more = true;
    }
    do {
      auto read = item();
      if (!read) return std::unexpected(std::move(read.error()));
      out->items.push_back(*std::move(read));
    } while (tokens_.take_sign(','));
    if (tokens_.take_word("from"))
      if (auto why = from(*out)) return std::unexpected(*std::move(why));
    if (auto why = clauses(*out)) return std::unexpected(*std::move(why));
    for (auto& key : out->group) replace_aliases(key, *out);
    if (out->having) replace_aliases(*out->having, *out);
    for (auto& key : out->order) replace_aliases(key.value, *out);
    if (copied_ > kMostCopied) return wrong(tokens_.now(), "shorter expressions");
    return out;
  }

  /// Whether a copy is allowed, of those of the whole statement.
  bool may_copy(const Expression& expression) {
    if (copied_ <= kMostCopied) copied_ += size_of(expression);
    return copied_ <= kMostCopied;
  }

  /// Puts the item of that alias in the place of each column without a table that is called so.
  void replace_aliases(Expression& in, const SchemaSelect& select) {
    if (in.is == Is::column && in.table.empty()) {
      const auto found = std::ranges::find_if(select.items, [&](const auto& item) {
        return item.named && lower(item.name) == lower(in.name);
      });
      if (found != select.items.end() && may_copy(found->value)) in = Expression(found->value);
      return;
    }
    for (auto& part : in.parts) replace_aliases(part, select);
  }

  Result<SchemaSelect::Item> item() {
    SchemaSelect::Item out;
    if (tokens_.take_sign('*')) {
      out.all_of.emplace();
      return out;
    }
    const auto begin = tokens_.now().at;
    const bool is_path = tokens_.now().names_table() && !is_number(tokens_.now());
    auto value = expression();
    if (!value) return std::unexpected(std::move(value.error()));
    if (is_path && value->is == Is::column && value->name.empty()) {  // table.*
      out.all_of = value->table;
      return out;
    }
    const auto source = tokens_.statement().substr(begin, tokens_.end_before() - begin);
    const bool plain = value->is == Is::column || value->is == Is::text;
    out.name = plain ? value->name : std::string(source.substr(0, 256));
    out.value = *std::move(value);
    const bool has_as = tokens_.now().is_word("as");
    if (auto name = alias()) {
      out.name = *std::move(name);
      out.named = true;
    } else if (has_as) {
      return wrong(tokens_.now(), "an alias");
    }
    return out;
  }

  /// `AS x`, or `x`.
  std::optional<std::string> alias() {
    const bool has_as = tokens_.take_word("as");
    const auto& token = tokens_.now();
    const bool quoted = token.kind == SqlToken::Kind::quoted || token.kind == SqlToken::Kind::name;
    const bool word = token.kind == SqlToken::Kind::word && !is_number(token) &&
                      token.text.front() != '@' && (has_as || !is_reserved(token));
    if (!quoted && !word) return std::nullopt;
    return tokens_.take_text();
  }

  // ---- FROM

  std::optional<ClientError> from(SchemaSelect& out) {
    if (auto why = source(out)) return why;
    for (;;) {
      bool left = false;
      bool joins = tokens_.take_sign(',');
      if (!joins) {
        left = tokens_.take_word("left");
        if (left) {
          tokens_.take_word("outer");
        } else if (!tokens_.take_word("inner")) {
          tokens_.take_word("cross");
        }
        joins = tokens_.take_word("join") || tokens_.take_word("straight_join");
        if (!joins && left) return wrong(tokens_.now(), "JOIN").error();
      }
      if (!joins) return std::nullopt;
      const auto first = out.sources.size();
      if (auto why = source(out)) return why;
      out.sources[first].left = left;
      if (auto why = condition(out.sources[first])) return why;
    }
  }

  std::optional<ClientError> condition(SchemaSource& joined) {
    if (tokens_.take_word("on")) {
      auto on = expression();
      if (!on) return std::move(on.error());
      joined.on = *std::move(on);
    } else if (tokens_.take_word("using")) {
      if (!tokens_.take_sign('(')) return wrong(tokens_.now(), "(").error();
      do {
        if (!tokens_.now().names_table()) return wrong(tokens_.now(), "a column").error();
        joined.same.push_back(tokens_.take_text());
      } while (tokens_.take_sign(','));
      if (!tokens_.take_sign(')')) return wrong(tokens_.now(), ")").error();
    }
    return std::nullopt;
  }

  std::optional<ClientError> source(SchemaSelect& out) {
    constexpr std::size_t kMostSources = 16;
    if (out.sources.size() == kMostSources) return wrong(tokens_.now(), "fewer tables").error();
    SchemaSource made;
    if (tokens_.now().is_sign('(') && tokens_.ahead().is_word("select")) {
      tokens_.step();
      auto inner = nested([&] { return select(); });
      if (!inner) return std::move(inner.error());
      if (!tokens_.take_sign(')')) return wrong(tokens_.now(), ")").error();
      made.select = *std::move(inner);
    } else if (tokens_.take_sign('(')) {
      auto inner = nested([&]() -> Result<bool> {
        if (auto why = from(out)) return std::unexpected(*std::move(why));
        return true;
      });
      if (!inner) return std::move(inner.error());
      if (!tokens_.take_sign(')')) return wrong(tokens_.now(), ")").error();
      return std::nullopt;
    } else {
      if (!tokens_.now().names_table()) return wrong(tokens_.now(), "a table").error();
      auto path = tokens_.take_path();
      if (path.size() > 2 || path.back().empty()) return wrong(tokens_.now(), "a table").error();
      made.table = std::move(path.back());
      if (path.size() == 2) made.schema = std::move(path.front());
    }
    made.alias = alias().value_or(made.table);
    out.sources.push_back(std::move(made));
    return std::nullopt;
  }

  // ---- what follows FROM

  std::optional<ClientError> clauses(SchemaSelect& out) {
    if (tokens_.take_word("where")) {
      auto where = expression();
      if (!where) return std::move(where.error());
      out.where = *std::move(where);
    }
    if (tokens_.take_word("group")) {
      if (!tokens_.take_word("by")) return wrong(tokens_.now(), "BY").error();
      do {
        auto key = expression();
        if (!key) return std::move(key.error());
        out.group.push_back(*std::move(key));
      } while (tokens_.take_sign(','));
    }
    if (tokens_.take_word("having")) {
      auto having = expression();
      if (!having) return std::move(having.error());
      out.having = *std::move(having);
    }
    if (auto why = order(out.order)) return why;
    if (tokens_.take_word("limit"))
      if (auto why = limit(out)) return why;
    if (tokens_.take_word("for")) tokens_.take_word("update");
    return std::nullopt;
  }

  std::optional<ClientError> order(std::vector<SchemaSelect::Key>& out) {
    if (!tokens_.take_word("order")) return std::nullopt;
    if (!tokens_.take_word("by")) return wrong(tokens_.now(), "BY").error();
    do {
      auto key = expression();
      if (!key) return std::move(key.error());
      out.push_back({*std::move(key), tokens_.take_word("desc")});
      if (!out.back().descending) tokens_.take_word("asc");
    } while (tokens_.take_sign(','));
    return std::nullopt;
  }

  std::optional<ClientError> limit(SchemaSelect& out) {
    const auto number = [&] {
      const auto read = whole_number<std::size_t>(tokens_.now().inner());
      if (read) tokens_.step();
      return read;
    };
    const auto first = number();
    if (!first) return wrong(tokens_.now(), "a number").error();
    out.limit = *first;
    const bool swapped = tokens_.take_sign(',');
    if (!swapped && !tokens_.take_word("offset")) return std::nullopt;
    const auto second = number();
    if (!second) return wrong(tokens_.now(), "a number").error();
    out.offset = swapped ? *first : *second;
    if (swapped) out.limit = *second;
    return std::nullopt;
  }

  // ---- expressions, from the weakest operator to the strongest

  /// `a <sign> b`, where `next` reads a and b and `take` takes the operator.
  template <class Next, class Take>
  Result<Expression> chain(Next next, Take take) {
    auto left = next();
    while (left) {
      std::string name = take();
      if (name.empty()) return left;
      auto right = next();
      if (!right) return right;
      const bool flat = name == "and" || name == "or";
      if (flat && left->is == Is::call && left->name == name) {
        left->parts.push_back(*std::move(right));
        continue;
      }
      if (!flat && ++chained_ > kMostChained) return wrong(tokens_.now(), "fewer operators");
      std::vector<Expression> parts;
      parts.push_back(*std::move(left));
      parts.push_back(*std::move(right));
      left = Expression::call(std::move(name), std::move(parts));
    }
    return left;
  }

  Result<Expression> either() {
    return chain([&] { return both(); },
                 [&]() -> std::string {
                   if (tokens_.take_word("or") || take_pair('|')) return "or";
                   return tokens_.take_word("xor") ? "xor" : "";
                 });
  }

  Result<Expression> both() {
    return chain(
        [&] { return negation(); },
        [&]() -> std::string { return tokens_.take_word("and") || take_pair('&') ? "and" : ""; });
  }

  bool take_pair(char sign) {
    if (!tokens_.now().is_sign(sign) || !tokens_.ahead().is_sign(sign)) return false;
    tokens_.step();
    tokens_.step();
    return true;
  }

  Result<Expression> negation() {
    const bool negates =
        tokens_.take_word("not") ||
        (tokens_.now().is_sign('!') && !tokens_.ahead().is_sign('=') && tokens_.take_sign('!'));
    if (!negates) return comparison();
    auto inner = nested([&] { return negation(); });
    if (!inner) return inner;
    return Expression::call("not", {*std::move(inner)});
  }

  std::string comparison_sign() {
    std::string sign;
    while (sign.size() < 3 && tokens_.now().kind == SqlToken::Kind::sign &&
           std::string_view("<>=!").contains(tokens_.now().text.front()) &&
           (sign.empty() || tokens_.end_before() == tokens_.now().at)) {
      sign += tokens_.now().text;
      tokens_.step();
    }
    return sign == "!=" ? "<>" : sign;
  }

  Result<Expression> comparison() {
    auto left = sum();
    while (left) {
      const bool negated = tokens_.now().is_word("not") &&
                           (tokens_.ahead().is_word("like") || tokens_.ahead().is_word("in") ||
                            tokens_.ahead().is_word("between") ||
                            tokens_.ahead().is_word("regexp") || tokens_.ahead().is_word("rlike"));
      if (negated) tokens_.step();
      auto next = compared(*left);
      if (!next) return next;
      const bool more = next->is != Is::null || !next->name.empty();
      if (!more) return left;
      if (++chained_ > kMostChained || !may_copy(*next))
        return wrong(tokens_.now(), "shorter expressions");
      if (negated) next = Expression::call("not", {*std::move(next)});
      left = std::move(next);
    }
    return left;
  }

  /// The comparison that begins with `left`; a null expression: none follows.
  Result<Expression> compared(const Expression& left) {
    if (auto sign = comparison_sign(); !sign.empty()) return with_operand(sign, left);
    if (tokens_.take_word("is")) return is(left);
    if (tokens_.take_word("regexp") || tokens_.take_word("rlike"))
      return with_operand("regexp", left);
    if (tokens_.take_word("like")) {
      auto out = with_operand("like", left);
      if (!out || !tokens_.take_word("escape")) return out;
      auto escape = sum();
      if (!escape) return escape;
      out->parts.push_back(*std::move(escape));
      return out;
    }
    if (tokens_.take_word("between")) {
      auto low = sum();
      if (!low) return low;
      if (!tokens_.take_word("and")) return wrong(tokens_.now(), "AND");
      auto high = sum();
      if (!high) return high;
      return Expression::call("and", {Expression::call(">=", {left, *std::move(low)}),
                                      Expression::call("<=", {left, *std::move(high)})});
    }
    if (tokens_.take_word("in")) return in(left);
    return Expression{};
  }

  Result<Expression> with_operand(std::string name, const Expression& left) {
    auto right = sum();
    if (!right) return right;
    return Expression::call(std::move(name), {left, *std::move(right)});
  }

  Result<Expression> is(const Expression& left) {
    const bool negated = tokens_.take_word("not");
    std::optional<Expression> test;
    if (tokens_.take_word("null")) test = Expression::call("is null", {left});
    if (!test && tokens_.take_word("true")) test = Expression::call("is true", {left});
    if (!test && tokens_.take_word("false"))
      test = Expression::call("is true", {Expression::call("not", {left})});
    if (!test) return wrong(tokens_.now(), "NULL, TRUE or FALSE");
    return negated ? Expression::call("not", {*std::move(test)}) : *std::move(test);
  }

  Result<Expression> in(const Expression& left) {
    if (!tokens_.take_sign('(')) return wrong(tokens_.now(), "(");
    Expression out{.is = Is::in, .name = "in", .table = {}, .parts = {left}};
    if (tokens_.now().is_word("select")) {
      auto inner = nested([&] { return select(); });
      if (!inner) return std::unexpected(std::move(inner.error()));
      out.select = *std::move(inner);
    } else {
      out.is = Is::call;
      do {
        auto value = expression();
        if (!value) return value;
        out.parts.push_back(*std::move(value));
      } while (tokens_.take_sign(','));
    }
    if (!tokens_.take_sign(')')) return wrong(tokens_.now(), ")");
    return out;
  }

  Result<Expression> sum() {
    return chain([&] { return product(); }, [&] { return take_one_of("+-"); });
  }
  Result<Expression> product() {
    return chain([&] { return operand(); }, [&] { return take_one_of("*/%"); });
  }
  std::string take_one_of(std::string_view signs) {
    if (tokens_.now().kind != SqlToken::Kind::sign || !signs.contains(tokens_.now().text.front()))
      return {};
    std::string sign(tokens_.now().text);
    tokens_.step();
    return sign;
  }

  Result<Expression> operand() {
    if (tokens_.take_word("binary")) return nested([&] { return operand(); });
    if (tokens_.take_sign('+')) return nested([&] { return operand(); });
    if (tokens_.take_sign('-')) {
      auto inner = nested([&] { return operand(); });
      if (!inner) return inner;
      return Expression::call("-", {Expression{.is = Is::number, .name = "0"}, *std::move(inner)});
    }
    auto value = primary();
    if (value && tokens_.take_word("collate")) tokens_.step();
    return value;
  }

  Result<Expression> primary() {
    const auto token = tokens_.now();
    if (token.kind == SqlToken::Kind::quoted) return Expression::literal(tokens_.take_text());
    if (tokens_.take_sign('(')) return brackets();
    if (is_number(token)) {
      tokens_.step();
      return Expression{.is = Is::number, .name = std::string(token.text)};
    }
    if (!token.names_table() || (is_reserved(token) && !tokens_.ahead().is_sign('(')))
      return wrong(token, "a value");
    if (token.kind == SqlToken::Kind::word) {
      // A character set before a text: _utf8'x', N'x'.
      const bool is_charset = token.text.front() == '_' || token.is_word("n");
      if (is_charset && tokens_.ahead().kind == SqlToken::Kind::quoted) {
        tokens_.step();
        return Expression::literal(tokens_.take_text());
      }
      if (token.text.front() == '@') {
        tokens_.step();
        return Expression{.is = Is::variable, .name = lower(token.text)};
      }
      if (token.is_word("case")) return case_when();
      if (token.is_word("exists") && tokens_.ahead().is_sign('(')) return exists();
      if (token.is_word("interval")) return wrong(token, "a value");
      if (tokens_.ahead().is_sign('(')) return call();
      for (const std::string_view name : {"null", "true", "false"})
        if (tokens_.take_word(name))
          return name == "null" ? Expression{.is = Is::null, .name = "null"}
                                : Expression{.is = Is::number, .name = name == "true" ? "1" : "0"};
      if (tokens_.take_word("current_user")) return Expression::call("current_user", {});
    }
    auto path = tokens_.take_path();
    Expression out{.is = Is::column, .name = std::move(path.back())};
    if (path.size() > 1) out.table = path[path.size() - 2];
    if (out.name.empty() && !tokens_.take_sign('*')) return wrong(tokens_.now(), "a column");
    return out;
  }

  Result<Expression> brackets() {
    Result<Expression> out;
    if (tokens_.now().is_word("select")) {
      auto inner = nested([&] { return select(); });
      if (!inner) return std::unexpected(std::move(inner.error()));
      out = Expression{.is = Is::value, .name = "select"};
      out->select = *std::move(inner);
    } else {
      out = expression();
    }
    if (out && !tokens_.take_sign(')')) return wrong(tokens_.now(), ")");
    return out;
  }

  Result<Expression> exists() {
    tokens_.step();
    tokens_.step();
    auto inner = nested([&] { return select(); });
    if (!inner) return std::unexpected(std::move(inner.error()));
    if (!tokens_.take_sign(')')) return wrong(tokens_.now(), ")");
    Expression out{.is = Is::exists, .name = "exists"};
    out.select = *std::move(inner);
    return out;
  }

  /// `CASE [x] WHEN a THEN b … ELSE c END` as case(condition, value, …, otherwise).
  Result<Expression> case_when() {
    tokens_.step();
    std::optional<Expression> compared_with;
    if (!tokens_.now().is_word("when")) {
      auto value = expression();
      if (!value) return value;
      compared_with = *std::move(value);
    }
    auto out = Expression::call("case", {});
    while (tokens_.take_word("when")) {
      auto when = expression();
      if (!when) return when;
      if (compared_with && !may_copy(*compared_with))
        return wrong(tokens_.now(), "shorter expressions");
      if (compared_with) when = Expression::call("=", {*compared_with, *std::move(when)});
      if (!tokens_.take_word("then")) return wrong(tokens_.now(), "THEN");
      auto then = expression();
      if (!then) return then;
      out.parts.push_back(*std::move(when));
      out.parts.push_back(*std::move(then));
    }
    if (tokens_.take_word("else")) {
      auto otherwise = expression();
      if (!otherwise) return otherwise;
      out.parts.push_back(*std::move(otherwise));
    }
    if (!tokens_.take_word("end")) return wrong(tokens_.now(), "WHEN or END");
    return out;
  }

  Result<Expression> call() {
    auto out = Expression::call(lower(tokens_.now().text), {});
    tokens_.step();
    tokens_.step();
    out.distinct = tokens_.take_word("distinct");
    if (tokens_.now().is_sign('*') && tokens_.ahead().is_sign(')')) {
      tokens_.step();
      out.parts.push_back({.is = Is::number, .name = "1"});
    }
    while (out.parts.empty() && !tokens_.now().is_sign(')')) {
      do {
        auto part = expression();
        if (!part) return part;
        out.parts.push_back(*std::move(part));
        if (auto why = after_argument(out)) return std::unexpected(*std::move(why));
      } while (tokens_.take_sign(','));
    }
    if (!tokens_.take_sign(')')) return wrong(tokens_.now(), ")");
    return out;
  }

  /// What may stand behind an argument: `AS type`, `, type`, `USING charset`, `FROM`, ORDER BY,
  /// SEPARATOR.
  std::optional<ClientError> after_argument(Expression& call) {
    const bool converts = call.name == "cast" || call.name == "convert";
    if (converts && (tokens_.take_word("as") || tokens_.take_sign(','))) {
      const auto type = lower(tokens_.now().text);
      call.name = type == "signed" || type == "unsigned" ? "integer" : "char";
      for (int depth = 0; depth > 0 || !tokens_.now().is_sign(')');) {
        if (tokens_.at_end()) return wrong(tokens_.now(), ")").error();
        depth += tokens_.now().is_sign('(') ? 1 : tokens_.now().is_sign(')') ? -1 : 0;
        tokens_.step();
      }
    } else if (converts && tokens_.take_word("using")) {
      call.name = "char";
      tokens_.step();
    } else if (call.name == "group_concat") {
      std::vector<SchemaSelect::Key> keys;  // rows have an order already
      if (auto why = order(keys)) return why;
      if (tokens_.take_word("separator"))
        call.table = tokens_.take_text();
      else if (call.table.empty())
        call.table = ",";
    }
    return std::nullopt;
  }

  SchemaTokens& tokens_;
  std::size_t depth_ = 0;
  std::size_t unions_ = 0;
  std::size_t chained_ = 0;
  std::size_t copied_ = 0;
};

}  // namespace

SchemaTokens::SchemaTokens(std::string_view statement) : statement_(statement) {
  SqlTokens tokens(statement);
  do {
    auto token = tokens.next();
    // Texts that engines would read differently: no engine reads them.
    const auto text = token.text;
    if (token.kind == SqlToken::Kind::ambiguous && text.size() > 1 && text.front() == text.back() &&
        (text.front() == '"' || text.front() == '`'))
      token.kind = text.front() == '"' ? SqlToken::Kind::quoted : SqlToken::Kind::name;
    tokens_.push_back(token);
  } while (tokens_.back().kind != SqlToken::Kind::end &&
           tokens_.back().kind != SqlToken::Kind::ambiguous &&
           tokens_.back().kind != SqlToken::Kind::unfinished);
}

bool SchemaTokens::take_word(std::string_view lower_case) {
  if (!now().is_word(lower_case)) return false;
  step();
  return true;
}

bool SchemaTokens::take_sign(char sign) {
  if (!now().is_sign(sign)) return false;
  step();
  return true;
}

std::vector<std::string> SchemaTokens::take_path() {
  std::vector<std::string> parts;
  bool joined = true;
  while (joined && now().names_table()) {
    const auto token = now();
    auto text = token.inner();
    step();
    if (token.kind == SqlToken::Kind::name) {
      parts.emplace_back(text);
      joined = now().kind == SqlToken::Kind::word && now().text.front() == '.' &&
               now().at == token.end();
      continue;
    }
    if (text.starts_with('.')) text.remove_prefix(1);
    joined = false;
    while (!text.empty()) {
      const auto part = text.substr(0, text.find('.'));
      parts.emplace_back(part);
      joined = part.size() + 1 == text.size();  // ends with a point
      text.remove_prefix(std::min(part.size() + 1, text.size()));
    }
    joined = joined || token.text == ".";
  }
  if (joined) parts.emplace_back();
  return parts;
}

std::string SchemaTokens::take_text() {
  const auto token = now();
  step();
  const auto inner = token.inner();
  if (token.kind != SqlToken::Kind::quoted) return std::string(inner);
  std::string text;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const bool escapes =
        inner[i] == '\\' && i + 1 < inner.size() && inner[i + 1] != '%' && inner[i + 1] != '_';
    text += inner[escapes ? ++i : i];
  }
  // A quote that is written twice.
  while (now().kind == SqlToken::Kind::quoted && now().at == end_before() &&
         now().text.front() == token.text.front())
    text.append(1, token.text.front()).append(take_text());
  return text;
}

Result<std::shared_ptr<const SchemaSelect>> read_schema_select(std::string_view statement) {
  SchemaTokens tokens(statement);
  auto select = Reader(tokens).select();
  if (select && !tokens.at_end()) return wrong(tokens.now(), "the end of the statement");
  return select;
}

Result<SchemaExpression> read_schema_expression(SchemaTokens& tokens) {
  return Reader(tokens).expression();
}

}  // namespace karmad
