#include "balancer/search/scatter_gather.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/plan/plan.hpp"
#include "agent/json/json_text.hpp"
#include "balancer/core/refusal.hpp"

namespace karmad {
namespace {

/// Of an error of a mirror that is passed on. What is longer repeats the request, or is no error.
constexpr std::size_t kLongestError = 8 << 10;

void append_reason(std::string& text, const ShardDriver& part) {
  if (const auto& refused = part.result().refused) {
    text += refused->reason;
  } else {
    part.append_failed(text);
  }
}

/// The table and the number of the shard, of a list those of the first table that has it.
void append_shard(std::string& text, const Table& table, const ShardDriver& part) {
  const auto* of = &table;
  auto at = part.shard_at();
  for (const auto* const member : table.members) {
    const auto found = std::ranges::find(member->shards, table.shards[part.shard_at()]);
    if (found == member->shards.end()) continue;
    of = member;
    at = static_cast<std::size_t>(found - member->shards.begin());
    break;
  }
  fmt::format_to(std::back_inserter(text), "table {}: shard {}: ", of->name, at + 1);
}

}  // namespace

void ShardParts::make(Query& query, const ShardQuery& shard_query, For each) {
  only_.reset();
  several_.clear();
  const auto& shards = shard_query.table.shards;
  const auto parts_of = [&](std::size_t shard) -> std::size_t {
    if (shard_query.plan != nullptr && !shard_query.plan->asks(shard)) return 0;
    return each == For::mirror ? shards[shard]->mirrors->size() : 1;
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) count += parts_of(i);
  if (count == 1) {
    parts_ = {&only_, 1};
  } else {
    several_ = std::vector<ShardPart>(count);
    parts_ = several_;
  }
  auto part = parts_.begin();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto number = static_cast<unsigned>(i + 1);
    for (std::size_t mirror = 0; mirror < parts_of(i); ++mirror, ++part)
      part->emplace(query, shard_query, *shards[i], number,
                    each == For::mirror ? std::optional(mirror) : std::nullopt);
  }
}

ShardDriver* ShardParts::denying() {
  return first([](ShardDriver& part) {
    const auto status = part.reply().status;
    return is_refusing(part) && (status == 401 || status == 403);
  });
}

const Refusal* ShardParts::whole_refusal(bool may_be_partial, bool may_lack_all) const {
  const Refusal* found = nullptr;
  std::size_t refused = 0;
  for (const auto& part : parts_) {
    const auto& why = part->result().refused;
    if (!why) continue;
    ++refused;
    if (found == nullptr || why->status < found->status) found = &*why;
  }
  if ((refused == parts_.size() && !may_lack_all) || found == nullptr) return found;
  const bool missing = found->overloaded && may_be_partial;
  return found->status < 500 && !missing ? found : nullptr;
}

const Refusal* ShardParts::refusal() const {
  for (const auto& part : parts_)
    if (const auto& refused = part->result().refused) return &*refused;
  return nullptr;
}

const ShardDriver* ShardParts::overloaded() const {
  const ShardDriver* longest = nullptr;
  for (const auto& part : parts_) {
    const auto& result = part->result();
    const auto& hint = result.hint;
    const bool refuses =
        result.refused ? result.refused->overloaded
                       : result.outcome == Outcome::agent_error && hint.overload && hint.retryable;
    if (refuses && (longest == nullptr || longest->result().hint.delay < hint.delay))
      longest = &*part;
  }
  return longest;
}

std::string ShardParts::reasons(const Table& table, bool may_be_changed) const {
  std::string text;
  for (const auto& part : parts_) {
    if (part->answered()) continue;
    if (!text.empty()) text += ";\n";
    append_shard(text, table, *part);
    append_reason(text, *part);
  }
  constexpr std::string_view kDoubt = "; the request may have taken effect";
  if (may_be_changed && !text.ends_with(kDoubt)) text += kDoubt;
  return text;
}

std::vector<ChangeReply> ShardParts::change_replies() {
  std::vector<ChangeReply> replies;
  replies.reserve(parts_.size());
  for (auto& part : parts_) {
    auto& reply = replies.emplace_back();
    reply.shard = part->shard_at();
    reply.done = part->answered();
    reply.mirror = part->shown_mirror();
    if (tells_of_change(*part)) {
      reply.status = part->reply().status;
      reply.body = part->reply().body();
    }
    if (reply.done || !reply.body.empty()) continue;
    reply.status = part->result().timed_out ? 504 : 503;
    if (part->result().in_doubt) reply.reason = "may have taken effect: ";
    append_reason(reply.reason, *part);
  }
  return replies;
}

// ---- UnmergedAnswers

