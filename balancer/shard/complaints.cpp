#include "balancer/shard/complaints.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "balancer/rules/agreed_errors.hpp"
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

/// Includes the table, so that texts of different tables are remembered separately.
std::string remembered_as(const ShardQuery& shard_query, std::string_view text) {
  return fmt::format("{}\n{}", shard_query.table.name, text);
}

const Mirror& mirror_of(const Complaint& complaint) {
  return (*complaint.shard->mirrors)[complaint.mirror];
}

/// The complaint of the mirror; null if there is none.
const Complaint* complaint_of(const Query& query, const Shard& shard, std::size_t mirror) {
  const auto found = std::ranges::find_if(query.complaints, [&](const Complaint& other) {
    return other.shard == &shard && other.mirror == mirror;
  });
  return found == query.complaints.end() ? nullptr : &*found;
}

/// Whether two mirrors recently gave this error for other queries.
bool is_known(const Query& query, const ShardQuery& shard_query, std::string_view text) {
  return query.worker.process.agreed_errors.knows(remembered_as(shard_query, text), Loop::now());
}

/// Records the complaint for its mirror.
void record_complaint(Query& query, const ShardQuery& shard_query, Complaint& complaint,
                      Outcome as) {
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

void log_agreement(Query& query, const ShardQuery& shard_query, std::string_view text) {
  query.worker.counters.add(Count::mistakes_agreed);
  auto& agreed = query.worker.process.agreed_errors;
  const auto left_out = agreed.agreed(remembered_as(shard_query, text), Loop::now());
  if (left_out)
    spdlog::warn(
        "table {}: mirrors gave the same error for a query, so it counts as the query's mistake: "
        "{:?}{}",
        shard_query.table.name, text.substr(0, kShown),
        *left_out == 0 ? "" : fmt::format(" ({} more since the last such message)", *left_out));
}

}  // namespace

std::string comparable(int status, std::string_view said, std::span<const std::string> tables,
                       std::string_view agent) {
  std::string text(said);
  replace_word(text, agent, "<agent>");
  for (const auto& table : tables) replace_word(text, table, "<table>");
  return fmt::format("{}: {}", status, text);
}

bool is_mistake_of_query(Query& query, const ShardQuery& shard_query, const Shard& shard,
                         std::size_t mirror, Candidates untried, std::string_view said,
                         const AttemptResult& result) {
  const auto& asked = (*shard.mirrors)[mirror];
  const bool own_names = shard_query.table.dialect.capabilities.understands_errors;
  auto text = comparable(result.reply.status, said,
                         own_names ? std::span(asked.tables) : std::span<const std::string>{},
                         own_names ? std::string_view(asked.agent->name) : std::string_view{});
  const auto stand = shard.protection->standings.groups();
  Complaints all{.proven = stand.proven.contains(mirror),
                 .proven_left = !(untried & stand.proven).empty(),
                 .unknown_left = !(untried & stand.unknown).empty(),
                 .known = is_known(query, shard_query, text),
                 .one_shard = shard_query.plan == nullptr};
  for (const auto& other : query.complaints) {
    if (other.shard != &shard || other.text != text || mirror_of(other).agent == asked.agent)
      continue;
    ++all.alike;
    all.proven += stand.proven.contains(other.mirror) ? 1 : 0;
  }
  if (query_is_at_fault(all)) {
    log_agreement(query, shard_query, text);
    settle_complaints(query, shard_query, &shard, Outcome::client_mistake);
    return true;
  }
  AttemptResult kept;
  kept.outcome = result.outcome;
  kept.why = result.why;
  kept.took = result.took;
  kept.ended = result.ended;
  kept.connect = result.connect;
  kept.unasked = result.unasked;
  kept.sent = result.sent;
  query.complaints.push_back({&shard, mirror, std::move(text), std::move(kept)});
  return false;
}

bool is_mistake_in_all_shards(Query& query, const ShardQuery& shard_query, const Shard& shard,
                              std::size_t mirror) {
  const auto* said = complaint_of(query, shard, mirror);
  if (said == nullptr) return false;
  const bool agreed = std::ranges::any_of(query.complaints, [&](const Complaint& other) {
    return other.text == said->text && mirror_of(other).agent != mirror_of(*said).agent;
  });
  if (!agreed && !is_known(query, shard_query, said->text)) return false;
  log_agreement(query, shard_query, said->text);
  settle_complaints(query, shard_query, nullptr, Outcome::client_mistake);
  return true;
}

void settle_complaints(Query& query, const ShardQuery& shard_query, const Shard* shard,
                       Outcome as) {
  std::erase_if(query.complaints, [&](Complaint& complaint) {
    if (shard != nullptr && complaint.shard != shard) return false;
    record_complaint(query, shard_query, complaint, as);
    return true;
  });
}

void give_up_complaints(Query& query, const ShardQuery& shard_query) {
  for (auto& complaint : query.complaints)
    record_complaint(query, shard_query, complaint,
                     is_known(query, shard_query, complaint.text) ? Outcome::client_mistake
                                                                  : Outcome::agent_error);
  query.complaints.clear();
}

void refute_complaints(Query& query, const ShardQuery& shard_query, const Shard& shard) {
  for (const auto& complaint : query.complaints)
    if (complaint.shard == &shard)
      query.worker.process.agreed_errors.refuted(remembered_as(shard_query, complaint.text));
  settle_complaints(query, shard_query, &shard, Outcome::agent_error);
}

}  // namespace karmad
