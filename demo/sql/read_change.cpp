#include "demo/sql/read_expression.hpp"

#include "demo/data/text.hpp"
#include "demo/language/read_request.hpp"

namespace karmad::demo {

namespace {

class ChangeReader {
 public:
  ChangeReader(SqlCursor& cursor, std::span<const std::string> tables)
      : cursor_(cursor), tables_(tables) {
    out_.kind = Statement::Kind::change;
  }

  Statement read() {
    if (cursor_.take_word("insert")) {
      read_rows(RowChange::Kind::insert);
    } else if (cursor_.take_word("replace")) {
      read_rows(RowChange::Kind::replace);
    } else if (cursor_.take_word("update")) {
      read_update();
    } else {
      cursor_.expect_word("delete");
      cursor_.expect_word("from");
      out_.changes.push_back({RowChange::Kind::erase, read_table(), {}, {}, {}});
      read_where();
    }
    return std::move(out_);
  }

 private:
  std::string read_table() {
    auto name = cursor_.take_name();
    if (!is_table(tables_, name)) cursor_.complaint().say(500, "table '{}' absent", name);
    out_.select.table = name;
    return name;
  }

  /// A value, or a list of them in brackets.
  std::pair<bool, std::vector<Literal>> read_value() {
    std::vector<Literal> out;
    const bool is_list = cursor_.take_sign("(");
    if (!is_list) return {is_list, {cursor_.take_literal()}};
    while (!cursor_.at_sign(")") && !cursor_.at_end()) {
      out.push_back(cursor_.take_literal());
      if (!cursor_.take_sign(",")) break;
    }
    cursor_.expect_sign(")");
    return {is_list, std::move(out)};
  }

  /// What is wrong with a value in the row; empty: nothing.
  static std::string_view mistake_in(const std::string& name, bool is_list, const Literal* value) {
    const auto column = column_named(name);
    if (!column || column->type == Type::vector) return {};
    const bool text = value != nullptr && std::holds_alternative<std::string>(*value);
    if (column->type == Type::text && (is_list || !text)) return "string expected";
    if (column->is_multi() && !is_list) return "non-MVA value specified for a MVA column";
    if (!column->is_multi() && is_list) return "MVA value specified for a non-MVA column";
    return {};
  }

  void read_rows(RowChange::Kind kind) {
    cursor_.expect_word("into");
    const auto table = read_table();
    std::vector<std::string> columns;
    if (cursor_.take_sign("(")) {
      do {
        columns.push_back(cursor_.take_name());
      } while (cursor_.take_sign(","));
      cursor_.expect_sign(")");
    } else {
      for (const auto& column : all_columns()) columns.push_back(column.name);
    }
    if (!cursor_.take_word("value")) cursor_.expect_word("values");
    do {
      out_.changes.push_back(read_row(kind, table, columns));
    } while (cursor_.take_sign(","));
  }

  RowChange read_row(RowChange::Kind kind, const std::string& table,
                     const std::vector<std::string>& columns) {
    RowChange out{kind, table, {}, {}, {}};
    cursor_.expect_sign("(");
    std::size_t given = 0;
    do {
      auto [is_list, values] = read_value();
      const auto column = given++ < columns.size() ? columns[given - 1] : std::string();
      if (const auto why = mistake_in(column, is_list, values.empty() ? nullptr : values.data());
          !why.empty())
        cursor_.complaint().say(500, "row {}, column {}: {}", out_.changes.size() + 1, given, why);
      if (column != "id") {
        out.given.push_back({column, std::move(values)});
        continue;
      }
      if (!values.empty()) read_id(values.front(), out);
    } while (cursor_.take_sign(","));
    cursor_.expect_sign(")");
    if (given != columns.size())
      cursor_.complaint().say(500, "column count does not match value count (expected {}, got {})",
                              columns.size(), given);
    return out;
  }

  /// An id is a number or a text with its digits; the index chooses one for all other values.
  static void read_id(const Literal& value, RowChange& out) {
    const auto* number = std::get_if<std::int64_t>(&value);
    const auto* text = std::get_if<std::string>(&value);
    const auto digits = text == nullptr ? std::nullopt : number_of<std::uint64_t>(*text);
    if (number != nullptr) out.ids.push_back(static_cast<std::uint64_t>(*number));
    if (digits) out.ids.push_back(*digits);
  }

  void read_update() {
    RowChange change{RowChange::Kind::update, read_table(), {}, {}, {}};
    cursor_.expect_word("set");
    do {
      auto column = cursor_.take_name();
      cursor_.expect_sign("=");
      auto [is_list, values] = read_value();
      if (const auto known = column_named(column);
          known && known->type != Type::vector && known->is_multi() != is_list)
        cursor_.complaint().say(500, "table {}: attribute '{}' MVA flag mismatch", change.table,
                                column);
      change.given.push_back({std::move(column), std::move(values)});
    } while (cursor_.take_sign(","));
    out_.changes.push_back(std::move(change));
    read_where();
  }

  void read_where() {
    cursor_.expect_word("where");
    out_.select.where = read_expression(cursor_, {out_.select.table, {}, &out_.select.match});
    // OPTION name = value, … says nothing that matters here.
    if (!cursor_.take_word("option")) return;
    do {
      cursor_.take_name();
      cursor_.expect_sign("=");
      cursor_.take();
    } while (cursor_.take_sign(","));
  }

  SqlCursor& cursor_;
  std::span<const std::string> tables_;
  Statement out_;
};

}  // namespace

bool is_change(const SqlCursor& cursor) {
  return cursor.at_word("insert") || cursor.at_word("replace") || cursor.at_word("update") ||
         cursor.at_word("delete");
}

Statement read_change(SqlCursor& cursor, std::span<const std::string> tables) {
  return ChangeReader{cursor, tables}.read();
}

}  // namespace karmad::demo
