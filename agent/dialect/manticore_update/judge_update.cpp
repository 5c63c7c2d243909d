#include "agent/dialect/manticore_update/judge_update.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "agent/dialect/manticore_json/judge.hpp"
#include "agent/dialect/manticore_json/reply.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

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
  std::string_view type;
  visit_members(error, [&](std::string_view key, std::string_view value) {
    const bool found = key == "type" && is_string(value);
    if (found) type = without_quotes(value);
    return !found;
  });
  return type;
}

/// Reads these members; parts that cannot be read are ignored.
Said said_in(std::string_view body) {
  Said said;
  visit_members(body, [&](std::string_view key, std::string_view value) {
    if (key == "errors") said.errors = value == "true";
    if (key == "warning") said.warning = true;
    if (key == "error") said.error = text_of_error(value);
    if (key == "status") std::from_chars(value.data(), value.data() + value.size(), said.status);
    return true;
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
      "requires a vector of",
  };
  return std::ranges::any_of(phrases,
                             [&](auto phrase) { return error.find(phrase) != error.npos; });
}

Judgement judge_update(const AgentReply& reply) {
  const bool done = reply.status == 200 || reply.status == 201;  // created
  auto judged = judge_reply(
      {done ? 200 : reply.status, reply.content_type, reply.body, reply.whole, reply.request});
  if (judged.outcome != Outcome::answered && judged.outcome != Outcome::agent_error) return judged;
  const auto said = said_in(reply.body);
  if (judged.outcome == Outcome::agent_error) return judge_failure(reply, said, std::move(judged));
  if (done && !said.errors && !said.error.empty())
    return judge_failure({200, reply.content_type, reply.body, reply.whole, reply.request}, said,
                         std::move(judged));
  if (said.warning) judged.outcome = Outcome::answered_with_warning;
  return judged;
}

}  // namespace karmad
