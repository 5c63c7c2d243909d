#include "agent/dialect/replies/judge.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

#include "agent/dialect/replies/search_reply.hpp"
#include "agent/json/equals_literal.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

/// Lower-case phrases for trouble of a server, or of one behind it. Checked first, so that in a
/// joined message for several tables trouble outweighs a mistake in the query.
constexpr std::string_view kTrouble[] = {
    "unknown local table",  // karmad chose that name
    "no such table",        // the same in other releases
    "unknown table",
    "no enabled tables",
    "table not found",
    "timed out",  // query or connect, to a server behind it
    "retries limit exceeded",
    "connection refused",
    "receiving failure",
    "sending failure",
    "failed to read",
    "failed to receive http request",  // it shuts down while the request arrives, and sends 400
    "got sigterm",
    "out of memory",
    "too many requests",
    "maxed out",
    "server shutdown",
    "internal error",
};

/// Lower-case phrases for mistakes in the query.
constexpr std::string_view kMistakes[] = {
    "syntax error",    // P01: SQL, P08: full-text
    "query error",     // full-text: operators, length, wildcards
    "unknown column",  // filter, sort or select
    "unknown option",
    "unknown sort",
    "unknown ranker",
    "unknown function",
    "unknown field",
    "no such filter attribute",
    "sort-by attribute",  // … not found
    "sort-by:",
    "no sort order defined",
    "group-by attribute",
    "group by attribute",
    "order by mva is undefined",
    "can not aggregate non-scalar attribute",
    "in multiple group-by",  // MVA values can't be used …
    "can not use having",
    "is deprecated",     // an option
    "unable to decode",  // a scroll token
    "ambiguous attribute type",
    "must be unique",  // alias '…' …
    "re2: error parsing",
    "requested knn search attribute",  // … not found
    "requires a vector of",            // KNN index 'x' … 4 entries
    "no field",                        // … found in schema
    "no such field",
    "not found in schema",
    "is not supported",
    "not supported",
    "unsupported",
    "only select queries",
    "property missing",
    "property value should be",
    "property should be",
    "unable to parse",
    "parse error",
    "invalid",
    "out of bounds",
    "must be greater than",
    "cannot be used",
    "query is too complex",
    "query missing",
    "suggests work only for keywords dictionary",  // CALL SUGGEST
    "without buddy",  // 501: /cli, and the mirror has no helper process for it
};

/// Bytes of an error that are searched; errors are short.
constexpr std::size_t kLongestError = 16 << 10;
/// Bytes of a request that are searched, so that many phrases take less than some ms.
constexpr std::size_t kLongestRequest = 32 << 10;

/// The byte encoded at the beginning of `text`, and the length of its escape: of a URL (`%20`, `+`)
/// or of JSON (a backslash, or `u0020` after one). Non-ASCII becomes 0.
struct Unescaped {
  char byte;
  std::size_t length;
};
Unescaped unescaped(std::string_view text) {
  const auto code = [&](std::size_t from, std::size_t digits) -> std::optional<Unescaped> {
    if (text.size() < from + digits) return std::nullopt;
    unsigned value = 0;
    const auto* const end = text.data() + from + digits;
    if (std::from_chars(text.data() + from, end, value, 16).ptr != end) return std::nullopt;
    return Unescaped{value < 0x80 ? static_cast<char>(value) : '\0', from + digits};
  };
  if (text[0] == '+') return {' ', 1};
  if (text[0] == '%') return code(1, 2).value_or(Unescaped{'%', 1});
  if (text[0] != '\\' || text.size() < 2) return {text[0], 1};
  if (text[1] == 'u') return code(2, 4).value_or(Unescaped{'u', 2});
  const bool space = text[1] == 'n' || text[1] == 't' || text[1] == 'r';
  return {space ? ' ' : text[1], 2};
}

