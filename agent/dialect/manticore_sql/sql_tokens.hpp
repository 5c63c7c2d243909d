#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace karmad {

/// One token of a SQL statement. White space and comments are not tokens.
struct SqlToken {
  enum class Kind : std::uint8_t {
    end,
    word,       ///< a name, keyword or number
    quoted,     ///< 'text' or "text"
    name,       ///< `name` in backquotes
    sign,       ///< any other single character
    unfinished  ///< a string, name or comment that does not end
  };
  Kind kind = Kind::end;
  std::string_view text;  ///< quotes included
  std::size_t at = 0;     ///< offset in the statement

  bool is_word(std::string_view lower_case) const;
  bool is_sign(char c) const { return kind == Kind::sign && text.front() == c; }
  bool names_table() const { return kind == Kind::word || kind == Kind::name; }
};

/// Cuts a statement into tokens, one at a time. Knows quotes, backquotes, `/* */`, `-- ` and `#`
/// comments, but no grammar.
class SqlTokens {
 public:
  explicit SqlTokens(std::string_view statement) : statement_(statement) {}

  SqlToken next();

 private:
  bool skip_space_and_comments();
  SqlToken token(SqlToken::Kind kind, std::size_t end);
  SqlToken quoted(char quote);

  std::string_view statement_;
  std::size_t at_ = 0;
};

}  // namespace karmad
