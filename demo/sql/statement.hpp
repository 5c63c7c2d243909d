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

namespace karmad::demo {

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

}  // namespace karmad::demo
