#include "agent/dialect/fronts/sql/foreign_forms.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <span>
#include <utility>

#include "config/text/source_text.hpp"

namespace karmad::sql {
namespace {

/// Writes over the foreign forms of one statement, token by token.
class FormsRemover {
 public:
  FormsRemover(std::string_view statement, std::vector<std::string> names)
      : statement_(statement), names_(std::move(names)) {}

  std::optional<std::string> run(std::span<const ByteRange> aliases) {
    for (const auto& alias : aliases)
      if (alias.found()) fill(alias.begin, alias.end);
    Tokens tokens(statement_);
    auto token = tokens.next();
    for (bool in_path = false; token.kind != Token::Kind::end;) {
      const auto next = tokens.next();
      const auto prefix = in_path ? 0 : size_of_prefix(token, next);
      if (prefix != 0) fill(token.at, token.at + prefix);
      // `p`.`price` has a token for the dot, `p`.price one that begins with it.
      const bool has_next = prefix > token.text.size();
      if (prefix < token.text.size()) look_at(rest_of(token, prefix));
      in_path = has_next || (token.kind == Token::Kind::word && token.text.ends_with('.'));
      token = !has_next ? next : next.text == "." ? tokens.next() : rest_of(next, 1);
    }
    return std::move(text_);
  }

 private:
  static Token rest_of(Token token, std::size_t from) {
    token.text.remove_prefix(from);
    token.at += from;
    return token;
  }

  void fill(std::size_t begin, std::size_t end, std::string_view first = {}) {
    if (!text_) text_.emplace(statement_);
    blank_out(*text_, {begin, end}, first);
  }

  /// Bytes of the table's name, with its dot; 0: the token is another name.
  std::size_t size_of_prefix(const Token& token, const Token& next) const {
    if (!token.names_table()) return 0;
    if (next.kind == Token::Kind::word && next.text.starts_with('.') &&
        std::ranges::find(names_, lower(token.inner())) != names_.end())
      return next.at + 1 - token.at;
    if (token.kind != Token::Kind::word || is_digit(token.text.front())) return 0;
    for (const auto& name : names_)  // a name may have dots itself
      if (token.text.size() > name.size() && token.text[name.size()] == '.' &&
          token.begins_with(name))
        return name.size() + 1;
    return 0;
  }

  /// No column is null, but values inside JSON are.
  static bool is_always_there(const Token& token) {
    return token.kind == Token::Kind::name || token.text == "'*'" ||
           (token.kind == Token::Kind::word &&
            (is_digit(token.text.front()) || token.text.find('.') == token.text.npos));
  }

  void look_at(const Token& token) {
    std::ranges::rotate(last_, last_.begin() + 1);
    last_.back() = token;
    const auto* const end = last_.end();
    if (token.is_word("null") && end[-2].is_word("by") && end[-3].is_word("order"))
      fill(end[-3].at, token.end());  // no order
    if (!behind_from_ && token.is_word("true", "false"))
      fill(token.at, token.end(), token.is_word("true") ? "1" : "0");
    behind_from_ = behind_from_ || token.is_word("from");
    bare_number(token);
    if (!token.is_sign(')')) return;
    const auto opens = [&](int from_end, std::string_view word) {
      return end[-from_end].is_word(word) && end[1 - from_end].is_sign('(');
    };
    if (opens(4, "count") && is_always_there(end[-2])) fill(end[-2].at, end[-2].end(), "*");
    if (!opens(6, "count") || !opens(4, "distinct")) return;
    fill(end[-3].at, end[-3].end());
    fill(end[-1].at, end[-1].end());
  }

  /// Whether the token so far from the end is the id of documents, no member of a JSON attribute.
  bool is_id(std::size_t from_end) const {
    const auto& token = last_[last_.size() - from_end];
    return token.names_table() && lower(token.inner()) == "id" &&
           !last_[last_.size() - from_end - 1].text.ends_with('.');
  }

