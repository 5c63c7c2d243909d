#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/schema/rows.hpp"

namespace karmad {

/// A column of a table as its mirrors describe it: `DESC t`.
struct DescribedColumn {
  std::string name;
  std::string type;  ///< of the engine: `uint`, `mva` …
};

/// What is known of the tables.
struct SchemaContents {
  std::vector<std::string> tables;                              ///< in their order
  std::map<std::string, std::vector<DescribedColumn>> columns;  ///< by table
  std::vector<std::pair<std::string, std::string>> variables;   ///< of a mirror
  std::vector<std::pair<std::string, std::string>> status;      ///< of karmad
};

/// The tables of INFORMATION_SCHEMA, and some of performance_schema, made when they are asked for.
/// One schema has all tables of the configuration.
class SchemaTables {
 public:
  SchemaTables(const SchemaContents& contents, const SchemaFacts& facts, std::string_view statement)
      : contents_(contents), facts_(facts), statement_(statement) {}

  /// Null: there is none of that name.
  const SchemaTable* find(std::string_view schema, std::string_view table);

 private:
  void add_rows(std::string_view name, SchemaTable& table);
  void add_columns_of(std::string_view schema, const std::string& table,
                      std::span<const DescribedColumn> columns, SchemaTable& out);
  void add_tables(SchemaTable& table);
  void add_all_columns(SchemaTable& table);

  const SchemaContents& contents_;
  const SchemaFacts& facts_;
  const std::string_view statement_;
  std::map<std::string, SchemaTable, std::less<>> made_;
};

/// Whether a table has the columns of all tables.
bool lists_columns(std::string_view schema, std::string_view table);
/// Whether it has the variables, or the counters.
bool lists_variables(std::string_view table);
bool lists_status(std::string_view table);

}  // namespace karmad
