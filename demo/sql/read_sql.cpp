#include <fmt/format.h>

#include <algorithm>

#include "demo/data/text.hpp"
#include "demo/language/query_string.hpp"
#include "demo/language/read_request.hpp"
#include "demo/sql/cell_text.hpp"
#include "demo/sql/read_expression.hpp"
#include "demo/sql/statement.hpp"

namespace karmad::demo {

namespace {

constexpr std::size_t kMostStatements = 100;

class SelectReader {
 public:
  SelectReader(SqlCursor& cursor, std::span<const std::string> tables)
      : cursor_(cursor), tables_(tables) {}

  /// Behind SELECT.
  Statement read() {
    read_select();
    return std::move(out_);
  }

  /// Behind `SELECT * FROM (SELECT`.
  Statement read_nested() {
    read_select();
    cursor_.expect_sign(")");
    auto& inner = out_.select;
    cursor_.expect_word("order");
    inner.outer.emplace(OuterRows{read_order(scope()), inner.limit, 0});
    Select around;
    around.limit = inner.limit;
    read_limit(around);
    inner.outer->limit = around.limit;
    inner.outer->offset = std::max(inner.offset, around.offset);
    return std::move(out_);
  }

 private:
  void read_select() {
    look_for_table();
    read_items(out_.select.items);
    if (cursor_.take_word("from")) {
      read_tables();
      read_clauses();
    }
    finish_groupby();
  }

  SqlScope scope() const {
    return {.table = out_.select.table, .aliases = out_.select.items, .table_alias = table_alias_};
  }
  SqlScope filters() const {
    auto out = scope();
    out.filters = is_strict();
    return out;
  }

  /// Names the table and its alias before the columns are read.
  void look_for_table() {
    for (std::size_t ahead = 0; cursor_.peek(ahead).kind != SqlToken::Kind::end; ++ahead) {
      if (cursor_.at_sign(";", ahead)) return;
      if (!cursor_.at_word("from", ahead)) continue;
      out_.select.table = cursor_.peek(ahead + 1).text;
      const auto alias = ahead + (cursor_.at_word("as", ahead + 2) ? 3 : 2);
      if (cursor_.peek(alias).kind == SqlToken::Kind::name &&
          !is_reserved(cursor_.peek(alias).text))
        table_alias_ = cursor_.peek(alias).text;
      return;
    }
  }

  void read_items(std::vector<SelectItem>& items) {
    do {
      if (cursor_.take_sign("*")) {
        add_all(items);
      } else {
        items.push_back(item(items));
      }
    } while (cursor_.take_sign(","));
  }

  void add_all(std::vector<SelectItem>& items) {
    for (const auto& column : all_columns()) {
      SqlCursor name(column.name, cursor_.complaint());
      items.push_back({read_expression(name, {out_.select.table, {}}), column.name, true});
    }
  }

  /// An expression with or without an alias. It sees the aliases before it.
  SelectItem item(std::span<const SelectItem> before) {
    const auto begin = cursor_.begin();
    SelectItem out;
    auto names = scope();
    names.aliases = before;
    out.expression = read_expression(cursor_, names);
    const bool is_text =
        out.expression.kind == Expression::Kind::literal && out.expression.type == CellType::text;
    if (is_strict() && is_text && !out_.select.table.empty()) cursor_.wrong();
    out.name = lower_case(cursor_.text_from(begin));
    const auto& next = cursor_.peek();
    if (out.expression.kind == Expression::Kind::column && out.name.find('[') == std::string::npos)
      out.name = out.expression.column.name;
    out.without_alias = out.name;
    if (cursor_.take_word("as") || (next.kind == SqlToken::Kind::name && !is_reserved(next.text)))
      out.name = lower_case(cursor_.take_name());
    return out;
  }

  /// GROUPBY() is the key of the group, of several a hash of them.
  void finish_groupby() {
    const auto& keys = out_.select.keys;
    if (keys.size() != 1) return;
    const auto& key = keys.front();
    const bool wide = key.kind == Expression::Kind::column && key.column.type == Type::multi64;
    for (auto& item : out_.select.items)
      if (item.expression.kind == Expression::Kind::function && item.expression.name == "groupby")
        item.expression.type = wide || key.type == CellType::real ? CellType::bigint
                               : key.type == CellType::multi      ? CellType::whole
                               : key.type == CellType::member     ? CellType::text
                                                              : std::max(key.type, CellType::whole);
  }

  void read_tables() {
    std::string names;
    do {
      const auto name = cursor_.take_name();
      if (!table_alias_.empty()) {
        cursor_.take_word("as");
        cursor_.take_name();
      }
      if (is_table(tables_, name) || cursor_.complaint()) continue;
      names += (names.empty() ? "" : ",") + name;
    } while (cursor_.take_sign(","));
    if (!names.empty())
      cursor_.complaint().say(500, "unknown local table(s) '{}' in search request", names);
  }

