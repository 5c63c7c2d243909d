#include "balancer/shard/complaints.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "balancer/core/fingerprint.hpp"
#include "balancer/selection/shard_query.hpp"

namespace karmad {
namespace {

/// Most bytes of a text shown in the log.
constexpr std::size_t kShown = 200;

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void replace_word(std::string& text, std::string_view word, std::string_view by) {
  if (word.empty()) return;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at)) {
    const auto result = at + word.size();
    const bool whole =
        (at == 0 || !is_word(text[at - 1])) && (result == text.size() || !is_word(text[result]));
    if (whole) text.replace(at, word.size(), by);
    at += whole ? by.size() : word.size();
  }
}

const Mirror& mirror_of(const Complaint& complaint) {
  return (*complaint.shard->mirrors)[complaint.mirror];
}

/// The complaint of the mirror; null if there is none.
const Complaint* complaint_of(const Query& query, const Shard& shard, std::size_t mirror) {
  const auto found = std::ranges::find_if(query.record.complaints, [&](const Complaint& other) {
    return other.shard == &shard && other.mirror == mirror;
  });
  return found == query.record.complaints.end() ? nullptr : &*found;
}

/// The facts about the error of that mirror, if it stands alone.
ErrorFacts facts_of(const Query& query, const Shard& shard, std::size_t mirror) {
  const auto& protection = *shard.protection;
  return {.proven = protection.standings.of(mirror).proven() ? 1u : 0u,
          .valid_query = protection.answered.contains(fingerprint(query.request), Loop::now()),
          .spare_budget = protection.budget.is_half_full()};
}

TextHistory history_of(const Shard& shard, std::string_view text) {
  const auto& protection = *shard.protection;
  return protection.error_texts.history(text, protection.answered.count(), Loop::now());
}

/// Records the complaint for its mirror.
void record_complaint(Query& query, const ShardQuery& shard_query, Complaint& complaint,
                      Outcome as) {
  if (complaint.recorded) return;
  auto& protection = *complaint.shard->protection;
  const auto& set = *complaint.shard->mirrors;
  complaint.end.outcome = as;
  protection.standings.ended(complaint.mirror, as);
  if (protection.breaker)
    protection.breaker->ended(complaint.mirror,
                              shard_query.parsed.read ? Operation::read : Operation::write, as,
                              Loop::now());
  record(set[complaint.mirror], set.failure_floor(), query.worker.loop.index, Loop::now(),
         complaint.end);
}

void log_text(const ShardQuery& shard_query, const Shard& shard, std::string_view text,
              Cause cause) {
  const auto left_out = shard.protection->error_texts.line_due(text, cause, Loop::now());
  if (!left_out) return;
  spdlog::warn(
      "table {}: {}: {:?}{}", shard_query.table.name,
      cause == Cause::query
          ? "mirrors gave the same error for a query, so it counts as the query's mistake"
          : "many different queries get the same error and few are answered, so it counts as an "
            "error of the mirrors",
      text.substr(0, kShown),
      *left_out == 0 ? "" : fmt::format(" ({} more since the last such message)", *left_out));
}

/// The mirrors agree that the query is at fault.
void accept_agreement(Query& query, const ShardQuery& shard_query, const Shard& shard,
                      std::string_view text) {
  query.worker.counters.add(Count::mistakes_agreed);
  shard.protection->error_texts.agreed(text);
  log_text(shard_query, shard, text, Cause::query);
}

}  // namespace

std::string comparable(int status, std::string_view said, std::span<const std::string> tables,
                       std::string_view agent) {
  std::string text(said);
  replace_word(text, agent, "<agent>");
  for (const auto& table : tables) replace_word(text, table, "<table>");
  return fmt::format("{}: {}", status, text);
}

Cause cause_of_error(Query& query, const ShardQuery& shard_query, const Shard& shard,
                     std::size_t mirror, Candidates untried, std::string_view said,
                     const AttemptResult& result) {
  const auto& asked = (*shard.mirrors)[mirror];
  auto text = comparable(result.reply.status, said, asked.tables, asked.agent->name);
  auto& protection = *shard.protection;
  auto& texts = protection.error_texts;
  const auto stand = protection.standings.groups();
  auto facts = facts_of(query, shard, mirror);
  facts.proven_left = !(untried & stand.proven).empty();
  facts.unknown_left = !(untried & stand.unknown).empty();
  facts.one_shard = shard_query.plan == nullptr;
  for (const auto& other : query.record.complaints) {
    if (other.shard != &shard || other.text != text || mirror_of(other).agent == asked.agent)
      continue;
    ++facts.alike;
    facts.proven += stand.proven.contains(other.mirror) ? 1 : 0;
  }
  const auto history =
      texts.got(text, fingerprint(query.request), protection.answered.count(), Loop::now());
  const auto cause = cause_of(facts, history);
  if (cause == Cause::query) {
    accept_agreement(query, shard_query, shard, text);
    settle_complaints(query, shard_query, &shard, Outcome::client_mistake);
    return cause;
  }
  if (facts.valid_query) {
    texts.refuted(text);
  } else if (facts.alike > 1 && !facts.proven_left && !facts.unknown_left) {
    texts.agreed(text);
  }
  if (history.is_trouble_of_set()) log_text(shard_query, shard, text, Cause::mirror);
  AttemptResult kept;
  kept.outcome = result.outcome;
  kept.why = result.why;
  kept.took = result.took;
  kept.ended = result.ended;
  kept.connect = result.connect;
  kept.unasked = result.unasked;
  kept.sent = result.sent;
  query.record.complaints.push_back(
      {&shard, mirror, std::move(text), std::move(kept), cause == Cause::mirror});
  return cause;
}

bool is_mistake_in_all_shards(Query& query, const ShardQuery& shard_query, const Shard& shard,
                              std::size_t mirror) {
  const auto* said = complaint_of(query, shard, mirror);
  if (said == nullptr) return false;
  auto facts = facts_of(query, shard, mirror);
  facts.spare_budget = false;
  for (const auto& other : query.record.complaints)
    if (other.text == said->text && mirror_of(other).agent != mirror_of(*said).agent) ++facts.alike;
  if (cause_of(facts, history_of(shard, said->text)) != Cause::query) return false;
  accept_agreement(query, shard_query, shard, said->text);
  settle_complaints(query, shard_query, nullptr, Outcome::client_mistake);
  return true;
}

void settle_complaints(Query& query, const ShardQuery& shard_query, const Shard* shard,
                       Outcome as) {
  std::erase_if(query.record.complaints, [&](Complaint& complaint) {
    if (shard != nullptr && complaint.shard != shard) return false;
    record_complaint(query, shard_query, complaint, as);
    return true;
  });
}

void give_up_complaints(Query& query, const ShardQuery& shard_query) {
  for (auto& complaint : query.record.complaints) {
    auto facts = facts_of(query, *complaint.shard, complaint.mirror);
    facts.spare_budget = false;
    const auto cause = cause_of(facts, history_of(*complaint.shard, complaint.text));
    record_complaint(query, shard_query, complaint,
                     cause == Cause::query ? Outcome::client_mistake : Outcome::agent_error);
  }
  query.record.complaints.clear();
}

void refute_complaints(Query& query, const ShardQuery& shard_query, const Shard& shard) {
  for (const auto& complaint : query.record.complaints)
    if (complaint.shard == &shard) shard.protection->error_texts.refuted(complaint.text);
  settle_complaints(query, shard_query, &shard, Outcome::agent_error);
}

}  // namespace karmad
