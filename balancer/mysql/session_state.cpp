#include "balancer/mysql/session_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/dialect/request/sql_tokens.hpp"
#include "agent/json/json_text.hpp"
#include "balancer/schema/schema.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad::mysql {
namespace {

struct Variable {
  std::string_view name;
  std::string_view value;
};

constexpr std::array kVariables{
    Variable{"auto_increment_increment", "1"},
    Variable{"autocommit", "1"},
    Variable{"character_set_client", "utf8mb4"},
    Variable{"character_set_connection", "utf8mb4"},
    Variable{"character_set_database", "utf8mb4"},
    Variable{"character_set_results", "utf8mb4"},
    Variable{"character_set_server", "utf8mb4"},
    Variable{"collation_connection", "utf8mb4_general_ci"},
    Variable{"collation_database", "utf8mb4_general_ci"},
    Variable{"collation_server", "utf8mb4_general_ci"},
    Variable{"default_storage_engine", "MyISAM"},  // one without transactions
    Variable{"foreign_key_checks", "1"},
    Variable{"have_profiling", "NO"},
    Variable{"hostname", "karmad"},
    Variable{"init_connect", ""},
    Variable{"innodb_version", ""},
    Variable{"log_bin", "0"},
    Variable{"lower_case_file_system", "0"},
    Variable{"license", "Apache-2.0"},
    Variable{"lower_case_table_names", "1"},
    Variable{"net_buffer_length", "16384"},
    Variable{"net_write_timeout", "60"},
    Variable{"performance_schema", "0"},
    Variable{"protocol_version", "10"},
    Variable{"query_cache_size", "0"},
    Variable{"query_cache_type", "OFF"},
    Variable{"sql_auto_is_null", "0"},
    Variable{"sql_mode", ""},
    Variable{"sql_safe_updates", "0"},
    Variable{"sql_select_limit", "18446744073709551615"},
    Variable{"system_time_zone", "UTC"},
    Variable{"time_zone", "SYSTEM"},
    Variable{"transaction_isolation", "READ-COMMITTED"},
    Variable{"transaction_read_only", "0"},
    Variable{"unique_checks", "1"},
    Variable{"version", kVersion},
    Variable{"version_comment", "karmad " KARMAD_VERSION},
    Variable{"version_compile_machine", "x86_64"},
    Variable{"version_compile_os", "Linux"},
};

/// The name of today of a variable that has an older one too.
std::string_view current_name(std::string_view name) {
  if (name == "tx_isolation") return "transaction_isolation";
  if (name == "tx_read_only") return "transaction_read_only";
  return name;
}

const Variable* known_variable(std::string_view name) {
  const auto* const found = std::ranges::find(kVariables, name, &Variable::name);
  return found == kVariables.end() ? nullptr : found;
}

/// The value of a variable that is the connection's or karmad's, whatever SET says.
std::optional<std::string> fact_of_variable(std::string_view name, const ConnectionFacts& facts) {
  if (name == "max_allowed_packet") return fmt::format("{}", facts.max_packet_size);
  if (name == "warning_count") return facts.warning == nullptr ? "0" : "1";
  if (name == "last_insert_id" || name == "identity")
    return fmt::format("{}", facts.last_insert_id);
  if (name == "pseudo_thread_id") return fmt::format("{}", facts.id);
  if (name == "read_only") return facts.read_only ? "1" : "0";
  if (name == "have_ssl" || name == "have_openssl") return facts.offers_tls ? "YES" : "DISABLED";
  constexpr std::array<std::string_view, 4> kFixed{"version", "version_comment", "license",
                                                   "protocol_version"};
  if (std::ranges::find(kFixed, name) == kFixed.end()) return std::nullopt;
  return std::string(known_variable(name)->value);
}

/// The value that a variable has without SET.
std::optional<std::string> initial_value(std::string_view name, const ConnectionFacts& facts) {
  if (auto fact = fact_of_variable(name, facts)) return fact;
  if (name == "wait_timeout" || name == "interactive_timeout")
    return fmt::format("{}", facts.idle_seconds);
  if (name == "transaction_read_only" && facts.read_only) return "1";
  const auto* const known = known_variable(name);
  if (known == nullptr) return std::nullopt;
  return std::string(known->value);
}

// ---- expressions of SET

/// What an expression gives, as far as it is understood.
struct SetValue {
  enum class Kind : std::uint8_t { text, word, null, by_default, unknown };
  Kind kind = Kind::unknown;
  std::string text{};
};

/// A word, number or text by itself, or what a SELECT gives.
SetValue set_value(const std::string& expression, const ConnectionFacts& facts) {
  using Kind = SetValue::Kind;
  SchemaTokens tokens(expression);
  const auto first = tokens.now();
  const bool is_single = tokens.ahead().kind == sql::Token::Kind::end;
  if (is_single && first.kind == sql::Token::Kind::word && !first.text.starts_with('@')) {
    if (first.is_word("null")) return {Kind::null};
    if (first.is_word("default")) return {Kind::by_default};
    const bool is_number = first.text.find_first_not_of("0123456789.") == first.text.npos;
    return {is_number ? Kind::text : Kind::word, std::string(first.text)};
  }
  if (first.kind == sql::Token::Kind::quoted) {
    auto text = tokens.take_text();
    if (tokens.now().kind == sql::Token::Kind::end) return {Kind::text, std::move(text)};
  }
  const auto rows = rows_of("SELECT " + expression, {}, schema_facts(facts));
  if (!rows || rows->rows.size() != 1 || rows->columns.size() != 1) return {};
  const auto& value = rows->rows[0][0];
  return {value.is_null() ? Kind::null : Kind::text, value.text};
}

// ---- values that are checked

/// `1` or `0` of a truth value; nothing: it is none.
std::optional<std::string> truth_value(std::string_view value) {
  const auto word = lower(value);
  if (word == "1" || word == "on" || word == "true") return "1";
  if (word == "0" || word == "off" || word == "false") return "0";
  return std::nullopt;
}

/// Whether texts in this character set are what the search server takes and gives.
bool is_usable_charset(std::string_view name) {
  constexpr std::array<std::string_view, 5> kUsable{"utf8mb4", "utf8", "utf8mb3", "binary",
                                                    "ascii"};
  return std::ranges::find(kUsable, name) != kUsable.end();
}

Error unknown_charset(std::string_view name) {
  return {1115, "42000",
          fmt::format("the character set '{}' is not supported: texts are UTF-8; use utf8mb4",
                      shortened_utf8(name))};
}

Error wrong_value(std::string_view name, std::string_view value) {
  return {
      1231, "42000",
      fmt::format("Variable '{}' can't be set to the value of '{}'", name, shortened_utf8(value))};
}

bool is_charset_variable(std::string_view name) {
  return name == "character_set_client" || name == "character_set_connection" ||
         name == "character_set_results";
}

bool is_truth_variable(std::string_view name) {
  return name == "autocommit" || name == "transaction_read_only";
}
bool is_number_variable(std::string_view name) {
  return name == "sql_select_limit" || name == "wait_timeout";
}
bool has_effect(std::string_view name) {
  return is_charset_variable(name) || name == "collation_connection" || is_truth_variable(name) ||
         is_number_variable(name);
}

/// Why a variable with an effect may not have the value, which becomes the one that is kept.
std::optional<Error> refused_value(std::string_view name, std::string& value) {
  if (is_charset_variable(name) || name == "collation_connection") {
    value = lower(value);
    const auto charset = std::string_view(value).substr(0, value.find('_'));
    return is_usable_charset(charset) ? std::nullopt : std::optional(unknown_charset(charset));
  }
  if (is_truth_variable(name)) {
    auto truth = truth_value(value);
    if (!truth) return wrong_value(name, value);
    value = *std::move(truth);
  } else if (is_number_variable(name)) {
    const auto number = number_in<std::uint64_t>(value);
    if (!number) return wrong_value(name, value);
    if (name == "wait_timeout" && *number == 0) value.assign(1, '1');  // as MySQL
  }
  return std::nullopt;
}

/// Without the items that CONCAT(@@sql_mode, ',X') leaves empty.
std::string without_empty_items(std::string_view list) {
  std::string out;
  while (!list.empty()) {
    const auto item = take_until(list, ',');
    if (!item.empty()) out.append(out.empty() ? "" : ",").append(item);
  }
  return out;
}

using Values = Variables::Values;

/// SET NAMES and SET CHARACTER SET: `charset [COLLATE collation]`.
std::optional<Error> set_names(Values& values, std::string_view expression) {
  sql::Tokens tokens(expression);
  const auto first = tokens.next();
  const auto charset = lower(first.inner());
  const auto collate = tokens.next();
  const auto collation = tokens.next();
  const bool has_collation = collate.is_word("collate");
  if (has_collation ? tokens.next().kind != sql::Token::Kind::end
                    : collate.kind != sql::Token::Kind::end)
    return Error{1064, "42000", "syntax error: SET NAMES takes a character set and COLLATE"};
  const bool is_default = charset == "default";
  if (!is_default && !is_usable_charset(charset)) return unknown_charset(charset);
  for (const auto* name : {"character_set_client", "character_set_connection",
                           "character_set_results", "collation_connection"}) {
    values.erase(name);
    if (!is_default) values[name] = charset;
  }
  if (is_default || (charset == "binary" && !has_collation)) return std::nullopt;
  auto& used = values["collation_connection"];
  used = has_collation ? std::string(collation.inner()) : charset + "_general_ci";
  return refused_value("collation_connection", used);
}

/// SET SESSION TRANSACTION: `ISOLATION LEVEL level`, `READ ONLY`, `READ WRITE`, with commas.
std::optional<Error> set_transaction(Values& values, std::string_view expression) {
  std::vector<std::string> items(1);
  sql::Tokens tokens(expression);
  for (auto token = tokens.next(); token.kind != sql::Token::Kind::end; token = tokens.next()) {
    if (token.is_sign(',')) {
      items.emplace_back();
    } else {
      items.back().append(items.back().empty() ? "" : " ").append(lower(token.text));
    }
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kLevels{
      {{"isolation level read uncommitted", "READ-UNCOMMITTED"},
       {"isolation level read committed", "READ-COMMITTED"},
       {"isolation level repeatable read", "REPEATABLE-READ"},
       {"isolation level serializable", "SERIALIZABLE"}}};
  for (const auto& item : items) {
    const auto* const level =
        std::ranges::find(kLevels, std::string_view(item), [](const auto& l) { return l.first; });
    if (level != kLevels.end()) {
      values["transaction_isolation"] = level->second;
    } else if (item == "read only" || item == "read write") {
      values["transaction_read_only"].assign(1, item == "read only" ? '1' : '0');
    } else {
      return Error{1064, "42000",
                   fmt::format("syntax error: SET TRANSACTION {}", shortened_utf8(item))};
    }
  }
  return std::nullopt;
}

std::optional<Error> assign(Values& values, const sql::SessionSetting& setting,
                            const ConnectionFacts& facts) {
  if (setting.name == "names") return set_names(values, setting.value);
  if (setting.name == "transaction") return set_transaction(values, setting.value);
  const auto name = std::string(current_name(setting.name));
  if (name == "next_transaction" || fact_of_variable(name, facts)) return std::nullopt;
  auto value = set_value(std::string(setting.value), facts);
  const auto* const known = known_variable(name);
  using Kind = SetValue::Kind;
  switch (value.kind) {
    case Kind::null:
      // Results as they are; they are UTF-8.
      if (has_effect(name) && name != "character_set_results") return wrong_value(name, "NULL");
      [[fallthrough]];
    case Kind::by_default:
      values.erase(name);
      return std::nullopt;
    case Kind::unknown:
      if (has_effect(name)) return wrong_value(name, setting.value);
      return std::nullopt;
    case Kind::word:
      if (known != nullptr && (known->value == "0" || known->value == "1"))
        value.text = truth_value(value.text).value_or(value.text);
      break;
    case Kind::text:
      break;
  }
  if (auto refused = refused_value(name, value.text)) return refused;
  if (name == "sql_mode") value.text = without_empty_items(value.text);
  values[name] = std::move(value.text);
  return std::nullopt;
}

/// All variables that have a value.
std::vector<std::pair<std::string, std::string>> all_variables(const ConnectionFacts& facts) {
  constexpr std::array<std::string_view, 11> kFacts{
      "max_allowed_packet", "wait_timeout", "interactive_timeout", "read_only",      "tx_read_only",
      "have_openssl",       "have_ssl",     "warning_count",       "last_insert_id", "identity",
      "pseudo_thread_id"};
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&](std::string_view name) {
    if (auto value = value_of_variable(name, facts)) all.emplace_back(name, *std::move(value));
  };
  for (const auto& variable : kVariables) add(variable.name);
  for (const auto name : kFacts) add(name);
  return all;
}

}  // namespace