  void read_clauses() {
    auto& select = out_.select;
    if (cursor_.take_word("where")) {
      auto in_where = filters();
      in_where.match = &select.match;
      in_where.knn = &select.knn;
      select.where = read_expression(cursor_, in_where);
    }
    if (cursor_.take_word("group")) read_group();
    if (cursor_.take_word("within")) {
      cursor_.expect_word("group");
      cursor_.expect_word("order");
      select.within = read_order(scope());
    }
    if (cursor_.take_word("having")) read_having();
    const auto begin = cursor_.begin();
    if (cursor_.take_word("order")) select.order = read_order(scope());
    if (!select.knn.empty() && !select.groups()) sort_by_distance(cursor_.text_from(begin));
    read_limit(select);
    read_option();
    while (cursor_.take_word("facet")) read_facet();
    read_option();
    check_offset();
  }

  /// HAVING compares aggregates only.
  void read_having() {
    const auto begin = cursor_.begin();
    out_.select.having = read_expression(cursor_, filters());
    const auto& having = *out_.select.having;
    const auto has_any = [](const Expression& part) {
      return has_aggregate(part) || has_function(part, "groupby") || has_function(part, "weight");
    };
    if (is_strict() && begin != cursor_.begin() && !has_any(having))
      cursor_.complaint().say(500, "can not use HAVING with attribute not related to GROUP BY");
  }

  /// Numbers of columns are no keys.
  Expression read_key(const SqlScope& names) {
    if (is_strict() && cursor_.peek().kind == SqlToken::Kind::number) cursor_.wrong();
    return read_expression(cursor_, names);
  }

  void read_group() {
    if (cursor_.peek().kind == SqlToken::Kind::number)
      out_.select.per_group = std::max<std::size_t>(1, cursor_.take_count());
    cursor_.expect_word("by");
    do {
      out_.select.keys.push_back(read_key(scope()));
    } while (cursor_.take_sign(","));
  }

  /// Without a direction an only key is a mistake, of a facet it descends; the last of several is
  /// left out, and another is a mistake.
  std::vector<OrderKey> read_order(const SqlScope& names, bool of_facet = false) {
    std::vector<OrderKey> out;
    bool has_direction = true;
    cursor_.expect_word("by");
    do {
      if (!has_direction)
        cursor_.complaint().say(500, "table {}: invalid sorting order '{}'", out_.select.table,
                                cursor_.peek().text);
      const auto begin = cursor_.begin();
      auto operands = names;
      operands.operands = is_strict();
      OrderKey key{read_key(operands)};
      if (key.expression.type == CellType::multi)
        cursor_.complaint().say(500, "table {}: order by MVA is undefined", out_.select.table);
      has_direction = cursor_.take_word("asc");
      if (!has_direction) has_direction = key.descending = cursor_.take_word("desc");
      if (!has_direction) has_direction = key.expression.name == "rand";
      key.text = cursor_.text_from(begin);
      out.push_back(std::move(key));
    } while (cursor_.take_sign(","));
    if (has_direction) return out;
    if (out.size() > 1)
      out.pop_back();
    else if (of_facet && lower_case(out.back().text) != "facet()")
      out.back().descending = true;
    else
      cursor_.complaint().say(500, "table {}: no sort order defined", out_.select.table);
    return out;
  }

  /// What KNN() finds is sorted by the distance first, unless ORDER BY names it.
  void sort_by_distance(std::string_view order) {
    auto& keys = out_.select.order;
    if (!keys.empty() && order.find("knn_dist") != order.npos) return;
    keys.insert(keys.begin(), {call_expression("knn_dist", {})});
  }

  void read_limit(Select& select) {
    if (cursor_.take_word("limit")) {
      select.limit = cursor_.take_count();
      if (cursor_.take_sign(",")) {
        select.offset = select.limit;
        select.limit = cursor_.take_count();
      }
    }
    if (cursor_.take_word("offset")) select.offset = cursor_.take_count();
  }

  /// A page beyond what is kept is a mistake, before the table is looked at.
  void check_offset() {
    const auto& select = out_.select;
    if (!is_strict() || select.offset < select.max_matches || select.offset == 0) return;
    cursor_.complaint() = {};
    cursor_.complaint().say(500, "offset out of bounds (offset={}, max_matches={})", select.offset,
                            select.max_matches);
  }

  void read_option() {
    if (!cursor_.take_word("option")) return;
    do {
      const auto name = lower_case(cursor_.take().text);
      cursor_.expect_sign("=");
      if (name == "max_matches") {
        out_.select.max_matches = cursor_.take_count();
      } else if (name == "cutoff") {
        out_.select.cutoff = cursor_.take_count();
      } else if (name == "reverse_scan" && is_strict() && !cursor_.complaint()) {
        cursor_.complaint().say(500, "reverse_scan is deprecated");
      } else if (name == "scroll") {
        read_scroll();
      } else {
        skip_value();
      }
    } while (cursor_.take_sign(","));
  }

