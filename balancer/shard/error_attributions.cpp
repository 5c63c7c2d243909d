#include "balancer/shard/error_attributions.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "balancer/core/query.hpp"
#include "balancer/selection/shard_query.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

/// Most bytes of a text shown in the log.
constexpr std::size_t kShown = 200;

bool is_word(char c) {
  return is_digit(c) || is_letter(c) || c == '_';
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

const Mirror& mirror_of(const ErrorAttribution& attribution) {
  return (*attribution.shard->mirrors)[attribution.mirror];
}

/// The attribution of the mirror; null if there is none.
const ErrorAttribution* attribution_of(const Query& query, const Shard& shard, std::size_t mirror) {
  for (const auto& other : query.record.attributions)
    if (other.shard == &shard && other.mirror == mirror) return &other;
  return nullptr;
}

/// The facts about the error of that mirror, if it stands alone.
ErrorFacts facts_of(const Query& query, const Shard& shard, std::size_t mirror, TimePoint now) {
  const auto& protection = *shard.protection;
  return {.proven = protection.standings.of(mirror).proven() ? 1u : 0u,
          .valid_query = protection.answered.contains(fingerprint(query.request), now),
          .spare_budget = protection.budget.is_half_full()};
}

TextHistory history_of(const Shard& shard, std::string_view text, TimePoint now) {
  const auto& protection = *shard.protection;
  return protection.error_texts.history(text, protection.answered.count(), now);
}

/// Records the attribution for its mirror.
void record_attribution(Query& query, const ShardQuery& shard_query, ErrorAttribution& attribution,
                        Outcome as, TimePoint now) {
  if (attribution.recorded) return;
  auto& protection = *attribution.shard->protection;
  const auto& set = *attribution.shard->mirrors;
  attribution.end.outcome = as;
  protection.standings.ended(attribution.mirror, as);
  if (protection.breaker)
    protection.breaker->ended(
        attribution.mirror, shard_query.parsed.read ? Operation::read : Operation::write, as, now);
  record(set[attribution.mirror], set.failure_floor(), query.worker.loop.index, now,
         attribution.end);
}

void log_text(const ShardQuery& shard_query, const Shard& shard, std::string_view text, Cause cause,
              TimePoint now) {
  const auto left_out = shard.protection->error_texts.line_due(text, cause, now);
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
                      std::string_view text, TimePoint now) {
  query.worker.counters.add(Count::mistakes_agreed);
  shard.protection->error_texts.agreed(text);
  log_text(shard_query, shard, text, Cause::query, now);
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
                     const AttemptResult& result, TimePoint now) {
  const auto& asked = (*shard.mirrors)[mirror];
  auto text = comparable(result.reply.status, said, asked.tables, asked.agent->name);
  auto& protection = *shard.protection;
  auto& texts = protection.error_texts;
  const auto stand = protection.standings.groups();
  auto facts = facts_of(query, shard, mirror, now);
  facts.proven_left = !(untried & stand.proven).empty();
  facts.unknown_left = !(untried & stand.unknown).empty();
  facts.one_shard = shard_query.plan == nullptr;
  for (const auto& other : query.record.attributions) {
    if (other.shard != &shard || other.text != text || mirror_of(other).agent == asked.agent)
      continue;
    ++facts.alike;
    facts.proven += stand.proven.contains(other.mirror) ? 1 : 0;
  }
  const auto history =
      texts.got(text, fingerprint(query.request), protection.answered.count(), now);
  const auto cause = cause_of(facts, history);
  if (cause == Cause::query) {
    accept_agreement(query, shard_query, shard, text, now);
    confirm_errors(query, shard_query, &shard, Outcome::client_mistake, now);
    return cause;
  }
  if (facts.valid_query) {
    texts.refuted(text);
  } else if (facts.alike > 1 && !facts.proven_left && !facts.unknown_left) {
    texts.agreed(text);
  }
  if (history.is_trouble_of_set()) log_text(shard_query, shard, text, Cause::mirror, now);
  AttemptResult kept;
  kept.outcome = result.outcome;
  kept.why = result.why;
  kept.took = result.took;
  kept.ended = result.ended;
  kept.connect = result.connect;
  kept.unasked = result.unasked;
  kept.sent = result.sent;
  query.record.attributions.push_back(
      {&shard, mirror, std::move(text), std::move(kept), cause == Cause::mirror});
  return cause;
}

bool is_mistake_in_all_shards(Query& query, const ShardQuery& shard_query, const Shard& shard,
                              std::size_t mirror, TimePoint now) {
  const auto* said = attribution_of(query, shard, mirror);
  if (said == nullptr) return false;
  auto facts = facts_of(query, shard, mirror, now);
  facts.spare_budget = false;
  for (const auto& other : query.record.attributions)
    if (other.text == said->text && mirror_of(other).agent != mirror_of(*said).agent) ++facts.alike;
  if (cause_of(facts, history_of(shard, said->text, now)) != Cause::query) return false;
  accept_agreement(query, shard_query, shard, said->text, now);
  confirm_errors(query, shard_query, nullptr, Outcome::client_mistake, now);
  return true;
}

void confirm_errors(Query& query, const ShardQuery& shard_query, const Shard* shard, Outcome as,
                    TimePoint now) {
  std::erase_if(query.record.attributions, [&](ErrorAttribution& attribution) {
    if (shard != nullptr && attribution.shard != shard) return false;
    record_attribution(query, shard_query, attribution, as, now);
    return true;
  });
}

void confirm_remaining_errors(Query& query, const ShardQuery& shard_query, TimePoint now) {
  for (auto& attribution : query.record.attributions) {
    auto facts = facts_of(query, *attribution.shard, attribution.mirror, now);
    facts.spare_budget = false;
    const auto cause = cause_of(facts, history_of(*attribution.shard, attribution.text, now));
    record_attribution(query, shard_query, attribution,
                       cause == Cause::query ? Outcome::client_mistake : Outcome::agent_error, now);
  }
  query.record.attributions.clear();
}

void discard_errors(Query& query, const ShardQuery& shard_query, const Shard& shard,
                    TimePoint now) {
  for (const auto& attribution : query.record.attributions)
    if (attribution.shard == &shard) shard.protection->error_texts.refuted(attribution.text);
  confirm_errors(query, shard_query, &shard, Outcome::agent_error, now);
}

}  // namespace karmad
