#include "agent/dialect/manticore_sql/change/change_statement.hpp"

#include <fmt/format.h>

#include <utility>

#include "agent/dialect/manticore_sql/sql_tokens.hpp"

namespace karmad {

namespace {

using Kind = SqlToken::Kind;

/// The id in these tokens; nothing if they are no number or text that stands for one document.
std::optional<DocumentId> id_of_value(const std::vector<SqlToken>& value) {
  if (value.size() == 1 && value[0].kind == Kind::word) return DocumentId::of_number(value[0].text);
  if (value.size() == 2 && value[0].is_sign('-') && value[1].kind == Kind::word &&
      value[1].at == value[0].at + 1 && !value[1].text.starts_with('-'))
    return DocumentId::of_number(std::string("-").append(value[1].text));
  if (value.size() != 1 || value[0].kind != Kind::quoted) return std::nullopt;
  const auto text = value[0].text.substr(1, value[0].text.size() - 2);
  if (text.find('\\') != text.npos) return std::nullopt;
  return DocumentId::of_text(text);
}

std::string_view without_backquotes(const SqlToken& token) {
  return token.kind == Kind::name ? token.text.substr(1, token.text.size() - 2) : token.text;
}

bool token_names_id(const SqlToken& token) {
  const auto name = without_backquotes(token);
  return name.size() == 2 && (name[0] | 0x20) == 'i' && (name[1] | 0x20) == 'd';
}

/// Walks the tokens of a change once.
class ChangeReader {
 public:
  explicit ChangeReader(std::string_view statement) : tokens_(statement) { step(); }

  std::expected<ChangeStatement, ClientError> run() {
    using Verb = ChangeStatement::Verb;
    const auto first = token_;
    if (auto refusal = trouble_at_token()) return std::unexpected(*std::move(refusal));
    step();
    Refusal refusal;
    if (first.is_word("insert")) {
      refusal = read_rows(Verb::insert);
    } else if (first.is_word("replace")) {
      refusal = read_rows(Verb::replace);
    } else if (first.is_word("update")) {
      change_.verb = Verb::update;
      refusal = read_table("UPDATE");
      if (!refusal && !token_.is_word("set")) refusal = expected("SET");
    } else if (first.is_word("delete")) {
      change_.verb = Verb::remove;
      if (!token_.is_word("from")) return std::unexpected(*expected("FROM"));
      step();
      refusal = read_table("DELETE FROM");
      if (!refusal && !ends_name()) refusal = expected("WHERE or the end of the statement");
    } else {
      return std::unexpected(ClientError{400, "no INSERT, REPLACE, UPDATE or DELETE"});
    }
    if (!refusal) refusal = change_.makes_documents() ? read_end() : read_conditions();
    if (refusal) return std::unexpected(*std::move(refusal));
    return std::move(change_);
  }

 private:
  using Refusal = std::optional<ClientError>;
  static Refusal refuse(std::string reason) { return ClientError{400, std::move(reason)}; }

  void step() { token_ = tokens_.next(); }

  Refusal trouble_at_token() const {
    if (auto trouble = token_.trouble()) return refuse(*std::move(trouble));
    if (token_.is_word("select"))
      return refuse(
          fmt::format("a SELECT within a change, at offset {}, is not supported", token_.at));
    return std::nullopt;
  }

  /// Whether the token may stand behind the table of DELETE; another one could belong to its name.
  bool ends_name() const {
    return token_.kind == Kind::end || token_.is_sign(';') || token_.is_word("where") ||
           token_.is_word("option") || token_.is_word("join") || token_.is_word("inner") ||
           token_.is_word("left");
  }

  Refusal expected(std::string_view what) const {
    if (auto trouble = trouble_at_token()) return trouble;
    return refuse(fmt::format("expected {} at offset {}", what, token_.at));
  }

  Refusal read_table(std::string_view after) {
    if (auto trouble = trouble_at_token()) return trouble;
    const auto name = without_backquotes(token_);
    if (!token_.names_table() || name.empty())
      return refuse(fmt::format("{} names no table at offset {}", after, token_.at));
    change_.table = name;
    change_.table_begin = token_.at;
    change_.table_end = token_.at + token_.text.size();
    step();
    if (token_.is_sign(',')) return refuse("several tables in a change; name one");
    if (token_.is_sign(':'))
      return refuse("a table with a cluster's name before it; name the table only");
    return std::nullopt;
  }

