#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "demo/engine/membership.hpp"
#include "demo/engine/stored_query.hpp"
#include "demo/sql/run.hpp"

namespace karmad {

/// What statements may see of the server.
struct SqlServer {
  const Index& index;
  std::span<const std::string> tables;
  std::string_view hidden_column;  ///< DESC does not show it
  const Membership& membership;
  const std::map<std::string, StoredQueries>& queries;  ///< by table, in lower case
  Index* changing = nullptr;  ///< null: changes are only answered, as if they changed one row
};

/// Answers SHOW …, except META and WARNINGS, and DESC.
ResultSet show(const SqlServer& server, const Statement& statement);

/// Answers CALL …; an unknown procedure is a complaint.
ResultSet call(const SqlServer& server, const Statement& statement, Complaint& complaint);

}  // namespace karmad
