#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/sql_tokens.hpp"

namespace karmad {

struct SchemaSelect;

/// An expression of a SELECT from the schema.
struct SchemaExpression {
  enum class Is : std::uint8_t {
    null,
    text,
    number,
    column,    ///< `name`, of the table `table` if that is not empty
    variable,  ///< `@@name`, `@name`
    call,      ///< `name(parts)`, also of operators: `=`, `and`, `like`, `case` …
    exists,    ///< EXISTS (select)
    in,        ///< parts[0] IN (select)
    value,     ///< (select), of one row
  };
  Is is = Is::null;
  std::string name;   ///< of functions and operators in lower case
  std::string table;  ///< of a column, may be empty; of GROUP_CONCAT the separator
  std::vector<SchemaExpression> parts;
  std::shared_ptr<const SchemaSelect> select;
  bool distinct = false;  ///< of an aggregate: COUNT(DISTINCT x)

  static SchemaExpression call(std::string name, std::vector<SchemaExpression> parts) {
    return {.is = Is::call, .name = std::move(name), .table = {}, .parts = std::move(parts)};
  }
  static SchemaExpression literal(std::string text) {
    return {.is = Is::text, .name = std::move(text)};
  }
};

/// A table of FROM, and how it joins those before it.
struct SchemaSource {
  std::string schema;
  std::string table;
  std::string alias;
  std::shared_ptr<const SchemaSelect> select;  ///< in place of a table
  std::optional<SchemaExpression> on;
  std::vector<std::string> same;  ///< USING
  bool left = false;
};

struct SchemaSelect {
  struct Item {
    SchemaExpression value;
    std::string name;
    std::optional<std::string> all_of;  ///< `*`, or `table.*`
    bool named = false;                 ///< with an alias
  };
  struct Key {
    SchemaExpression value;
    bool descending = false;
  };
  static constexpr auto kAll = std::numeric_limits<std::size_t>::max();

  std::vector<Item> items;
  std::vector<SchemaSource> sources;
  std::optional<SchemaExpression> where;
  std::vector<SchemaExpression> group;
  std::optional<SchemaExpression> having;
  std::vector<Key> order;
  std::size_t offset = 0;
  std::size_t limit = kAll;
  bool distinct = false;
  /// The next SELECT of a UNION, whose ORDER BY and LIMIT are those of the whole.
  std::shared_ptr<const SchemaSelect> next;
  bool keeps_equal = false;  ///< UNION ALL
};

/// Steps through the tokens of a statement; behind the last one is one of kind `end`.
class SchemaTokens {
 public:
  explicit SchemaTokens(std::string_view statement);

  const SqlToken& now() const { return tokens_[at_]; }
  const SqlToken& ahead(std::size_t by = 1) const {
    return tokens_[std::min(at_ + by, tokens_.size() - 1)];
  }
  void step() { at_ += at_ + 1 < tokens_.size() ? 1 : 0; }
  bool at_end() const { return now().kind == SqlToken::Kind::end || now().is_sign(';'); }
  bool take_word(std::string_view lower_case);
  bool take_sign(char sign);
  /// Where the token before ended.
  std::size_t end_before() const { return at_ == 0 ? 0 : tokens_[at_ - 1].end(); }
  std::string_view statement() const { return statement_; }

  /// A name of parts: `a`, a.b, `a`.`b`. The last part is empty before `*`.
  std::vector<std::string> take_path();
  /// The text in quotes, or the name, of the present token.
  std::string take_text();

 private:
  std::string_view statement_;
  std::vector<SqlToken> tokens_;
  std::size_t at_ = 0;
};

template <class T>
using SchemaResult = std::expected<T, ClientError>;

/// Reads a SELECT with its UNIONs; nothing may follow it. 400, with the place: it is none, or has
/// parts that the schema's SELECT does not have. Depth and length have bounds.
SchemaResult<std::shared_ptr<const SchemaSelect>> read_schema_select(std::string_view statement);

/// Reads an expression that stands at the present token.
SchemaResult<SchemaExpression> read_schema_expression(SchemaTokens& tokens);

}  // namespace karmad