bool contains_unescaped(std::string_view text, std::string_view lower_case) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const auto next = unescaped(text);
    plain.push_back(next.byte);
    text.remove_prefix(next.length);
  }
  return contains_folded(plain, lower_case);
}

/// Whether the request contains this phrase; `if_long` if it is too long to search.
bool wrote(const ClientRequest* request, std::string_view phrase, bool if_long) {
  if (request == nullptr) return false;
  if (request->body.size() + request->query.size() + request->path.size() > kLongestRequest)
    return if_long;
  const std::array parts{request->body, request->query, request->path};
  return std::ranges::any_of(parts, [&](std::string_view part) {
    return contains_folded(part, phrase) || contains_unescaped(part, phrase);
  });
}

/// A prefix such as `P01:`, by which the server's parsers number messages. Empty: there is none.
std::string parser_number(std::string_view error) {
  for (std::size_t i = 0; i + 3 < error.size(); ++i)
    if (error[i] == 'P' && is_digit(error[i + 1]) && is_digit(error[i + 2]) && error[i + 3] == ':')
      return {'p', error[i + 1], error[i + 2], ':'};
  return {};
}

}  // namespace

bool contains_folded(std::string_view text, std::string_view lower_case) {
  const auto same = [](char a, char b) { return lower(a) == b; };
  return !std::ranges::search(text, lower_case, same).empty();
}

Blame blame_of(std::string_view error, const ClientRequest* request) {
  error = error.substr(0, kLongestError);
  // In a long request quotations cannot be found: a phrase alone does not blame its mirrors.
  for (const auto phrase : kTrouble)
    if (contains_folded(error, phrase) && !wrote(request, phrase, /*if_long=*/true))
      return Blame::agent;
  const auto number = parser_number(error);
  if (!number.empty() && !wrote(request, number, /*if_long=*/false)) return Blame::client;
  for (const auto phrase : kMistakes)
    if (contains_folded(error, phrase) && !wrote(request, phrase, /*if_long=*/false))
      return Blame::client;
  return Blame::unclear;
}

namespace {

constexpr std::size_t kLongestMessage = 1024;

bool says_json(std::string_view content_type) {
  return content_type.empty() || starts_with_literal(content_type, "application/json") ||
         contains_folded(content_type, "json");
}

/// The required last byte for the body's first byte; 0: it is not JSON.
char json_end(std::string_view body) {
  const auto* const first = std::ranges::find_if_not(body, is_space);
  if (first == body.end()) return 0;
  return *first == '{' ? '}' : *first == '[' ? ']' : '\0';
}

/// Checks the first and last byte only; enough for answers that are passed on.
bool looks_like_json(std::string_view body) {
  const auto end = json_end(body);
  return end != 0 && body[body.find_last_not_of(kJsonSpace)] == end;
}

}  // namespace

Judgement judge_error(std::string_view error, const ClientRequest* request) {
  const auto blame = blame_of(error, request);
  auto judged =
      judgement(blame == Blame::client ? Outcome::client_mistake : Outcome::agent_error, error);
  if (blame == Blame::unclear) judged.complaint = judged.message;
  return judged;
}

void append_error_body(std::string& to, std::string_view reason) {
  JsonLine(to).add(R"({"error":)", Quoted(reason), '}');
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
      return judgement(Outcome::wrong_reply, reply.body.starts_with("\x1f\x8b")
                                                 ? "the answer is compressed (gzip), not JSON"
                                                 : "the answer is not JSON");
    return {.outcome = Outcome::answered, .ends_in = json_end(reply.body)};
  }
  const bool json = says_json(reply.content_type) && looks_like_json(reply.body);
  const auto error = json ? agent_error_text(reply.body) : std::string();
  const auto with_status = [&] {
    return fmt::format("status {}{}{}", reply.status, error.empty() ? "" : ": ", error);
  };
  if (reply.status == 408 || reply.status == 429)
    return judgement(Outcome::agent_error, with_status());
  // The agent works. Whatever words it has for that, the client sent the wrong credentials or none.
  if (reply.status == 401 || reply.status == 403)
    return judgement(Outcome::client_mistake, error.empty() ? with_status() : error);
  if (reply.status >= 400 && reply.status < 500)
    return judgement(blame_of(error, reply.request) == Blame::agent ? Outcome::agent_error
                                                                    : Outcome::client_mistake,
                     error.empty() ? with_status() : error);
  if ((reply.status == 500 || reply.status == 501) && json)
    return error.empty() ? judgement(Outcome::agent_error, with_status() + " without an error text")
                         : judge_error(error, reply.request);
  if (reply.status >= 500) return judgement(Outcome::agent_error, with_status());
  return judgement(Outcome::wrong_reply, fmt::format("unexpected status {}", reply.status));
}

