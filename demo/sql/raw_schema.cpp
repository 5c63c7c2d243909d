#include "demo/sql/run.hpp"

#include <algorithm>

namespace karmad::demo {

namespace {

bool is_column(const Expression& expression) {
  return expression.kind == Expression::Kind::column;
}

bool is_count(const Expression& expression) {
  return expression.kind == Expression::Kind::aggregate && expression.name.starts_with("count");
}

/// Counts and GROUPBY() have columns of their own. The key of a facet, which stands for one value
/// of a list, has that of the list.
bool is_group_value(const Expression& expression) {
  return is_count(expression) || (expression.kind == Expression::Kind::function &&
                                  expression.name == "groupby" && expression.literal.index() == 0);
}

class Schema {
 public:
  void add(const std::string& name, CellType type) {
    if (!has(name)) columns_.push_back({name, type});
  }

  void add_id(const Select& main) {
    const auto reads_text = [](const SelectItem& item) {
      return is_column(item.expression) && item.expression.column.type == Type::text;
    };
    const auto is_id = [](const OrderKey& key) {
      return is_column(key.expression) && key.expression.column.name == "id";
    };
    if (std::ranges::any_of(main.items, reads_text) || std::ranges::any_of(main.within, is_id))
      add("id", CellType::bigint);
  }

  void add_items(const Select& select) {
    const bool all = std::ranges::any_of(select.items, &SelectItem::of_all);
    for (const auto& item : select.items) {
      if (is_group_value(item.expression)) continue;
      if (all && is_column(item.expression) && item.expression.column.type == Type::text)
        stored_.push_back(item);
      else
        add(item.name, item.expression.name == "groupby" ? CellType::multi : item.expression.type);
    }
  }

  void add_groups(const Select& select, bool grouped, bool distinct) {
    if (grouped) {
      add("@groupby", CellType::bigint);
      add("@count", CellType::bigint);
    }
    if (distinct) add("@distinct", CellType::whole);
    if (select.keys.size() == 1 && select.keys[0].type == CellType::member)
      add("@groupbystr_" + select.keys[0].column.name, CellType::text);
  }

  /// The stored texts of `*`, and columns that are read without being shown.
  void add_rest(const Select& select) {
    for (const auto& item : stored_) add(item.name, item.expression.type);
    const auto add_column = [&](const Expression& expression) {
      if (is_column(expression)) add(expression.column.name, expression.type);
    };
    for (const auto& item : select.items)
      if (is_count(item.expression)) std::ranges::for_each(item.expression.arguments, add_column);
    std::ranges::for_each(select.keys, add_column);
    for (const auto* keys : {&select.within, &select.order})
      for (const auto& key : *keys) add_column(key.expression);
  }

  std::vector<ResultColumn> columns() && { return std::move(columns_); }

 private:
  bool has(const std::string& name) const {
    return std::ranges::find(columns_, name, &ResultColumn::name) != columns_.end();
  }

  std::vector<ResultColumn> columns_;
  std::vector<SelectItem> stored_;
};

bool counts_distinct(const Select& select) {
  return std::ranges::any_of(select.items, [](const SelectItem& item) {
    return is_count(item.expression) && !item.expression.arguments.empty();
  });
}

}  // namespace

std::vector<ResultColumn> raw_schema(const Select& select, const Select& main,
                                     std::span<const Select> facets) {
  Schema schema;
  schema.add_id(main);
  schema.add_items(main);
  for (const auto& facet : facets) schema.add_items(facet);
  schema.add_groups(select, main.groups() || !facets.empty(),
                    counts_distinct(main) || std::ranges::any_of(facets, counts_distinct));
  schema.add_rest(select);
  return std::move(schema).columns();
}

}  // namespace karmad::demo
