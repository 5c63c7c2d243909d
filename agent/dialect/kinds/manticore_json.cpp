#include "agent/dialect/kinds/manticore_json.hpp"

#include "agent/dialect/fronts/json/read_request.hpp"
#include "agent/dialect/plan/two_rounds.hpp"
#include "agent/dialect/replies/judge.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// The members before the hits of a passed-on answer: a warning or an error. The rest is not read,
/// and unreadable parts are no error.
struct Preface {
  bool warning = false;
  std::string_view error;  ///< inside of the JSON string
};

Preface preface_of(std::string_view body) {
  Preface preface;
  JsonCursor json(body);
  JsonMembers members(json);
  while (const auto key = members.next(R"("took":)", R"("timed_out":)", R"("hits":)")) {
    if (equals_literal(*key, "hits")) break;
    const auto value = take_value(json);
    if (!value) break;
    preface.warning |= equals_literal(*key, "warning");
    if (equals_literal(*key, "error") && preface.error.empty()) preface.error = reason_in(*value);
  }
  return preface;
}

/// Whether a request that names `table` can be sent to such a mirror unchanged.
bool asks_for(std::span<const std::string> tables, std::string_view table) {
  return tables.size() == 1 && tables.front() == table;
}

/// Adjusts the judgement by the warning or error in the answer.
void look_inside(const AgentReply& reply, bool merged, Judgement& judged) {
  const auto preface = preface_of(reply.body);
  if (!preface.error.empty()) {
    judged = judge_error(json_unescaped(preface.error), reply.request);
    return;
  }
  if (merged) {
    const auto head = read_reply(reply.body, ReadTail::no);
    if (!head) {
      judged =
          judgement(Outcome::wrong_reply, "the answer is not a search result: " + head.error());
      return;
    }
  }
  if (preface.warning) judged.outcome = Outcome::answered_with_warning;
}

}  // namespace

std::expected<Parsed, ClientError> ManticoreJson::parse(const ClientRequest& request) const {
  auto read = read_search_request(request.body, settings_.max_json_depth);
  if (!read) return std::unexpected(std::move(read.error()));
  return parsed_of(*std::move(read));
}

std::expected<Plan, ClientError> ManticoreJson::plan(const ClientRequest& request, const Parsed&,
                                                     ShardLayout layout) const {
  // Parsed a second time: the common case, a query to one shard, should not store these results.
  auto read = read_search_request(request.body, settings_.max_json_depth);
  if (!read) return std::unexpected(std::move(read.error()));
  auto search = plan_search(request.body, *read, layout.shards, settings_);
  if (!search) return std::unexpected(std::move(search.error()));
  Plan plan{.request = request};
  take_search(plan, *std::move(search), *std::move(read), layout, settings_);
  return plan;
}

AgentRequest ManticoreJson::write(const ClientRequest& request, const Parsed& parsed,
                                  std::span<const std::string> tables, std::string& buffer) const {
  return write_request(request, buffer, [&] {
    if (parsed.other_end != 0 || !asks_for(tables, parsed.table))
      append_renamed(buffer, request.body, parsed, [&] { append_json_names(buffer, tables); });
  });
}

Judgement ManticoreJson::judge(const AgentReply& reply, bool merged) const {
  auto judged = judge_reply(reply);
  if (judged.outcome == Outcome::answered) look_inside(reply, merged, judged);
  return judged;
}

void ManticoreJson::refuse(int, std::string_view reason, std::string& out) const {
  append_error_body(out, reason);
}

}  // namespace karmad