namespace {

/// The top-level members of an answer. The views are into it.
struct Said {
  bool errors = false;  ///< a bulk in which some actions failed
  bool warning = false;
  int status = 0;
  std::string_view error;  ///< inside of the JSON string
};

/// The text of an error: its `reason`, or, for a bulk's actions and older releases, its `type`.
std::string_view text_of_error(std::string_view error) {
  const auto reason = reason_in(error);
  if (!reason.empty() || !is_object(error)) return reason;
  const auto type = last_member(error, "type");
  return is_string(type) ? without_quotes(type) : std::string_view();
}

/// Reads these members; parts that cannot be read are ignored.
Said said_in(std::string_view body) {
  Said said;
  visit_members(body, [&](std::string_view key, std::string_view value) {
    if (key == "errors") said.errors = value == "true";
    if (key == "warning") said.warning = true;
    if (key == "error") said.error = text_of_error(value);
    if (key == "status") std::from_chars(value.data(), value.data() + value.size(), said.status);
  });
  return said;
}

Judgement judge_failure(const AgentReply& reply, const Said& said, Judgement judged) {
  // 408, 429 and statuses of gateways are about the agent's state, for any body.
  if (reply.status != 200 && reply.status != 500) return judged;
  const auto text = json_unescaped(said.error);
  if (said.errors)
    return judgement(Outcome::client_mistake, text.empty() ? "actions of the bulk failed" : text);
  // Older releases send a conflict as 500 with its own status in the body.
  if (said.status >= 400 && said.status < 500)
    return judge_reply({said.status, reply.content_type, reply.body, reply.whole, reply.request});
  if (is_update_conflict(text)) return judgement(Outcome::client_mistake, text);
  // Without an error text it does not tell what was done: the update may have taken effect.
  if (text.empty()) return judgement(Outcome::wrong_reply, judged.message);
  return judge_error(text, reply.request);
}

}  // namespace

bool is_update_conflict(std::string_view error) {
  constexpr std::string_view phrases[] = {
      "duplicate id",
      "does not support",    // … INSERT: a distributed or a plain table
      "specified twice",     // a column
      "can not be updated",  // an attribute of such a type
      "attribute '",         // … 'x' not found
      "column count does not match",
      "value specified for a",  // MVA … non-MVA column, or the other way round
      "string expected",        // a number for a text
      "requires a vector of",
  };
  return std::ranges::any_of(phrases,
                             [&](auto phrase) { return error.find(phrase) != error.npos; });
}

Judgement judge_update(const AgentReply& reply) {
  const bool done = reply.status == 200 || reply.status == 201;  // created
  auto as_done = reply;
  if (done) as_done.status = 200;
  auto judged = judge_reply(as_done);
  if (judged.outcome != Outcome::answered && judged.outcome != Outcome::agent_error) return judged;
  const auto said = said_in(reply.body);
  if (judged.outcome == Outcome::agent_error || (done && !said.errors && !said.error.empty()))
    return judge_failure(as_done, said, std::move(judged));
  if (said.warning) judged.outcome = Outcome::answered_with_warning;
  return judged;
}

}  // namespace karmad
