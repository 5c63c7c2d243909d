#include "agent/dialect/manticore_sql/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "agent/dialect/manticore_json/blame.hpp"
#include "agent/dialect/manticore_sql/sql_tokens.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {

namespace {

using Kind = SqlToken::Kind;

// As in the JSON dialect: the server's limit, and a day.
constexpr unsigned kMaxRetryCount = 8;
constexpr std::uint64_t kMaxMillis = 24ull * 60 * 60 * 1000;
/// Expressions about the server, not about documents, are short.
constexpr std::size_t kLongestWithoutFrom = 4096;

std::unexpected<ClientError> no(std::string reason) {
  return std::unexpected(ClientError{400, std::move(reason)});
}

/// Walks the tokens of a SELECT once.
class Reader {
 public:
  explicit Reader(std::string_view statement) : statement_(statement), tokens_(statement) {
    step();
  }

  std::expected<Select, ClientError> run() {
    if (auto trouble = token_.trouble()) return no(*std::move(trouble));
    if (!token_.is_word("select")) return no("only SELECT is passed to the agents");
    step();
    if (auto refusal = skip_to_from()) return std::unexpected(std::move(*refusal));
    if (auto refusal = read_table()) return std::unexpected(std::move(*refusal));
    if (auto refusal = read_rest()) return std::unexpected(std::move(*refusal));
    if (auto refusal = refuse_ambiguous_fuzzy()) return std::unexpected(std::move(*refusal));
    return std::move(select_);
  }

 private:
  using Refusal = std::optional<ClientError>;
  static Refusal refuse(std::string reason) { return ClientError{400, std::move(reason)}; }

  void step() {
    token_ = tokens_.next();
    if (token_.is_word("option")) has_options_ = true;
    if (token_.kind == Kind::quoted && token_.text.find_first_of(";()") != token_.text.npos)
      sign_in_text_ = std::min(sign_in_text_, token_.at);
  }

  /// The search server gives a SELECT with an option that it does not know and the word `fuzzy` to
  /// a helper, which splits it at each `;` and replaces parts of it by patterns that know no
  /// quotes: a text could become a statement about another table.
  Refusal refuse_ambiguous_fuzzy() const {
    const auto wrong = std::min({sign_in_text_, statement_.find('%'), statement_.find("/*")});
    if (!has_options_ || wrong == statement_.npos || !contains_folded(statement_, "fuzzy"))
      return std::nullopt;
    return refuse(
        fmt::format("a SELECT with OPTION and the word fuzzy has no % and no comments, and none of "
                    "; ( ) in its texts (see offset {})",
                    wrong));
  }

  /// Refuses tokens that no statement to one table may contain.
  Refusal trouble_at_token() const {
    if (auto trouble = token_.trouble()) return refuse(*std::move(trouble));
    if (token_.is_word("select")) return refuse_inner_select();
    return std::nullopt;
  }

  Refusal refuse_inner_select() const {
    return refuse(fmt::format(
        "at offset {}: a SELECT within a SELECT is not supported; send the inner and the outer "
        "query one after the other",
        token_.at));
  }

  Refusal skip_to_from() {
    for (int depth = 0; token_.kind != Kind::end; step()) {
      if (auto trouble = trouble_at_token()) return trouble;
      if (token_.is_sign(';')) break;
      if (token_.is_sign('(')) ++depth;
      if (token_.is_sign(')')) --depth;
      if (depth == 0 && token_.is_word("from")) {
        step();
        return std::nullopt;
      }
    }
    if (statement_.size() <= kLongestWithoutFrom) return refuse("the SELECT has no FROM");
    return refuse(fmt::format("a SELECT without FROM has at most {} bytes; this one has {}",
                              kLongestWithoutFrom, statement_.size()));
  }

  Refusal read_table() {
    select_.table_begin = token_.at;
    for (bool more = true; more;) {
      if (auto refusal = read_name()) return refusal;
      more = token_.is_sign(',');
      if (more) step();
    }
    return check_behind_tables();
  }

