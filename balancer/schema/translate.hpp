#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/schema/tables.hpp"
#include "balancer/schema/tokens.hpp"

namespace karmad {

/// A SELECT in the words of SQLite.
class TranslatedSelect {
 public:
  /// Translates a SELECT of MySQL token by token: what SQLite reads in the same way stays as it is.
  /// 400: a text without its end, an unknown variable, something behind the statement.
  static SchemaResult<TranslatedSelect> of(std::string_view statement, const SchemaFacts& facts);

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
