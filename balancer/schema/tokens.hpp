#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/sql_tokens.hpp"

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

}  // namespace karmad