  /// Takes the quotes from numbers which are compared with the id, and from those of LIMIT.
  void bare_number(const Token& token) {
    const auto* const end = last_.end();
    if (token.is_sign('(') && end[-2].is_word("in"))
      in_ids_ = is_id(3) || (end[-3].is_word("not") && is_id(4));
    if (token.is_word("limit")) in_limit_ = true;
    if (token.is_sign(')')) in_ids_ = in_limit_ = false;
    if (token.is_word("option", "facet")) in_limit_ = false;
    if (token.kind != Token::Kind::quoted || !is_whole(token.inner())) return;
    const auto compares = [](const Token& sign) {
      return sign.kind == Token::Kind::sign &&
             std::string_view("=<>!").find(sign.text[0]) != std::string_view::npos;
    };
    if (!in_ids_ && !in_limit_ &&
        !(compares(end[-2]) && (is_id(3) || (compares(end[-3]) && is_id(4)))))
      return;
    fill(token.at, token.at + 1);
    fill(token.end() - 1, token.end());
  }

  static bool is_whole(std::string_view text) {
    constexpr std::size_t kMostDigits = 19;
    if (text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() && text.size() <= kMostDigits && std::ranges::all_of(text, is_digit);
  }

  std::string_view statement_;
  std::vector<std::string> names_;  // in lower case
  bool behind_from_ = false;
  bool in_ids_ = false;  // within the brackets of `id IN (…)`
  bool in_limit_ = false;
  std::optional<std::string> text_;
  std::array<Token, 6> last_;
};

template <class Statement>
std::vector<std::string> names_of_table(const Statement& statement) {
  if (!statement.foreign.alias.empty()) return {lower(statement.foreign.alias)};
  std::vector<std::string> names;
  for (std::string_view tables = statement.table; !tables.empty();)
    names.push_back(lower(take_until(tables, ',')));
  return names;
}

/// Blanks in place of the names of character sets before texts, all of which are UTF-8.
std::string without_charsets(std::string_view statement) {
  std::string text(statement);
  Token before;
  Tokens tokens(statement);
  for (auto token = tokens.next(); token.kind != Token::Kind::end; token = tokens.next()) {
    if (names_charset(before, token)) blank_out(text, {before.at, before.end()});
    before = token;
  }
  return text;
}

/// Writes over the columns of an INSERT for which every row has DEFAULT, NULL or an empty text, and
/// these values: a server has no NULL, takes no text for a list, and gives a column that is not
/// named its default, which is empty or 0. In some rows only they become the empty value.
class DefaultsRemover {
 public:
  explicit DefaultsRemover(std::string_view statement) : statement_(statement) {}

  std::optional<std::string> run() {
    read();
    if (lists_.size() < 2) return std::nullopt;
    const auto columns = lists_[0].size();
    const auto rows = std::span(lists_).subspan(1);
    if (!std::ranges::all_of(rows, [&](const List& row) { return row.size() == columns; }))
      return std::nullopt;
    std::vector<bool> removed;
    for (std::size_t c = 0; c < columns; ++c)
      removed.push_back(
          std::ranges::all_of(rows, [&](const List& row) { return has_no_value(row, c); }));
    const auto first_kept = std::ranges::find(removed, false) - removed.begin();
    if (std::cmp_equal(first_kept, columns)) return std::nullopt;
    std::string text(statement_);
    for (std::size_t c = 0; c < columns; ++c)
      if (!removed[c] && !is_id(c)) fill_empty(text, rows, c);
    for (const auto& list : lists_)
      for (std::size_t c = 0; c < columns; ++c)
        if (removed[c])  // with the comma that it does not need any more
          blank_out(text, std::cmp_less(first_kept, c)
                              ? ByteRange{list[c - 1].end, list[c].end}
                              : ByteRange{list[c].begin, list[c + 1].begin});
    return text == statement_ ? std::nullopt : std::optional(std::move(text));
  }

 private:
  using List = std::vector<ByteRange>;

  bool is_id(std::size_t column) const {
    const auto name = lower(lists_[0][column].in(statement_));
    return name == "id" || name == "`id`";
  }

