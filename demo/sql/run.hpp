#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "demo/sql/statement.hpp"

namespace karmad::demo {

struct ResultColumn {
  std::string name;
  CellType type = CellType::text;
};

/// What a statement answers. Without columns: that it is done, and how many rows it changed.
struct ResultSet {
  std::vector<ResultColumn> columns;
  std::vector<std::vector<Cell>> rows;
  std::vector<Hit> hits;    ///< of a SELECT: the rows' documents
  std::size_t found = 0;    ///< of a SELECT: documents, or groups
  bool more = false;        ///< the search was cut off: `found` is a lower bound
  bool matched = true;      ///< of a SELECT: there are documents behind the rows
  std::size_t changed = 0;  ///< rows of a change
  std::string warning;      ///< of a change
  std::string scroll;       ///< token of the next page; empty: none
  std::string facet;        ///< of a facet: the name of its key
};

/// A result set of strings.
ResultSet text_rows(std::vector<std::string> columns,
                    const std::vector<std::vector<std::string>>& rows);

/// The cells of a column of strings become numbers.
void make_numbers(ResultSet& result, std::size_t column);

/// The documents that a SELECT finds, ascending. `more`: it was cut off.
std::vector<Hit> found_hits(const Index& index, const Select& select, bool& more);
/// Groups and sorts what was found, and cuts out the page.
ResultSet rows_of(const Index& index, const Select& select, std::span<const Hit> hits);
/// Finds, groups, sorts and cuts out the page of a SELECT.
ResultSet run_select(const Index& index, const Select& select);

/// The ids of all documents that a statement's WHERE finds, ascending.
std::vector<std::uint64_t> found_ids(const Index& index, const Select& select);

/// The hits of a search for vectors, ascending by document, with their distances. `hits`: what the
/// query finds, with scores. Without a fusion only these are candidates; with one the lists of the
/// query and of the vectors are fused.
std::vector<Hit> nearest_hits(const Index& index, const Select& select, std::vector<Hit> hits);

/// The columns that a search server lists in the result sets of a SELECT that finds no document:
/// those that it sorts and groups by, before it has given them the names and the order of the
/// answer. `select`: the statement or one of its facets, of which the set is; `main` and `facets`:
/// the whole statement.
std::vector<ResultColumn> raw_schema(const Select& select, const Select& main,
                                     std::span<const Select> facets);

/// What SHOW META tells of a SELECT.
using MetaRows = std::vector<std::vector<std::string>>;
MetaRows meta_of(const Index& index, const Select& select, const ResultSet& result, double seconds);

/// The layout of `/sql?mode=raw` and `/cli_json`: a list of result sets.
std::string write_raw(std::span<const ResultSet> results);

/// The layout of plain `/sql`: hits, and facets as aggregations.
std::string write_sql_hits(const Index& index, std::span<const ResultSet> results,
                           std::int64_t took_ms);

/// The layout of `/cli`: tables of text.
std::string write_text(std::span<const ResultSet> results, double seconds);

}  // namespace karmad::demo
