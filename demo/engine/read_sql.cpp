#include <fmt/format.h>

#include <algorithm>

#include "demo/data/text.hpp"
#include "demo/engine/sql.hpp"
#include "demo/language/query_string.hpp"
#include "demo/language/read_request.hpp"
#include "demo/language/sql_tokens.hpp"

namespace karmad {

namespace {

class SqlReader {
 public:
  SqlReader(std::string_view text, std::span<const std::string> tables, Complaint& complaint)
      : text_(text), tokens_(sql_tokens(text)), tables_(tables), complaint_(complaint) {}

  Statement read() {
    if (take_word("show")) {
      read_show();
    } else if (take_word("desc") || take_word("describe")) {
      out_.kind = Statement::Kind::describe;
      read_table();
    } else {
      expect_word("select");
      read_select();
    }
    while (take_sign(";")) {
    }
    if (peek().kind != SqlToken::Kind::end) wrong();
    return std::move(out_);
  }

 private:
  const SqlToken& peek() const { return tokens_[at_]; }
  SqlToken take() {
    const auto& token = tokens_[at_];
    if (token.kind != SqlToken::Kind::end) ++at_;
    return token;
  }
  bool take_word(std::string_view word) {
    if (peek().kind != SqlToken::Kind::name || collate(peek().text, word) != 0) return false;
    ++at_;
    return true;
  }
  bool take_sign(std::string_view sign) {
    if (peek().kind != SqlToken::Kind::sign || peek().text != sign) return false;
    ++at_;
    return true;
  }
  std::string take_name() {
    if (peek().kind == SqlToken::Kind::name) return take().text;
    wrong();
    return {};
  }
  void expect_word(std::string_view word) {
    if (!take_word(word)) wrong();
  }
  void expect_sign(std::string_view sign) {
    if (!take_sign(sign)) wrong();
  }
  void wrong() {
    const auto& token = peek();
    const bool end = token.kind == SqlToken::Kind::end;
    complaint_.say(400, fmt::format("P01: syntax error, unexpected {} near '{}'",
                                    end ? "$end" : fmt::format("'{}'", token.text),
                                    text_.substr(token.begin)));
    at_ = tokens_.size() - 1;
  }
  void unknown(std::string_view name) {
    complaint_.say(500, fmt::format("table {}: unknown column: {}", out_.search.table, name));
  }

  void read_show() {
    if (!take_word("status")) {
      expect_word("tables");
      out_.kind = Statement::Kind::show_tables;
      return;
    }
    out_.kind = Statement::Kind::show_status;
    if (!take_word("like")) return;
    if (peek().kind != SqlToken::Kind::text) wrong();
    out_.like = take().text;
  }

  void read_select() {
    read_list();
    expect_word("from");
    read_table();
    resolve();
    if (take_word("where")) read_where();
    if (take_word("order")) read_order();
    if (take_word("limit")) read_limit();
    if (take_word("option")) read_option();
  }

  void read_list() {
    do {
      Selected item;
      if (take_sign("*")) {
        item.name = "*";
      } else {
        item.name = take_name();
        if (take_sign("(")) read_call(item);
      }
      out_.selected.push_back(std::move(item));
    } while (take_sign(","));
  }

  void read_call(Selected& item) {
    const auto name = lower_case(item.name);
    if (name == "count" && take_sign("*")) {
      item = {Selected::Kind::count, "count(*)", {}};
    } else if (name == "weight") {
      item = {Selected::Kind::weight, "weight()", {}};
    } else {
      wrong();
    }
    expect_sign(")");
  }

  void read_table() {
    const auto name = take_name();
    out_.search.table = name;
    if (!is_table(tables_, name))
      complaint_.say(500, fmt::format("unknown local table(s) '{}' in search request", name));
  }

  void resolve() {
    std::vector<Selected> resolved;
    for (auto& item : out_.selected) {
      if (item.name == "*") {
        for (const auto& column : all_columns())
          resolved.push_back({Selected::Kind::column, column.name, column});
      } else if (item.kind != Selected::Kind::column) {
        resolved.push_back(std::move(item));
      } else if (auto column = column_named(item.name)) {
        resolved.push_back({Selected::Kind::column, column->name, *column});
      } else {
        unknown(item.name);
      }
    }
    out_.selected = std::move(resolved);
  }

