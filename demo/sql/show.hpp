#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "demo/engine/membership.hpp"
#include "demo/engine/stored_query.hpp"
#include "demo/sql/run.hpp"

namespace karmad::demo {

/// What statements may see of the server.
struct SqlServer {
  const Index& index;
  const Index& empty;            ///< of `empty_table`
  std::string_view empty_table;  ///< has no documents; empty: there is none
  std::string_view query_table;  ///< has only stored queries; empty: there is none
  std::span<const std::string> tables;
  std::string_view hidden_column;  ///< DESC does not show it
  const Membership& membership;
  const std::map<std::string, StoredQueries>& queries;  ///< by table, in lower case
  Index* changing = nullptr;  ///< null: changes are only answered, as if they changed one row

  const Index& index_of(std::string_view table) const;
};

/// Answers SHOW …, except META and WARNINGS, and DESC.
ResultSet show(const SqlServer& server, const Statement& statement);

/// Keeps the rows whose first cell fits the LIKE pattern.
void keep_like(ResultSet& result, std::string pattern);

/// Answers a SELECT from the table of stored queries: all of them, or their number.
ResultSet stored_queries(const SqlServer& server, const Select& select);

/// Answers CALL …; an unknown procedure is a complaint.
ResultSet call(const SqlServer& server, const Statement& statement, Complaint& complaint);

/// Runs statements one after the other; a SELECT adds a result set of its own and one for each of
/// its facets. SHOW META tells of the last SELECT of the script.
std::vector<ResultSet> run_script(const SqlServer& server, std::span<const Statement> statements,
                                  Complaint& complaint);

}  // namespace karmad::demo