  /// What the search server could read as a part of the name, a cluster or a further table is
  /// refused.
  Refusal check_behind_tables() const {
    if (auto trouble = trouble_at_token()) return trouble;
    if (token_.kind == Kind::end || token_.is_sign(';')) return std::nullopt;
    constexpr std::string_view kWords[] = {"where", "group",  "within", "having", "order",
                                           "limit", "option", "facet",  "join",   "inner",
                                           "left",  "force",  "ignore", "use"};
    if (std::ranges::any_of(kWords, [&](auto word) { return token_.is_word(word); }))
      return std::nullopt;
    return refuse(fmt::format(
        "expected WHERE, GROUP BY, ORDER BY or another clause behind FROM at offset {}; a table "
        "has no alias and no part",
        token_.at));
  }

  /// Reads one name of a list. One with a comma or `*` would be a list of its own.
  Refusal read_name() {
    if (token_.is_sign('(')) return refuse_inner_select();
    if (auto trouble = trouble_at_token()) return trouble;
    if (!token_.names_table()) return refuse("FROM names no table");
    auto name = token_.text;
    if (token_.kind == Kind::name) name = name.substr(1, name.size() - 2);
    if (name.empty()) return refuse("FROM names no table");
    if (name.find_first_of(",*") != name.npos)
      return refuse(fmt::format("a name of a table at offset {} contains ',' or '*'", token_.at));
    select_.table.append(select_.table.empty() ? "" : ",").append(name);
    select_.table_end = token_.at + token_.text.size();
    step();
    return std::nullopt;
  }

  Refusal read_rest() {
    for (SqlToken before; token_.kind != Kind::end; before = token_, step()) {
      if (auto trouble = trouble_at_token()) return trouble;
      if (token_.is_word("join"))
        return refuse(fmt::format(
            "at offset {}: JOIN is not supported; query each table and join the rows yourself",
            token_.at));
      if (token_.is_sign(';')) {
        step();
        if (token_.kind == Kind::ambiguous) return trouble_at_token();
        if (token_.kind != Kind::end) return refuse("several statements; send them one by one");
        return std::nullopt;
      }
      if (token_.is_word("scroll") && (before.is_word("option") || before.is_sign(',')))
        select_.scrolls = true;
      if (token_.is_word("retry_count") || token_.is_word("agent_query_timeout") ||
          token_.is_word("retry_delay")) {
        if (!before.is_word("option") && !before.is_sign(',')) continue;
        if (auto refusal = read_option()) return refusal;
      }
    }
    return std::nullopt;
  }

  /// Reads `name = number`; other forms are left to the agent.
  Refusal read_option() {
    const auto option = token_;
    step();
    if (!token_.is_sign('=')) return std::nullopt;
    step();
    const auto number = whole_number<std::uint64_t>(token_.text);
    if (!number) return std::nullopt;
    const auto value = *number;
    auto& options = select_.options;
    if (option.is_word("retry_count")) {
      if (value > kMaxRetryCount)
        return refuse(fmt::format("retry_count must be an integer from 0 to {}", kMaxRetryCount));
      options.retry_count = static_cast<unsigned>(value);
      return std::nullopt;
    }
    const bool timeout = option.is_word("agent_query_timeout");
    if (value > kMaxMillis || (timeout && value == 0))
      return refuse(fmt::format("{} must be an integer from {} to {} (milliseconds)",
                                timeout ? "agent_query_timeout" : "retry_delay", timeout ? 1 : 0,
                                kMaxMillis));
    (timeout ? options.agent_query_timeout : options.retry_delay) =
        std::chrono::milliseconds(value);
    return std::nullopt;
  }

  std::string_view statement_;
  SqlTokens tokens_;
  SqlToken token_;
  bool has_options_ = false;
  std::size_t sign_in_text_ = std::string_view::npos;
  Select select_;
};

}  // namespace

std::expected<Select, ClientError> read_select(std::string_view statement) {
  return Reader(statement).run();
}

bool may_name_tables(std::string_view statement) {
  if (statement.size() > kLongestWithoutFrom) return true;
  SqlTokens tokens(statement);
  tokens.next();  // SELECT
  int open = 0;
  for (auto token = tokens.next(); token.kind != Kind::end; token = tokens.next()) {
    open += token.is_sign('(') ? 1 : token.is_sign(')') ? -1 : 0;
    if (token.trouble() || token.is_sign(';') || token.is_word("from") || token.is_word("select") ||
        token.is_word("join"))
      return true;
  }
  return open != 0;
}

}  // namespace karmad