  Literal literal() {
    const auto token = peek();
    if (token.kind == SqlToken::Kind::text) return take().text;
    if (token.kind == SqlToken::Kind::number) {
      take();
      if (const auto whole = number_of<std::int64_t>(token.text)) return *whole;
      if (const auto real = number_of<double>(token.text)) return *real;
    }
    wrong();
    return std::int64_t{0};
  }

  void read_where() {
    Combination all;
    do {
      if (take_word("match")) {
        expect_sign("(");
        if (peek().kind != SqlToken::Kind::text) wrong();
        all.must.push_back(read_query_string(take().text, out_.search.table, complaint_));
        expect_sign(")");
      } else {
        read_condition(all);
      }
    } while (take_word("and"));
    out_.search.query = {std::move(all)};
  }

  void read_condition(Combination& all) {
    const auto name = take_name();
    Condition condition;
    auto column = column_named(name);
    if (!column) unknown(name);
    condition.column = column.value_or(Column{});
    if (take_word("in")) {
      expect_sign("(");
      do {
        condition.one_of.push_back(literal());
      } while (take_sign(","));
      expect_sign(")");
    } else if (take_word("between")) {
      condition.low = {literal(), true};
      expect_word("and");
      condition.high = {literal(), true};
    } else {
      const auto sign = take().text;
      auto value = literal();
      if (sign == "!=" || sign == "<>") {
        condition.one_of.push_back(std::move(value));
        all.must_not.push_back({std::move(condition)});
        return;
      }
      if (sign == "=") {
        condition.one_of.push_back(std::move(value));
      } else if (sign == "<" || sign == "<=") {
        condition.high = {std::move(value), sign == "<="};
      } else if (sign == ">" || sign == ">=") {
        condition.low = {std::move(value), sign == ">="};
      } else {
        wrong();
      }
    }
    all.filter.push_back({std::move(condition)});
  }

  void read_order() {
    expect_word("by");
    do {
      const auto name = take_name();
      SortKey key;
      if (lower_case(name) == "weight") {
        expect_sign("(");
        expect_sign(")");
      } else {
        auto column = column_named(name);
        if (!column) unknown(name);
        key.by = SortKey::By::column;
        key.column = column.value_or(Column{});
        if (key.column.type == Type::multi)
          complaint_.say(500,
                         fmt::format("table {}: order by MVA is undefined", out_.search.table));
      }
      if (!take_word("asc")) key.descending = take_word("desc");
      out_.search.sort.push_back(std::move(key));
    } while (take_sign(","));
  }

  std::size_t count() {
    const auto value = literal();
    const auto* whole = std::get_if<std::int64_t>(&value);
    if (whole == nullptr || *whole < 0) {
      wrong();
      return 0;
    }
    return static_cast<std::size_t>(*whole);
  }

  void read_limit() {
    out_.search.limit = count();
    if (take_sign(",")) {
      out_.search.offset = out_.search.limit;
      out_.search.limit = count();
    } else if (take_word("offset")) {
      out_.search.offset = count();
    }
  }

  void read_option() {
    do {
      const auto name = lower_case(take().text);
      expect_sign("=");
      if (name == "max_matches") {
        out_.search.max_matches = count();
      } else {
        take();
      }
    } while (take_sign(","));
  }

  std::string_view text_;
  std::vector<SqlToken> tokens_;
  std::span<const std::string> tables_;
  Complaint& complaint_;
  std::size_t at_ = 0;
  Statement out_;
};

}  // namespace

bool Statement::counts() const {
  return std::any_of(selected.begin(), selected.end(),
                     [](const Selected& item) { return item.kind == Selected::Kind::count; });
}

Statement read_sql(std::string_view text, std::span<const std::string> tables,
                   Complaint& complaint) {
  return SqlReader{text, tables, complaint}.read();
}

}  // namespace karmad