std::optional<Error> Variables::set(std::span<const sql::SessionSetting> settings,
                                    const ConnectionFacts& facts) {
  auto values = values_;
  for (const auto& setting : settings)
    if (auto refused = assign(values, setting, facts)) return refused;
  std::size_t bytes = 0;
  for (const auto& [name, value] : values) bytes += name.size() + value.size();
  if (bytes > kMostBytes)
    return Error{1105, "HY000",
                 fmt::format("the variables of a connection have at most {} bytes", kMostBytes)};
  values_ = std::move(values);
  return std::nullopt;
}

const std::string* Variables::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::uint64_t> Variables::number(std::string_view name) const {
  const auto* const value = find(name);
  return value == nullptr ? std::nullopt : number_in<std::uint64_t>(*value);
}

std::expected<std::uint16_t, Error> SessionState::carry_out(const sql::SessionStatement& statement,
                                                            const ConnectionFacts& facts) {
  using Is = sql::SessionStatement::Is;
  std::uint16_t warnings = 0;
  switch (statement.is) {
    case Is::use:
      if (statement.text.empty())
        return std::unexpected(Error{1064, "42000", "syntax error: USE needs a name"});
      database = statement.text.substr(0, kLongestName);
      break;
    case Is::set: {
      const bool before = variables.autocommit();
      if (auto refused = variables.set(statement.settings, facts))
        return std::unexpected(*std::move(refused));
      if (!before && variables.autocommit()) end(false);
      break;
    }
    case Is::begin:
      end(true);
      reads_only_ = statement.read_only || variables.read_only();
      break;
    case Is::rollback:
      warnings = warn_of_changes();
      end(statement.chain);
      break;
    case Is::commit:
      end(statement.chain);
      break;
    case Is::undo:
      warnings = warn_of_changes();
      break;
    default:
      break;
  }
  return warnings;
}

