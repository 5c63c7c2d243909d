#include "agent/dialect/fronts/sql/foreign_forms.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "config/text/source_text.hpp"

namespace karmad {
namespace {

/// Writes over the foreign forms of one statement, token by token.
class FormsRemover {
 public:
  FormsRemover(std::string_view statement, std::vector<std::string> names)
      : statement_(statement), names_(std::move(names)) {}

  std::optional<std::string> run(const ByteRange& alias) {
    if (alias.found()) fill(alias.begin, alias.end);
    SqlTokens tokens(statement_);
    auto token = tokens.next();
    for (bool in_path = false; token.kind != SqlToken::Kind::end;) {
      const auto next = tokens.next();
      const auto prefix = in_path ? 0 : size_of_prefix(token, next);
      if (prefix != 0) fill(token.at, token.at + prefix);
      // `p`.`price` has a token for the dot, `p`.price one that begins with it.
      const bool has_next = prefix > token.text.size();
      if (prefix < token.text.size()) look_at(rest_of(token, prefix));
      in_path = has_next || (token.kind == SqlToken::Kind::word && token.text.ends_with('.'));
      token = !has_next ? next : next.text == "." ? tokens.next() : rest_of(next, 1);
    }
    return std::move(text_);
  }

 private:
  static SqlToken rest_of(SqlToken token, std::size_t from) {
    token.text.remove_prefix(from);
    token.at += from;
    return token;
  }

  void fill(std::size_t begin, std::size_t end, std::string_view first = {}) {
    if (!text_) text_.emplace(statement_);
    auto over = std::string(end - begin, ' ');
    text_->replace(begin, end - begin, over.replace(0, first.size(), first));
  }

  bool is_table(std::string_view name) const {
    return std::ranges::find(names_, lower(name)) != names_.end();
  }

  /// Bytes of the table's name, with its dot; 0: the token is another name.
  std::size_t size_of_prefix(const SqlToken& token, const SqlToken& next) const {
    if (!token.names_table()) return 0;
    if (next.kind == SqlToken::Kind::word && next.text.starts_with('.') && is_table(token.inner()))
      return next.at + 1 - token.at;
    if (token.kind != SqlToken::Kind::word || is_digit(token.text.front())) return 0;
    for (const auto& name : names_)  // a name may have dots itself
      if (token.text.size() > name.size() && token.text[name.size()] == '.' &&
          token.begins_with(name))
        return name.size() + 1;
    return 0;
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  /// No column is null, but values inside JSON are.
  static bool is_always_there(const SqlToken& token) {
    return token.kind == SqlToken::Kind::name || token.text == "'*'" ||
           (token.kind == SqlToken::Kind::word &&
            (is_digit(token.text.front()) || token.text.find('.') == token.text.npos));
  }

  void look_at(const SqlToken& token) {
    std::ranges::rotate(last_, last_.begin() + 1);
    last_.back() = token;
    const auto* const end = last_.end();
    if (token.is_word("null") && end[-2].is_word("by") && end[-3].is_word("order"))
      fill(end[-3].at, token.end());  // no order
    if (!token.is_sign(')')) return;
    const auto opens = [&](int from_end, std::string_view word) {
      return end[-from_end].is_word(word) && end[1 - from_end].is_sign('(');
    };
    if (opens(4, "count") && is_always_there(end[-2])) fill(end[-2].at, end[-2].end(), "*");
    if (!opens(6, "count") || !opens(4, "distinct")) return;
    fill(end[-3].at, end[-3].end());
    fill(end[-1].at, end[-1].end());
  }

  std::string_view statement_;
  std::vector<std::string> names_;  // in lower case
  std::optional<std::string> text_;
  std::array<SqlToken, 6> last_;
};

template <class Statement>
std::vector<std::string> names_of_table(const Statement& statement) {
  if (!statement.foreign.alias.empty()) return {lower(statement.foreign.alias)};
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= statement.table.size();) {
    const auto end = std::min(statement.table.find(',', begin), statement.table.size());
    names.push_back(lower(std::string_view(statement.table).substr(begin, end - begin)));
    begin = end + 1;
  }
  return names;
}

}  // namespace

std::optional<std::string> without_foreign_forms(std::string_view statement,
                                                 const SqlStatement& read) {
  const auto remove = [&](const auto& of) -> std::optional<std::string> {
    if (!of.foreign.any()) return std::nullopt;
    return FormsRemover(statement, names_of_table(of)).run(of.foreign.alias_place);
  };
  if (const auto* const select = std::get_if<SqlSelect>(&read)) return remove(*select);
  const auto* const change = std::get_if<ChangeStatement>(&read);
  return change == nullptr || change->makes_documents() ? std::nullopt : remove(*change);
}

}  // namespace karmad
