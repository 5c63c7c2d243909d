#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/schema/tables.hpp"
#include "balancer/schema/tokens.hpp"

namespace karmad {

/// Steps of SQLite, and bytes of functions.
inline constexpr std::size_t kMostSchemaSteps = 10'000'000;

/// Gives the database the functions of MySQL that SQLite lacks. They add to `steps` what they cost.
void add_schema_functions(sqlite3* database, std::size_t& steps);

/// Whether a SELECT of the schema may call the function: none that reads files, or whose result
/// is longer than its arguments.
bool is_schema_function(std::string_view name);

/// A SELECT in the words of SQLite.
class TranslatedSelect {
 public:
  /// Translates a SELECT of MySQL token by token: what SQLite reads in the same way stays as it is.
  /// 400: a text without its end, an unknown variable, something behind the statement.
  static OrError<TranslatedSelect> of(std::string_view statement, const SchemaFacts& facts);

  const std::string& text() const { return text_; }

  /// The name of the next column as MySQL gives it, from the one that SQLite gives: of an item
  /// without an alias, its words in the statement.
  std::string next_column_name(std::string_view name);

 private:
  friend class SelectTranslator;

  /// Some tokens of the statement, and what stands for them.
  struct Piece {
    std::size_t begin = 0;  ///< in text_
    std::size_t end = 0;
    std::size_t from = 0;  ///< in the statement
    std::size_t to = 0;
  };

  std::string statement_;  ///< perhaps within another SELECT
  std::string text_;
  std::vector<Piece> pieces_;
  std::size_t named_ = 0;  ///< where in text_ the item of the column before ended
};

}  // namespace karmad