  bool has_no_value(const List& row, std::size_t column) const {
    const auto value = lower(row[column].in(statement_));
    return value == "default" || value == "null" || (value == "''" && !is_id(column));
  }

  /// Writes the empty value of the column for rows without one: of lists if it has some.
  void fill_empty(std::string& text, std::span<const List> rows, std::size_t column) const {
    const auto is_list = [&](const List& row) {
      return row[column].in(statement_).starts_with('(');
    };
    const std::string_view empty = std::ranges::any_of(rows, is_list) ? "()" : "''";
    for (const auto& row : rows)
      if (has_no_value(row, column)) blank_out(text, row[column], empty);
  }

  /// The list of columns, then the rows; each as its parts between the commas.
  void read() {
    Tokens tokens(statement_);
    int depth = 0;
    for (auto token = tokens.next(); token.kind != Token::Kind::end; token = tokens.next()) {
      if (depth == 0 && token.is_word("option")) return;
      if (token.is_sign(')')) --depth;
      const ByteRange next{token.end(), token.end()};  // a part without tokens yet
      if (depth == 1 && token.is_sign(',')) {
        lists_.back().push_back(next);
      } else if (depth > 0) {
        auto& part = lists_.back().back();
        if (part.begin == part.end) part.begin = token.at;
        part.end = token.end();
      }
      if (token.is_sign('(') && depth++ == 0) lists_.push_back({next});
    }
  }

  std::string_view statement_;
  std::vector<List> lists_;
};

/// Where a direction is missing: behind the keys of an ORDER BY without one, which a server refuses
/// or leaves out of the order. Malformed keys (`price dsc`) get none.
void find_missing_directions(Span order, std::vector<std::size_t>& ends) {
  if (order.empty()) return;
  for (const auto& key : split_list(order)) {
    if (key.empty()) continue;
    const auto& first = key.front();
    const bool is_no_name =
        key.size() == 1 && (first.is_word("null") || is_digit(first.text.front()));
    if (!is_no_name && !first.is_word("rand") && misplaced_operand(key) == nullptr)
      ends.push_back(key.back().end());
  }
}

/// The SELECT without foreign forms, and with all directions; nothing: it is so already.
std::optional<EngineStatement> select_for_engines(std::string_view statement,
                                                  const Select& select) {
  const auto* const outer = select.outer.get();
  std::vector<std::size_t> ends;
  find_missing_directions(select.within, ends);
  find_missing_directions(select.order, ends);
  for (const auto& facet : select.facets)  // an only key descends, FACET() is none
    if (split_list(facet.order).size() > 1 || canonical(facet.order) == "facet()")
      find_missing_directions(facet.order, ends);
  if (outer != nullptr) find_missing_directions(outer->order, ends);
  std::optional<std::string> text;
  if (select.foreign.any() || (outer != nullptr && outer->foreign.any())) {
    auto names = names_of_table(select);
    std::array<ByteRange, 2> aliases{select.foreign.alias_place};
    if (outer != nullptr && !outer->foreign.alias.empty()) {
      names.push_back(lower(outer->foreign.alias));
      aliases[1] = outer->foreign.alias_place;
    }
    text = FormsRemover(statement, std::move(names)).run(aliases);
  }
  if (ends.empty() && !text) return std::nullopt;
  if (!text) text.emplace(statement);
  std::ranges::sort(ends);
  for (const auto end : ends | std::views::reverse) text->insert(end, kAddedDirection);
  return EngineStatement{*std::move(text), std::move(ends)};
}

std::optional<EngineStatement> without_other_forms(std::string_view statement,
                                                   const Statement& read) {
  if (const auto* const select = std::get_if<Select>(&read))
    return select_for_engines(statement, *select);
  const auto* const change = std::get_if<ChangeStatement>(&read);
  if (change == nullptr || !change->foreign.any()) return std::nullopt;
  auto text =
      change->makes_documents()
          ? DefaultsRemover(statement).run()
          : FormsRemover(statement, names_of_table(*change)).run({&change->foreign.alias_place, 1});
  if (!text) return std::nullopt;
  return EngineStatement{*std::move(text)};
}

bool has_charsets(const Statement& read) {
  const auto* const change = std::get_if<ChangeStatement>(&read);
  if (change != nullptr) return change->foreign.charsets;
  const auto* const select = std::get_if<Select>(&read);
  return select != nullptr && (select->foreign.charsets ||
                               (select->outer != nullptr && select->outer->foreign.charsets));
}

/// Writes over the name of the schema before a table, wherever both stand.
class SchemaRemover {
 public:
  explicit SchemaRemover(std::string_view statement) : statement_(statement) {}