  /// The rest of INSERT or REPLACE up to the end of its rows. What is no list of rows is passed
  /// over, with `trouble`.
  Refusal read_rows(ChangeStatement::Verb verb) {
    change_.verb = verb;
    if (token_.is_word("into")) step();
    if (auto refusal = read_table("INTO")) return refusal;
    if (!token_.is_sign('(') && !token_.is_word("values") && !token_.is_word("value") &&
        !token_.is_word("set"))
      return expected("(, VALUES or SET behind the table");
    std::optional<std::size_t> id_column = 0;
    if (token_.is_sign('(')) {
      id_column.reset();
      const auto begin = token_.at + 1;
      if (auto refusal = read_columns(id_column)) return refusal;
      if (!id_column) change_.columns_begin = begin;
    }
    if (!token_.is_word("values") && !token_.is_word("value"))
      return other_form(fmt::format("expected VALUES at offset {}", token_.at));
    do {
      step();
      if (!token_.is_sign('(')) return expected("( of a row of values");
      if (auto refusal = read_row(id_column)) return refusal;
    } while (token_.is_sign(','));
    if (token_.kind != Kind::end && !token_.is_sign(';') && !token_.is_word("option"))
      return other_form(fmt::format(
          "expected the end of the statement, a comma or OPTION at offset {}", token_.at));
    return std::nullopt;
  }

  Refusal other_form(std::string why) {
    change_.rows.clear();
    change_.trouble = std::move(why);
    return trouble_at_token();
  }

  /// Position of `id` among the columns.
  Refusal read_columns(std::optional<std::size_t>& id_column) {
    for (std::size_t column = 0;; ++column) {
      step();
      if (!token_.names_table()) return expected("a name of a column");
      if (token_names_id(token_)) {
        if (id_column) return refuse(fmt::format("the column id twice, at offset {}", token_.at));
        id_column = column;
      }
      step();
      if (token_.is_sign(')')) break;
      if (!token_.is_sign(',')) return expected(", or ) after a column");
    }
    step();
    return std::nullopt;
  }

  /// From the opening parenthesis to behind the closing one.
  Refusal read_row(std::optional<std::size_t> id_column) {
    ChangeStatement::Row row{.begin = token_.at};
    std::vector<SqlToken> id_value;
    std::size_t column = 0;
    for (int depth = 0;;) {
      if (auto trouble = trouble_at_token()) return trouble;
      if (token_.kind == Kind::end || token_.is_sign(';')) return expected(") after the values");
      if (token_.is_sign(')') && --depth == 0) break;
      if (depth == 1 && token_.is_sign(',')) {
        ++column;
      } else if (depth >= 1 && id_column && column == *id_column && id_value.size() < 3) {
        id_value.push_back(token_);
      }
      if (token_.is_sign('(')) ++depth;
      step();
    }
    row.end = token_.at + 1;
    row.id_place = {row.begin + 1, row.begin + 1};
    if (id_column) row.id = id_of_value(id_value);
    if (row.id)
      row.id_place = {id_value.front().at, id_value.back().at + id_value.back().text.size()};
    else if (id_column && change_.trouble.empty())
      change_.trouble = fmt::format(
          "no id that can be read in the row at offset {}; give the column id a whole number or a "
          "text, or leave the column out",
          row.begin);
    change_.rows.push_back(row);
    step();
    return std::nullopt;
  }

  Refusal read_end() {
    for (; token_.kind != Kind::end; step()) {
      if (auto trouble = trouble_at_token()) return trouble;
      if (token_.is_sign(';')) return read_after_semicolon();
    }
    return std::nullopt;
  }

  Refusal read_after_semicolon() {
    step();
    if (token_.kind == Kind::ambiguous) return trouble_at_token();
    if (token_.kind != Kind::end) return refuse("several statements; send them one by one");
    return std::nullopt;
  }

  /// The rest of UPDATE or DELETE. The id is known if WHERE is `id = N`.
  Refusal read_conditions() {
    std::vector<SqlToken> where;  // a few of its tokens
    bool in_where = false;
    for (; token_.kind != Kind::end; step()) {
      if (auto trouble = trouble_at_token()) return trouble;
      if (token_.is_sign(';')) {
        if (auto refusal = read_after_semicolon()) return refusal;
        break;
      }
      if (token_.is_word("join")) return refuse("JOIN is not supported");
      if (token_.is_word("option") && where.size() < kFewTokens) in_where = false;
      if (in_where && where.size() < kFewTokens) where.push_back(token_);
      if (token_.is_word("where")) {
        in_where = true;
        where.clear();
      }
    }
    if (where.size() < 3 || where.size() >= kFewTokens || !where[0].names_table() ||
        !token_names_id(where[0]) || !where[1].is_sign('='))
      return std::nullopt;
    change_.id = id_of_value({where.begin() + 2, where.end()});
    return std::nullopt;
  }

  static constexpr std::size_t kFewTokens = 5;

  SqlTokens tokens_;
  SqlToken token_;
  ChangeStatement change_;
};

}  // namespace

std::expected<ChangeStatement, ClientError> read_change_statement(std::string_view statement) {
  return ChangeReader(statement).run();
}

}  // namespace karmad
