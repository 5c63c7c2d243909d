#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/data/columns.hpp"
#include "demo/data/complaint.hpp"
#include "demo/sql/statement.hpp"

namespace karmad::demo {

struct SqlToken {
  enum class Kind : std::uint8_t { name, number, text, sign, end };
  Kind kind = Kind::end;
  std::string text;       ///< a string without quotes and escapes
  std::size_t begin = 0;  ///< its bytes in the statement
  std::size_t end = 0;
};

/// A place in the tokens of a request. After an error it is at the end.
class SqlCursor {
 public:
  SqlCursor(std::string_view text, Complaint& complaint);

  const SqlToken& peek(std::size_t ahead = 0) const;
  SqlToken take();
  bool at_word(std::string_view word, std::size_t ahead = 0) const;
  bool at_sign(std::string_view sign, std::size_t ahead = 0) const;
  bool take_word(std::string_view word);
  bool take_sign(std::string_view sign);
  /// Several words one after the other, or none of them.
  bool take_words(std::string_view first, std::string_view second);
  std::string take_name();
  std::string take_text();
  Literal take_literal();
  std::size_t take_count();
  void expect_word(std::string_view word);
  void expect_sign(std::string_view sign);
  /// Complains about the token at this place.
  void wrong();
  bool at_end() const { return peek().kind == SqlToken::Kind::end; }

  std::size_t begin() const { return peek().begin; }
  /// The text from `begin` to the last token that was taken.
  std::string_view text_from(std::size_t begin) const;
  Complaint& complaint() { return complaint_; }

 private:
  std::string_view text_;
  std::vector<SqlToken> tokens_;
  Complaint& complaint_;
  std::size_t at_ = 0;
};

/// What names in an expression may mean.
struct SqlScope {
  std::string table;                    ///< for complaints; empty: there are no columns
  std::span<const SelectItem> aliases;  ///< they win over columns
  Query* match = nullptr;               ///< gets MATCH('…'); null: it is not allowed here
  const Expression* facet = nullptr;    ///< of FACET(); null: not allowed here
  std::vector<Knn>* knn = nullptr;      ///< gets KNN(…); null: it is not allowed here
  std::string table_alias{};            ///< before the names of columns; empty: none
  bool operands = false;                ///< keys of ORDER BY are no arithmetic
  bool filters = false;                 ///< WHERE and HAVING compare no computed values
};

/// Reads an expression of comparisons, AND, OR and arithmetic.
Expression read_expression(SqlCursor& cursor, const SqlScope& scope);

Expression column_expression(const Column& column);
Expression literal_expression(Literal literal);
Expression operation_of(std::string name, std::vector<Expression> arguments);
/// A function or an aggregate of the type that such a call has in SQL.
Expression call_expression(std::string name, std::vector<Expression> arguments);

/// Words that end an expression and cannot be aliases without AS.
bool is_reserved(std::string_view word);

/// Whether INSERT, REPLACE, UPDATE or DELETE begins here.
bool is_change(const SqlCursor& cursor);

/// Reads INSERT|REPLACE INTO table (columns) VALUES (…), …; UPDATE table SET column = value, …
/// WHERE …; DELETE FROM table WHERE ….
Statement read_change(SqlCursor& cursor, std::span<const std::string> tables);

}  // namespace karmad::demo
