#include "agent/dialect/fronts/sql/session_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/text/source_text.hpp"

namespace karmad {
namespace {

/// Variables without effect on the answers of karmad, in lower case.
constexpr std::array<std::string_view, 25> kIdleVariables{"names",
                                                          "character",
                                                          "charset",
                                                          "character_set_client",
                                                          "character_set_connection",
                                                          "character_set_results",
                                                          "collation_connection",
                                                          "profiling",
                                                          "sql_mode",
                                                          "time_zone",
                                                          "wait_timeout",
                                                          "interactive_timeout",
                                                          "net_read_timeout",
                                                          "net_write_timeout",
                                                          "sql_auto_is_null",
                                                          "sql_safe_updates",
                                                          "sql_quote_show_create",
                                                          "sql_log_bin",
                                                          "foreign_key_checks",
                                                          "unique_checks",
                                                          "transaction",
                                                          "transaction_isolation",
                                                          "tx_isolation",
                                                          "lock_wait_timeout",
                                                          "group_concat_max_len"};

/// Variables with only these values, in lower case.
struct FixedVariable {
  std::string_view name;
  std::array<std::string_view, 4> values;  ///< that may be set; the empty one is none
  std::string_view reason;                 ///< why there are no others
};
constexpr std::array kFixedVariables{
    FixedVariable{"autocommit",
                  {"1", "on", "true", "default"},
                  "autocommit is always 1: each statement takes effect at once"},
    FixedVariable{"sql_select_limit",
                  {"default", "18446744073709551615", "", ""},
                  "sql_select_limit has no effect here; write LIMIT into the statement"}};

/// Steps through the tokens; behind the last one is one of kind `end`.
class SettingTokens {
 public:
  explicit SettingTokens(std::span<const SqlToken> tokens) : tokens_(tokens) {}
  SqlToken now() const { return tokens_.empty() ? SqlToken() : tokens_.front(); }
  void step() { tokens_ = tokens_.subspan(tokens_.empty() ? 0 : 1); }
  bool at_end() const { return tokens_.empty() || tokens_.front().is_sign(','); }

 private:
  std::span<const SqlToken> tokens_;
};

/// The name of a variable in lower case, without `@@` and its scope.
std::string bare_name(const SqlToken& token) {
  const auto whole = lower(token.inner());
  std::string_view name = whole;
  for (const std::string_view prefix : {"@@", "session.", "local."})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return std::string(name);
}

/// Reads one assignment, up to the comma or the end.
std::optional<std::string> refused_assignment(SettingTokens& tokens) {
  if (tokens.now().is_word("session") || tokens.now().is_word("local")) tokens.step();
  const auto first = tokens.now();
  if (first.is_word("global"))
    return "SET GLOBAL changes a server; send it to the mirrors themselves";
  if (!first.names_table()) return "SET names no variable";
  if (first.text.starts_with('@') && !first.text.starts_with("@@"))
    return "variables of a client are not kept; write the value into the statement";
  const auto name = bare_name(first);
  tokens.step();
  if (tokens.now().is_sign(':')) tokens.step();
  if (tokens.now().is_sign('=')) tokens.step();
  const auto* const fixed = std::ranges::find(kFixedVariables, name, &FixedVariable::name);
  if (fixed != kFixedVariables.end()) {
    const auto value = lower(tokens.now().inner());
    if (!tokens.at_end()) tokens.step();
    const bool known =
        !value.empty() && std::ranges::find(fixed->values, value) != fixed->values.end();
    if (!known || !tokens.at_end()) return std::string(fixed->reason);
    return std::nullopt;
  }
  if (std::ranges::find(kIdleVariables, name) == kIdleVariables.end())
    return fmt::format(
        "SET {} has no effect here, because a statement goes to any mirror; known are "
        "NAMES, CHARACTER SET, autocommit = 1, profiling, sql_mode and the timeouts of connections",
        std::string_view(name).substr(0, 64));
  while (!tokens.at_end()) tokens.step();
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_setting_is_refused(std::span<const SqlToken> all) {
  SettingTokens tokens(all);
  for (;;) {
    if (auto refused = refused_assignment(tokens)) return refused;
    if (!tokens.now().is_sign(',')) return std::nullopt;
    tokens.step();
  }
}

}  // namespace karmad
