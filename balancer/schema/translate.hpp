#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/sql_tokens.hpp"
#include "balancer/schema/schema.hpp"

namespace karmad {

/// The text as a literal in quotes.
std::string sql_literal(std::string_view text);

/// Steps through the tokens of a statement; behind the last one is one of kind `end`.
class SchemaTokens {
 public:
  explicit SchemaTokens(std::string_view statement);

  const sql::Token& now() const { return tokens_[at_]; }
  const sql::Token& ahead(std::size_t by = 1) const {
    return tokens_[std::min(at_ + by, tokens_.size() - 1)];
  }
  void step() { at_ += at_ + 1 < tokens_.size() ? 1 : 0; }
  bool at_end() const { return now().kind == sql::Token::Kind::end || now().is_sign(';'); }
  /// Steps over the token if it is one of these.
  bool take_word(auto... lower_case) { return take_if(now().is_word(lower_case...)); }
  bool take_sign(auto... signs) { return take_if(now().is_sign(signs...)); }
  /// Where the token before ended.
  std::size_t end_before() const { return at_ == 0 ? 0 : tokens_[at_ - 1].end(); }
  std::string_view statement() const { return statement_; }

  /// A name of parts: `a`, a.b, `a`.`b`. The last part is empty before `*`.
  std::vector<std::string> take_path();
  /// The text in quotes, or the name, of the present token.
  std::string take_text();

 private:
  bool take_if(bool wanted) {
    if (wanted) step();
    return wanted;
  }

  std::string_view statement_;
  std::vector<sql::Token> tokens_;
  std::size_t at_ = 0;
};

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
