#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace karmad::test {

/// What a statement is drawn for; it may have parts of other kinds as well.
enum class StatementKind : std::uint8_t {
  columns,
  all_columns,
  expressions,
  conditions,
  match,
  several_keys,  ///< of ORDER BY
  hidden_key,    ///< ORDER BY what is not selected
  json_key,
  expression_key,
  distance,
  pages,
  max_matches,
  default_order,
  nearest,
  groups,
  several_groups,
  json_groups,
  groups_of_values,  ///< of a column of several values
  aggregates,
  one_group,
  distinct,
  concat,
  having,
  within_group,
  rows_of_groups,  ///< GROUP n BY
  values_counted,  ///< COUNT(DISTINCT …) and columns of several values
  extremes,        ///< MIN and MAX of strings
  same_names,      ///< aggregates that are called like an attribute
  facets,
  facet_options,
  highlight,
  without_table,
  script,
  meta,
  show,
  call,
  mistake,
  count,
};
std::string_view name_of(StatementKind kind);

/// Statements whose answers several shards and one table should agree on.
struct GeneratedStatement {
  /// `/sql?mode=raw`, the same as a form, `/cli_json`, `/sql`, `/cli`.
  enum class Form : std::uint8_t { raw, raw_form, cli_json, hits, cli };
  StatementKind kind = StatementKind::columns;
  Form form = Form::raw;
  std::string text;  ///< with $T for the table

  std::string with_table(std::string_view table) const;
};

/// Draws statements for the demo agent's catalogue, each kind in turn; the same from the same seed.
class StatementGenerator {
 public:
  explicit StatementGenerator(std::uint64_t seed) : dice_(seed) {}
  GeneratedStatement next();

 private:
  std::size_t below(std::size_t limit) { return dice_() % limit; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  std::string pick(const List& list) {
    return std::string(list[below(std::size(list))]);
  }
  template <class List>
  std::string some(const List& list, std::size_t most);

  std::string match();
  std::string condition();
  /// Conditions of so few documents that most shards have none.
  std::string few();
  std::string where(bool always = false);
  std::string direction() { return one_in(2) ? " ASC" : " DESC"; }
  std::string limit();
  std::string aggregates();
  std::string facet(bool options);
  std::string documents(StatementKind kind);
  std::string groups(StatementKind kind);
  std::string closer(StatementKind kind);
  std::string others(StatementKind kind);

  std::mt19937_64 dice_;
  std::size_t drawn_ = 0;
};

}  // namespace karmad::test
