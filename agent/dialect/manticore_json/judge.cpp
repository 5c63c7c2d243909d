#include "agent/dialect/manticore_json/judge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/manticore_json/reply.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestMessage = 1024;

struct Phrase {
  std::string_view text;  ///< lower case
  Blame blame;
};

/// Looked for in this order, so that trouble outweighs a query's mistake in an error that joins
/// the messages of several tables.
constexpr Phrase kPhrases[] = {
    // What an agent, or a master behind it, says of itself.
    {"unknown local table", Blame::agent},  // we wrote that name
    {"no such table", Blame::agent},        // the same of other releases
    {"unknown table", Blame::agent},
    {"no enabled tables", Blame::agent},
    {"table not found", Blame::agent},
    {"timed out", Blame::agent},  // query or connect, of a shard behind it
    {"retries limit exceeded", Blame::agent},
    {"connection refused", Blame::agent},
    {"receiving failure", Blame::agent},
    {"sending failure", Blame::agent},
    {"failed to read", Blame::agent},
    {"out of memory", Blame::agent},
    {"too many requests", Blame::agent},
    {"maxed out", Blame::agent},
    {"server shutdown", Blame::agent},
    {"internal error", Blame::agent},
    // What it says of the query.
    {"syntax error", Blame::client},    // P01: SQL, P08: full-text
    {"query error", Blame::client},     // full-text: operators, length, wildcards
    {"unknown column", Blame::client},  // filter, sort or select
    {"unknown option", Blame::client},
    {"unknown sort", Blame::client},
    {"unknown ranker", Blame::client},
    {"unknown function", Blame::client},
    {"unknown field", Blame::client},
    {"no such filter attribute", Blame::client},
    {"sort-by attribute", Blame::client},  // … not found
    {"sort-by:", Blame::client},
    {"group-by attribute", Blame::client},
    {"group by attribute", Blame::client},
    {"no field", Blame::client},  // … found in schema
    {"no such field", Blame::client},
    {"not found in schema", Blame::client},
    {"is not supported", Blame::client},
    {"not supported", Blame::client},
    {"unsupported", Blame::client},
    {"only select queries", Blame::client},
    {"property missing", Blame::client},
    {"property value should be", Blame::client},
    {"property should be", Blame::client},
    {"unable to parse", Blame::client},
    {"parse error", Blame::client},
    {"invalid", Blame::client},
    {"out of bounds", Blame::client},
    {"must be greater than", Blame::client},
    {"cannot be used", Blame::client},
    {"query is too complex", Blame::client},
    {"query missing", Blame::client},
    {"without buddy", Blame::client},  // 501: /cli, where no mirror has its helper process
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// `P01: …`: every parser of the server numbers its messages like this.
bool has_parser_number(std::string_view error) {
  for (std::size_t i = 0; i + 3 < error.size(); ++i)
    if (error[i] == 'P' && is_digit(error[i + 1]) && is_digit(error[i + 2]) && error[i + 3] == ':')
      return true;
  return false;
}

bool contains_folded(std::string_view text, std::string_view lower_case) {
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
  };
  return !std::ranges::search(text, lower_case, same).empty();
}

bool says_json(std::string_view content_type) {
  return content_type.empty() || content_type.starts_with("application/json") ||
         contains_folded(content_type, "json");
}

/// What the body has to end in by its first byte; 0: it is no JSON.
char json_end(std::string_view body) {
  const auto first = body.find_first_not_of(kJsonSpace);
  if (first == body.npos) return 0;
  return body[first] == '{' ? '}' : body[first] == '[' ? ']' : '\0';
}

/// First and last byte, which is all a pass-through looks at.
bool looks_like_json(std::string_view body) {
  const auto end = json_end(body);
  return end != 0 && body[body.find_last_not_of(kJsonSpace)] == end;
}

Judgement blamed(int status, std::string_view error) {
  const auto outcome =
      blame_of(error) == Blame::client ? Outcome::client_mistake : Outcome::agent_error;
  return judgement(outcome, error.empty() ? fmt::format("status {} without a reason", status)
                                          : std::string(error));
}

/// What is looked through for phrases; errors are short.
constexpr std::size_t kLongestError = 16 << 10;

bool is_trouble(std::string_view error) {
  error = error.substr(0, kLongestError);
  return std::ranges::any_of(kPhrases, [&](const Phrase& phrase) {
    return phrase.blame == Blame::agent && contains_folded(error, phrase.text);
  });
}

}  // namespace

Blame blame_of(std::string_view error) {
  error = error.substr(0, kLongestError);
  if (is_trouble(error)) return Blame::agent;
  if (has_parser_number(error)) return Blame::client;
  const auto known = std::ranges::find_if(
      kPhrases, [&](const Phrase& phrase) { return contains_folded(error, phrase.text); });
  return known != std::end(kPhrases) ? known->blame : Blame::agent;
}

Judgement judgement(Outcome outcome, std::string_view message) {
  return {outcome, std::string(message.substr(0, kLongestMessage))};
}

Judgement judge_reply(const AgentReply& reply) {
  if (reply.status == 200) {
    if (!says_json(reply.content_type))
      return judgement(Outcome::wrong_reply,
                       fmt::format("the answer is {}, not JSON", reply.content_type));
    if (!(reply.whole ? looks_like_json(reply.body) : json_end(reply.body) != 0))
      return judgement(Outcome::wrong_reply, "the answer is not JSON");
    return {.outcome = Outcome::answered, .ends_in = json_end(reply.body)};
  }
  const bool json = says_json(reply.content_type) && looks_like_json(reply.body);
  const auto error = json ? agent_error_text(reply.body) : std::string();
  const auto with_status = [&] {
    return fmt::format("status {}{}{}", reply.status, error.empty() ? "" : ": ", error);
  };
  if (reply.status == 408 || reply.status == 429)
    return judgement(Outcome::agent_error, with_status());
  if (reply.status >= 400 && reply.status < 500)
    return judgement(is_trouble(error) ? Outcome::agent_error : Outcome::client_mistake,
                     error.empty() ? with_status() : error);
  if ((reply.status == 500 || reply.status == 501) && json) return blamed(reply.status, error);
  if (reply.status >= 500) return judgement(Outcome::agent_error, with_status());
  return judgement(Outcome::wrong_reply, fmt::format("unexpected status {}", reply.status));
}

}  // namespace karmad
