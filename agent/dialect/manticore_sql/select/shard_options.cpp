#include "agent/dialect/manticore_sql/select/shard_options.hpp"

#include <fmt/format.h>

#include "agent/dialect/fronts/sql/sql_statement.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {

namespace {

/// A plain number; other values of the balancer's options are left to the server, which refuses
/// them.
std::optional<std::size_t> number_of_option(SqlSpan option) {
  if (option.size() != 3 || !option[1].is_sign('=')) return std::nullopt;
  return whole_number<std::size_t>(option[2].text);
}

}  // namespace

std::expected<ShardOptions, ClientError> read_options(SqlSpan tokens) {
  ShardOptions options;
  if (tokens.empty()) return options;
  for (const auto option : split_list(tokens)) {
    if (option.empty())
      return std::unexpected(wrong_at(tokens.front().at, "OPTION has an empty item"));
    const auto name = canonical(option.front());
    const auto number = number_of_option(option);
    const auto at = option.front().at;
    if (name == "max_matches") {
      if (!number || *number == 0 || *number > kLargestRowCount)
        return std::unexpected(wrong_at(
            at, fmt::format("max_matches must be an integer from 1 to {}", kLargestRowCount)));
      options.max_matches = number;
      continue;
    }
    if (name == "scroll") {
      const bool text = option.size() == 3 && option[2].kind == SqlToken::Kind::quoted;
      if (!text && (!number || *number > 1))
        return std::unexpected(
            wrong_at(at, "scroll must be 1, or the token of the page before in quotes"));
      if (text) options.scroll = option[2].text.substr(1, option[2].text.size() - 2);
      if (number && *number == 1) options.scroll.emplace();
      continue;
    }
    if (number && (name == "retry_count" || name == "retry_delay" || name == "agent_query_timeout"))
      continue;
    if (!options.others.empty()) options.others += ',';
    options.others += text_of(option);
  }
  return options;
}

std::string ShardOptions::write(std::size_t kept) const {
  if (kept == 0 && others.empty()) return {};
  std::string text = " OPTION ";
  if (kept != 0) text += fmt::format("max_matches={}", kept);
  if (kept != 0 && !others.empty()) text += ',';
  return text += others;
}

}  // namespace karmad