void UnmergedAnswers::pass_on(ShardDriver& part, Answer& answer) {
  if (!part.answered())
    query_.worker.counters.add(part.outcome() == Outcome::client_mistake ? Count::client_mistakes
                                                                         : Count::queries_failed);
  answer.status = part.reply().status;
  if (const auto* const plan = shard_query_.plan)
    answer.status = refusal_status(*plan, answer.status, part.reply().body());
  answer.reply = std::move(part.reply());
  answer.rest = std::move(part.rest());
  if (!answer.rest) write_for_client(*answer.reply, answer.status);
  answer.content_type = answer.reply->content_type();
  answer.pass_fields = shard_query_.table.dialect.capabilities.passes_fields;
}

/// Replaces names of the mirror in the reply by those that the client used, and in an error what
/// is not UTF-8: a server may cut its text within a character.
void UnmergedAnswers::write_for_client(Reply& reply, int status) {
  std::optional<std::string> body;
  const auto shards = shard_query_.table.shards.size();
  const auto failed = internal_error_in(
      [&] { body = body_for_client(query_.request.parsed, status, reply.body(), shards); });
  if (failed) count_refused(query_.worker, failed->status, failed->reason);
  if (status >= 400 && shard_query_.table.dialect.capabilities.understands_errors) {
    body = clean_utf8(body ? std::string_view(*body) : reply.body());
    if (body->size() > kLongestError) {
      const auto reason = reason_in_answer(*body);
      body->clear();
      shard_query_.dialect.refuse(status, shortened_utf8(reason, kLongestError), *body);
    }
  }
  if (!body) return;
  reply.bytes.replace(reply.head_size, std::string::npos, *body);
  reply.memory.charge(query_.resources.memory, reply.bytes.capacity());
}

void UnmergedAnswers::answer_of_only_shard(Answer& answer) {
  auto& part = **parts_.begin();
  const auto& result = part.result();
  // The client of an unknown server gets that server's answer, also with status 503.
  const bool shows_error =
      result.status_override == 0 || result.status_override == part.reply().status;
  if (part.answered() || (!shard_query_.table.dialect.capabilities.understands_errors &&
                          part.outcome() == Outcome::agent_error && shows_error)) {
    if (part.answered()) query_.record.last_insert_id = query_.request.parsed.last_insert_id;
    return pass_on(part, answer);
  }
  answer = no_answer();
}

Answer UnmergedAnswers::no_answer() {
  const int status = parts_.any_timed_out() ? 504 : parts_.any_finally_overloaded() ? 503 : 502;
  if (may_be_changed()) return failed(status, reasons());
  if (const auto* const part = parts_.overloaded()) return overloaded(*part, reasons());
  for (const auto& part : parts_)
    if (!part->answered() && part->result().status_override != 0)
      return failed(part->result().status_override, reasons());
  return failed(status, reasons());
}

Answer UnmergedAnswers::incomplete(std::ptrdiff_t missing) {
  const auto* const plan = shard_query_.plan;
  const auto reason =
      fmt::format("{} and {} of {} shards gave no answer: {}",
                  plan == nullptr || plan->may_be_partial ? "partial results are denied"
                                                          : "the request needs all shards",
                  missing, parts_.size(), reasons());
  if (const auto* const part = parts_.overloaded()) return overloaded(*part, reason);
  if (parts_.any_timed_out()) return failed(504, reason);
  if (const auto* const refused = parts_.refusal()) {
    query_.worker.counters.add(Count::queries_failed);
    auto refusal = *refused;
    refusal.reason = reason;
    return answer_with(refusal);
  }
  return failed(503, reason);
}

Answer UnmergedAnswers::overloaded(const ShardDriver& part, std::string_view reason) {
  auto answer = failed(429, reason);
  const auto delay = part.result().hint.delay.value_or(Micros(1s));
  answer.error_labels = kRetryableOverload;
  answer.retry_after = static_cast<unsigned>(
      std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(delay).count()));
  return answer;
}

Answer UnmergedAnswers::failed(int status, std::string_view reason) {
  query_.worker.counters.add(Count::queries_failed);
  auto answer = error(status, reason);
  if (parts_.any_finally_overloaded()) answer.error_labels = kFinalOverload;
  return answer;
}

Answer UnmergedAnswers::refused(const ClientError& mistake) {
  const bool is_query = parts_.size() > 0 || query_.former;
  if (is_query) query_.worker.counters.add(Count::queries_failed);
  // In columns and rows the search server has 500 for mistakes of clients, too.
  if (!is_query || mistake.is_defect)
    count_refused(query_.worker, mistake.is_defect ? mistake.status : 400, mistake.reason);
  return error(mistake.status, mistake.reason);
}

Answer UnmergedAnswers::error(int status, std::string_view reason) {
  return refusal_in(shard_query_.table.dialect, shard_query_.dialect, status, reason);
}

}  // namespace karmad