  std::optional<std::string> run() {
    bool before_table = false;
    bool in_tables = false;
    visit([&](Span ahead) {
      const auto& token = ahead[0];
      if (token.names_table() && before_table)
        if (auto found = split(ahead)) names_.push_back(std::move(found->second));
      const bool begins = token.is_word("from", "into", "update");
      in_tables = begins || (in_tables && (token.names_table() || token.is_sign(',')));
      before_table = begins || (in_tables && token.is_sign(','));
    });
    if (names_.empty()) return std::nullopt;
    std::string text(statement_);
    visit([&](Span ahead) {
      const auto found = split(ahead);
      if (!found || std::ranges::none_of(names_, [&](const Names& known) {
            return found->second.schema == known.schema &&
                   (found->second.behind == known.behind ||
                    found->second.behind.starts_with(known.behind + "."));
          }))
        return;
      blank_out(text, {ahead[0].at, found->first});
    });
    return text;
  }

 private:
  struct Names {  // in lower case
    std::string schema;
    std::string behind;  // the table, or more
  };

  template <class Visitor>
  void visit(Visitor visitor) const {
    Tokens tokens(statement_);
    std::array<Token, 3> ahead{tokens.next(), tokens.next(), tokens.next()};
    while (ahead[0].kind != Token::Kind::end) {
      visitor(Span(ahead));
      ahead = {ahead[1], ahead[2], tokens.next()};
    }
  }

  /// The names before and behind a dot, in one token or in several, and where the dot ends.
  static std::optional<std::pair<std::size_t, Names>> split(Span ahead) {
    const auto& first = ahead[0];
    const auto text = first.inner();
    if (!first.names_table() || text.empty() || is_digit(text.front())) return std::nullopt;
    const auto dot = first.kind == Token::Kind::word ? text.find('.') : text.npos;
    if (dot == 0) return std::nullopt;
    auto end = dot == text.npos ? ahead[1].at + 1 : first.at + dot + 1;
    auto behind = dot == text.npos ? ahead[1].text : text.substr(dot);
    if (dot == text.npos && ahead[1].kind != Token::Kind::word) return std::nullopt;
    if (!behind.starts_with('.')) return std::nullopt;
    behind.remove_prefix(1);
    const auto& next = dot == text.npos ? ahead[2] : ahead[1];
    if (behind.empty() && next.kind == Token::Kind::name) behind = next.inner();
    if (behind.empty()) return std::nullopt;
    return std::pair(end, Names{lower(text.substr(0, dot)), lower(behind)});
  }

  std::string_view statement_;
  std::vector<Names> names_;
};

}  // namespace

void blank_out(std::string& text, const ByteRange& part, std::string_view first) {
  const auto size = part.end - part.begin;
  text.replace(part.begin, size, size, ' ').replace(part.begin, first.size(), first);
}

bool names_charset(const Token& before, const Token& text) {
  return text.kind == Token::Kind::quoted &&
         before.is_word("_binary", "_utf8mb4", "_utf8", "_utf8mb3", "_ascii");
}

std::optional<std::string> without_schema(std::string_view statement) {
  return SchemaRemover(statement).run();
}

std::optional<EngineStatement> without_foreign_forms(std::string_view statement,
                                                     const Statement& read) {
  if (!has_charsets(read)) return without_other_forms(statement, read);
  auto plain = without_charsets(statement);
  auto others = without_other_forms(plain, read);
  return others ? std::move(others) : EngineStatement{std::move(plain)};
}

}  // namespace karmad::sql
