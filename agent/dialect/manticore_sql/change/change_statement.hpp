#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/changes/shard_of_id.hpp"
#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/request.hpp"

namespace karmad {

/// What is read of INSERT, REPLACE, UPDATE or DELETE. Offsets are of the statement; the rest is
/// passed on as it is.
struct ChangeStatement {
  enum class Verb : std::uint8_t { insert, replace, update, remove };
  /// The values of one document, parentheses included.
  struct Row {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::optional<DocumentId> id{};
    /// The value of the id; empty: where it can be put in, with a comma behind it.
    ByteRange id_place{};
    std::uint64_t made_id = 0;  ///< the id that karmad has made; 0: none
  };

  Verb verb = Verb::insert;
  std::string table;
  std::size_t table_begin = 0;  ///< backquotes included
  std::size_t table_end = 0;
  std::size_t columns_begin = 0;  ///< of a list of columns without `id`; 0: there is none
  std::vector<Row> rows;          ///< of VALUES; empty: another form
  std::optional<DocumentId> id;   ///< of UPDATE, DELETE … WHERE id = N and no other condition
  /// Why the ids of an INSERT or REPLACE are not known; empty: each row has one, or has none and
  /// can get one.
  std::string trouble;

  bool makes_documents() const { return verb == Verb::insert || verb == Verb::replace; }
};

/// Reads INSERT, REPLACE [INTO] t [(columns)] VALUES (…), …; UPDATE t SET …; DELETE FROM t ….
/// Without columns the first value is the id. Refuses (400, with the offset) any other statement,
/// several tables or statements, sub-selects, and tokens that engines read differently (SqlTokens).
std::expected<ChangeStatement, ClientError> read_change_statement(std::string_view statement);

}  // namespace karmad
