#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/data/complaint.hpp"
#include "demo/engine/membership.hpp"
#include "demo/engine/search.hpp"

namespace karmad {

/// One item of a select list: a column, `count(*)` or `weight()`.
struct Selected {
  enum class Kind : std::uint8_t { column, count, weight };
  Kind kind = Kind::column;
  std::string name;  ///< as answers show it
  Column column;
};

struct Statement {
  enum class Kind : std::uint8_t { select, show_tables, show_status, describe };
  Kind kind = Kind::select;
  SearchRequest search;
  std::vector<Selected> selected;
  std::string like = "%";  ///< SHOW STATUS: the names wanted, `%` any run, `_` one byte
  bool counts() const;     ///< its answer is one row, the number of documents
};

/// Reads SELECT columns | * | count(*) FROM table [WHERE a AND b …] [ORDER BY …] [LIMIT …]
/// [OPTION …], SHOW TABLES, SHOW STATUS [LIKE 'pattern'] and DESC table. Syntax errors are
/// complaints with status 400.
Statement read_sql(std::string_view text, std::span<const std::string> tables,
                   Complaint& complaint);

/// The rows in the layout of `/sql?mode=raw` and `/cli_json`.
std::string write_raw(const Index& index, const Statement& statement, const SearchResult& result);
std::string write_raw_tables(std::span<const std::string> tables);
/// Without the column `hidden`.
std::string write_raw_columns(std::string_view hidden);
std::string write_raw_status(const Membership& membership, std::string_view like);

/// The rows in the layout of plain `/sql`: as hits.
std::string write_sql_hits(const Index& index, const Statement& statement,
                           const SearchResult& result, std::int64_t took_ms);

}  // namespace karmad