  /// 1, or the token of the page before.
  void read_scroll() {
    const auto value = cursor_.take_literal();
    const auto* token = std::get_if<std::string>(&value);
    auto& select = out_.select;
    select.scrolls = token != nullptr || is_strict() || is_true(to_cell(view(value)));
    if (token == nullptr && !is_strict()) return;
    if (token == nullptr)
      return cursor_.complaint().say(500, "unable to decode BASE64: {}",
                                     plain_text(to_cell(view(value))));
    auto values = scroll_values(*token);
    if (!values || values->size() != select.order.size())
      return cursor_.complaint().say(400, "unable to parse the scroll token");
    select.after = *std::move(values);
  }

  /// A word, a number, a text, a call (ranker=expr('…')) or a list (field_weights=(title=2)).
  void skip_value() {
    if (!cursor_.at_sign("(")) cursor_.take();
    if (!cursor_.take_sign("(")) return;
    while (!cursor_.at_sign(")") && !cursor_.at_end()) cursor_.take();
    cursor_.expect_sign(")");
  }

  /// FACET a [AS b], … [BY …] [DISTINCT x] [ORDER BY …] [LIMIT …]
  void read_facet() {
    const auto& main = out_.select;
    Select facet;
    facet.table = main.table;
    facet.match = main.match;
    facet.knn = main.knn;
    facet.where = main.where;
    facet.max_matches = main.max_matches;
    facet.cutoff = main.cutoff;
    facet.has_facets = true;
    out_.select.has_facets = true;
    std::vector<SelectItem> names(main.items);
    do {
      facet.items.push_back(item(names));
      names.push_back(facet.items.back());
    } while (cursor_.take_sign(","));
    const auto shown = facet.items.size();
    if (cursor_.take_word("by")) {
      do {
        facet.keys.push_back(read_expression(cursor_, {main.table, names}));
      } while (cursor_.take_sign(","));
    } else {
      for (const auto& shown_item : facet.items) facet.keys.push_back(shown_item.expression);
    }
    if (cursor_.take_word("distinct")) add_counter(facet, cursor_.take_name());
    add_counter(facet, {});
    show_single_values(facet, shown);
    if (cursor_.take_word("order"))
      facet.order = read_order({main.table, facet.items, nullptr, &order_of_key(facet, 0)}, true);
    else
      facet.order.push_back({facet.items.back().expression, true});
    order_by_keys(facet);
    read_limit(facet);
    out_.facets.push_back(std::move(facet));
  }

  /// Facets that tie are in the order of their keys.
  static void order_by_keys(Select& facet) {
    for (std::size_t i = 0; i < facet.keys.size(); ++i)
      facet.order.push_back({order_of_key(facet, i), false});
  }

  /// By what a key sorts: of a column of several values, the one of the group.
  static const Expression& order_of_key(const Select& facet, std::size_t key) {
    const bool several = facet.keys[key].type == CellType::multi && key < facet.items.size();
    return several ? facet.items[key].expression : facet.keys[key];
  }

  void add_counter(Select& facet, const std::string& distinct) {
    const auto text =
        distinct.empty() ? std::string("count(*)") : fmt::format("count(distinct {})", distinct);
    SqlCursor cursor(text, cursor_.complaint());
    facet.items.push_back({read_expression(cursor, {out_.select.table, {}}), text});
  }

  /// A facet of a column of several values shows the one of the group.
  static void show_single_values(Select& facet, std::size_t shown) {
    for (std::size_t i = 0; i < shown; ++i) {
      auto& expression = facet.items[i].expression;
      if (expression.type != CellType::multi || i >= facet.keys.size()) continue;
      expression = call_expression("groupby", {});
      expression.literal = static_cast<std::int64_t>(i);
    }
  }

  SqlCursor& cursor_;
  std::span<const std::string> tables_;
  std::string table_alias_;
  Statement out_;
};

class StatementReader {
 public:
  StatementReader(SqlCursor& cursor, std::span<const std::string> tables)
      : cursor_(cursor), tables_(tables) {}