/// Returns the number of warnings.
std::uint16_t SessionState::warn_of_changes() {
  if (!changed_) return 0;
  warning = {"Warning", 1196,
             "Some non-transactional changed tables couldn't be rolled back: each statement takes "
             "effect at once"};
  return 1;
}

/// Ends the transaction; with `chain` another one begins, which reads only if that one did.
void SessionState::end(bool chain) {
  in_transaction_ = chain;
  changed_ = false;
}

std::uint16_t SessionState::status() const {
  const auto autocommit = variables.autocommit() ? status_flag::kAutocommit : std::uint16_t{};
  return in_transaction_ ? autocommit | status_flag::kInTransaction : autocommit;
}

std::optional<std::string> value_of_variable(std::string_view name, const ConnectionFacts& facts) {
  bool of_session = true;
  if (name.starts_with("@@")) {
    name.remove_prefix(2);
    const auto scope = name.substr(0, name.find('.'));
    of_session = scope != "global";
    if (scope == "global" || scope == "session" || scope == "local")
      name.remove_prefix(std::min(scope.size() + 1, name.size()));
    name = current_name(name);
  }
  const auto* const set =
      of_session && facts.variables != nullptr ? facts.variables->find(name) : nullptr;
  if (set == nullptr) return name.starts_with('@') ? std::nullopt : initial_value(name, facts);
  // The connection ends after client_timeout in any case.
  if (name == "wait_timeout" && number_in<std::uint64_t>(*set).value_or(0) > facts.idle_seconds)
    return fmt::format("{}", facts.idle_seconds);
  return *set;
}

SchemaFacts schema_facts(const ConnectionFacts& facts) {
  return {.schema = std::string(facts.database.empty() ? "Manticore" : facts.database),
          .user = std::string(facts.user),
          .host = std::string(facts.host.empty() ? "localhost" : facts.host),
          .connection = facts.id,
          .last_insert_id = facts.last_insert_id,
          .version = std::string(kVersion),
          .is_mysql = true,
          .read_only = facts.read_only,
          .variable = [facts](auto name) { return value_of_variable(name, facts); },
          .variables = [facts] { return all_variables(facts); }};
}

}  // namespace karmad::mysql
