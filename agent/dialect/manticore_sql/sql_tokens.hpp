#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace karmad {

/// One token of a SQL statement. White space and comments are not tokens.
struct SqlToken {
  enum class Kind : std::uint8_t {
    end,
    word,        ///< a name, keyword or number
    quoted,      ///< 'text' or "text"
    name,        ///< `name` in backquotes
    sign,        ///< any other single character
    unfinished,  ///< a string, name or comment without its end
    ambiguous    ///< engines read it differently; `why` explains
  };
  Kind kind = Kind::end;
  std::string_view text;  ///< quotes included
  std::size_t at = 0;     ///< offset in the statement
  std::string_view why;   ///< ambiguous: the reason, and what to write instead

  bool is_word(std::string_view lower_case) const {
    return kind == Kind::word && text.size() == lower_case.size() && begins_with(lower_case);
  }
  /// Whether the text begins so, in any case of ASCII letters.
  bool begins_with(std::string_view lower_case) const;
  bool is_sign(char c) const { return kind == Kind::sign && text.front() == c; }
  bool names_table() const { return kind == Kind::word || kind == Kind::name; }
  /// Why no statement may contain the token: it is unfinished or ambiguous. Names the offset.
  std::optional<std::string> trouble() const;
};

/// Splits a statement into tokens, one at a time. Knows quotes, backquotes and `/* */`, but no
/// grammar. Text that engines read differently becomes an ambiguous token and is never sent on: the
/// comments `--`, `#` and `/*!`, a `*` in a comment, SQL marks in double quotes and backquotes,
/// control characters, `1FROM`. An engine could find another statement in it than karmad does.
class SqlTokens {
 public:
  explicit SqlTokens(std::string_view statement) : statement_(statement) {}

  SqlToken next();

 private:
  /// An ambiguous or unfinished token found before the next token; nothing if all was skipped.
  std::optional<SqlToken> skip_space_and_comments();
  SqlToken token(SqlToken::Kind kind, std::size_t end);
  SqlToken ambiguous(std::string_view why);
  SqlToken number(std::size_t length);
  SqlToken quoted_text();
  SqlToken quoted_name(char quote);

  std::string_view statement_;
  std::size_t at_ = 0;
};

}  // namespace karmad
