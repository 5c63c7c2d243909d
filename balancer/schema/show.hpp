#pragma once

#include <string>
#include <string_view>

#include "balancer/schema/tables.hpp"
#include "balancer/schema/tokens.hpp"

namespace karmad {

/// A statement about the schema of the tables, as tools send it, ready to be carried out.
struct SchemaStatement {
  enum class Is : std::uint8_t {
    rows,    ///< the SELECT `text` gives them
    passed,  ///< a mirror answers `text`, about `table`
  };
  Is is = Is::rows;
  std::string table;  ///< the one that it names; empty: none, or one of a system schema
  std::string text;   ///< the SELECT; or for the mirror, with the table's name at `table_begin`
  std::size_t table_begin = 0;
  std::size_t table_end = 0;
};

/// Reads a statement of the kind StatementKind::schema: a SELECT from the tables of system schemas
/// or from DUAL, a SHOW (which becomes a SELECT), DESCRIBE, EXPLAIN of a table. 400: it is none. A
/// SELECT is not read yet.
OrError<SchemaStatement> read_schema_statement(std::string_view statement,
                                               const SchemaFacts& facts);

}  // namespace karmad