  Statement read() {
    if (cursor_.take_word("select")) {
      if (!cursor_.at_sign("*") || !cursor_.at_word("from", 1) || !cursor_.at_sign("(", 2))
        return SelectReader{cursor_, tables_}.read();
      cursor_.take_sign("*");
      cursor_.take_word("from");
      cursor_.take_sign("(");
      cursor_.expect_word("select");
      return SelectReader{cursor_, tables_}.read_nested();
    }
    if (cursor_.take_word("show")) {
      read_show();
    } else if (cursor_.take_word("desc") || cursor_.take_word("describe")) {
      out_.kind = Statement::Kind::describe;
      read_table();
      cursor_.take_word("table");
    } else if (cursor_.take_word("set")) {
      read_set();
    } else if (cursor_.take_word("call")) {
      read_call();
    } else if (cursor_.take_words("explain", "query")) {
      out_.kind = Statement::Kind::show;
      out_.what = "query";
      read_table();
      read_query_string(cursor_.peek().text, out_.table, cursor_.complaint());
      out_.like = cursor_.take_text();
    } else if (cursor_.take_word("begin") || cursor_.take_word("commit") ||
               cursor_.take_word("rollback") || cursor_.take_words("start", "transaction")) {
      out_.kind = Statement::Kind::set;
    } else if (is_change(cursor_)) {
      return read_change(cursor_, tables_);
    } else {
      cursor_.wrong();
    }
    return std::move(out_);
  }

 private:
  void read_table() {
    out_.table = cursor_.take_name();
    if (!is_table(tables_, out_.table))
      cursor_.complaint().say(500, "no such table '{}'", out_.table);
  }

  void read_like() {
    if (cursor_.take_word("like")) out_.like = cursor_.take_text();
  }

  void read_show() {
    if (cursor_.at_word("variables", 1) && !cursor_.take_word("session"))
      cursor_.take_word("global");
    using enum Statement::Kind;
    out_.kind = cursor_.take_word("tables")     ? show_tables
                : cursor_.take_word("status")   ? show_status
                : cursor_.take_word("meta")     ? show_meta
                : cursor_.take_word("scroll")   ? show_scroll
                : cursor_.take_word("warnings") ? show_warnings
                                                : show;
    if (out_.kind == show) read_other_show();
    read_like();
  }

  void read_other_show() {
    if (cursor_.take_words("create", "table")) {
      out_.what = "create table";
      read_table();
    } else if (cursor_.take_words("columns", "from")) {
      out_.what = "columns";
      read_table();
    } else if (cursor_.take_words("character", "set")) {
      out_.what = "character set";
    } else if (cursor_.take_word("table") || cursor_.take_word("index")) {
      read_table();
      out_.what = "table " + lower_case(cursor_.peek().text);
      if (!cursor_.take_word("settings")) cursor_.expect_word("status");
    } else {
      for (const auto* known : {"variables", "threads", "settings", "plan", "profile", "databases",
                                "collation", "plugins"})
        if (out_.what.empty() && cursor_.take_word(known)) out_.what = known;
      if (out_.what.empty()) cursor_.wrong();
    }
  }

  /// SET [GLOBAL|SESSION] name = value, SET NAMES name
  void read_set() {
    out_.kind = Statement::Kind::set;
    if (cursor_.take_word("names")) {
      cursor_.take();
      return;
    }
    if (!cursor_.take_word("global")) cursor_.take_word("session");
    cursor_.take_name();
    cursor_.expect_sign("=");
    if (cursor_.peek().kind == SqlToken::Kind::sign || cursor_.at_end()) cursor_.wrong();
    cursor_.take();
  }

  /// CALL what(argument, …, value [AS] option)
  void read_call() {
    out_.kind = Statement::Kind::call;
    out_.what = lower_case(cursor_.take_name());
    cursor_.expect_sign("(");
    do {
      std::vector<Literal> argument;
      if (cursor_.take_sign("(")) {
        do {
          argument.push_back(cursor_.take_literal());
        } while (cursor_.take_sign(","));
        cursor_.expect_sign(")");
      } else {
        argument.push_back(cursor_.take_literal());
      }
      if (cursor_.take_word("as") || cursor_.peek().kind == SqlToken::Kind::name) {
        out_.options.emplace_back(lower_case(cursor_.take_name()), argument[0]);
      } else {
        out_.arguments.push_back(std::move(argument));
      }
    } while (cursor_.take_sign(","));
    cursor_.expect_sign(")");
  }

  SqlCursor& cursor_;
  std::span<const std::string> tables_;
  Statement out_;
};

}  // namespace

bool Select::groups() const {
  return !keys.empty() || std::ranges::any_of(items, [](const SelectItem& item) {
    return has_aggregate(item.expression);
  });
}

std::vector<Statement> read_sql(std::string_view text, std::span<const std::string> tables,
                                Complaint& complaint) {
  SqlCursor cursor(text, complaint);
  std::vector<Statement> out;
  do {
    while (cursor.take_sign(";") && !out.empty()) {
    }
    if (cursor.at_end() && !out.empty()) break;
    out.push_back(StatementReader{cursor, tables}.read());
    if (!cursor.at_end() && !cursor.at_sign(";")) cursor.wrong();
    if (out.size() == kMostStatements) cursor.wrong();
  } while (!cursor.at_end());
  return out;
}

}  // namespace karmad::demo
