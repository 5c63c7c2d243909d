#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/data/complaint.hpp"
#include "demo/engine/change.hpp"
#include "demo/language/request.hpp"
#include "demo/sql/expression.hpp"

namespace karmad {

struct SelectItem {
  Expression expression;
  std::string name;     ///< as answers show it
  bool of_all = false;  ///< one of those that `*` stands for
};

struct OrderKey {
  Expression expression;
  bool descending = false;
  std::string text{};  ///< in the statement
};

/// What stands around the brackets of a SELECT: its rows are sorted and cut once more.
struct OuterRows {
  std::vector<OrderKey> order;
  std::size_t limit = 20;
  std::size_t offset = 0;
};

/// A SELECT, or a FACET of one. Empty orders: by weight, the best first; then by id.
struct Select {
  std::string table;  ///< empty: one row of constants
  std::vector<SelectItem> items;
  Query match{Everything{}};
  std::optional<Knn> knn;  ///< without an ORDER BY its rows are sorted by distance
  std::optional<Expression> where, having;
  std::vector<Expression> keys;  ///< of GROUP BY
  std::size_t per_group = 1;     ///< most rows of a group
  std::vector<OrderKey> within, order;
  std::size_t limit = 20;
  std::size_t offset = 0;
  std::size_t max_matches = 1000;
  std::optional<std::size_t> cutoff;  ///< most documents to find; 0: all; nothing: a page, or all
  std::optional<OuterRows> outer;
  bool has_facets = false;
  bool scrolls = false;
  std::vector<Literal> after;  ///< of a scroll: values of the sort keys in the row before the page

  /// Its rows are groups; without keys everything found is one group.
  bool groups() const;
};

struct Statement {
  enum class Kind : std::uint8_t {
    select,
    show_tables,
    show_status,
    show_meta,
    show_warnings,
    show_scroll,
    describe,
    set,
    show,  ///< SHOW of another thing: `what`
    call,  ///< CALL of the procedure `what`
    change,
  };
  Kind kind = Kind::select;
  Select select;                                ///< of UPDATE and DELETE: its WHERE finds the rows
  std::vector<Select> facets;                   ///< of a SELECT
  std::string table;                            ///< of DESC and SHOW
  std::string what;                             ///< in lower case
  std::string like = "%";                       ///< the names wanted: `%` any run, `_` one byte
  std::vector<std::vector<Literal>> arguments;  ///< of CALL; a list has several values
  std::vector<std::pair<std::string, Literal>> options;  ///< of CALL: 5 AS limit
  std::vector<RowChange> changes;  ///< of INSERT and REPLACE: one for each row
};

/// Reads statements separated by `;`. Syntax errors are complaints with status 400. At most 100
/// statements and 200 levels of brackets.
std::vector<Statement> read_sql(std::string_view text, std::span<const std::string> tables,
                                Complaint& complaint);

}  // namespace karmad
