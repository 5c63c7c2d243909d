#include "agent/dialect/manticore_elastic/elastic_bulk_answer.hpp"

#include <algorithm>
#include <optional>

#include "agent/dialect/changes/change_replies.hpp"
#include "agent/dialect/manticore_update/bulk_answer.hpp"
#include "agent/dialect/manticore_update/update_answer.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

constexpr auto kAllLines = std::string_view::npos;
/// Most bytes of a reason, except in the first item of a shard that fails: each of a million lines
/// can have one.
constexpr std::size_t kLongestRepeated = 100;

/// What a mirror said that has not committed all of its lines.
struct BulkFailure {
  std::size_t committed = 0;  ///< lines up to this one, from 1
  int status = 400;
  std::string reason{};           ///< for its first line in the answer …
  std::string repeated_reason{};  ///< … and for the others
};

/// How far the mirrors of a shard carried its lines out.
struct ShardProgress {
  std::vector<BulkFailure> failures;
  std::size_t number = 0;  ///< of the last line visited
  std::optional<std::uint32_t> group;

  /// Why the line, the next one of this shard, is not committed by all mirrors; null: it is.
  BulkFailure* next(const BulkLine& line) {
    number += group && *group != line.group ? 2 : 1;
    group = line.group;
    const auto found = std::ranges::find_if(
        failures, [&](const BulkFailure& failure) { return number > failure.committed; });
    return found == failures.end() ? nullptr : &*found;
  }
};

/// The number of the last line of each shard's own bulk; of shards behind the last reply none.
std::vector<std::size_t> last_lines_of(const BulkSplit& split, std::size_t shards) {
  std::vector<std::size_t> last(shards);
  for (std::size_t i = 0; i < shards; ++i)
    visit_shard_lines(split, i, [&](const BulkLine&, std::size_t number) { last[i] = number; });
  return last;
}

std::vector<ShardProgress> shards_progress(std::span<const ChangeReply> replies,
                                           const BulkSplit& split) {
  const auto last_lines = last_lines_of(split, replies.empty() ? 0 : replies.back().shard + 1);
  std::vector<ShardProgress> all(last_lines.size());
  for (const auto& reply : replies) {
    const auto answer = read_bulk_answer(reply.body);
    auto committed = answer ? answer->committed() : 0;
    if (reply.done && committed == kAllLines) continue;
    if (committed >= last_lines[reply.shard]) committed = 0;  // an error, but not of which line
    auto reason = failure_text(reply);
    std::string repeated(shortened_utf8(reason, kLongestRepeated));
    all[reply.shard].failures.push_back({.committed = committed,
                                         .status = reply.body.empty() ? 503 : 400,
                                         .reason = std::move(reason),
                                         .repeated_reason = std::move(repeated)});
  }
  return all;
}

void add_bulk_success(JsonLine& out, std::string_view action) {
  out.add(R"(,"_version":1,"result":")");
  const bool makes = action == "index" || action == "create";
  out.add(std::string_view(makes ? "created" : action == "update" ? "updated" : "deleted"));
  out.add(R"(","_shards":{"total":1,"successful":1,"failed":0},"_seq_no":0,"_primary_term":1,)");
  out.add(std::string_view(makes ? R"("status":201}})" : R"("status":200}})"));
}

void add_bulk_failure(JsonLine& out, BulkFailure& failure) {
  out.add(R"(,"error":{"type":)");
  out.add(std::string_view(failure.status == 400 ? R"("mapper_parsing_exception")"
                                                 : R"("shard_failed")"));
  out.add(R"(,"reason":)");
  out.add_quoted(failure.reason);
  out.add(R"(},"status":)");
  out.add_number(failure.status);
  out.add("}}");
  failure.reason = failure.repeated_reason;
}

/// The beginning of the item for a line, with its id.
void add_item_head(JsonLine& out, const ElasticBulkItems& items, std::string_view body,
                   const BulkSplit& split, std::size_t at) {
  out.add(R"({")");
  out.add(std::string_view(items.actions[at]));
  out.add(R"(":{"_index":)");
  out.add_quoted(items.table);
  out.add(R"(,"_type":"doc","_id":)");
  const auto& line = split.lines[at];
  if (line.id.end == 0)
    out.add("null");
  else
    out.add_quoted(line.id_text(body));
}

}  // namespace

std::size_t ElasticBulkItems::item_size() const {
  constexpr std::size_t kWithoutTable = 200;
  return kWithoutTable + table.size();
}

int merge_elastic_bulk(const ElasticBulkItems& items, std::string_view body, const BulkSplit& split,
                       std::span<const ChangeReply> given, std::string& out) {
  if (const auto* refusal = bulk_refusal(given)) return pass_refusal_on(out, *refusal, items.table);
  auto shards = shards_progress(checked(given, is_bulk_answer), split);
  const bool errors =
      std::ranges::any_of(shards, [](const auto& shard) { return !shard.failures.empty(); });
  JsonLine line(out);
  line.add(R"({"took":0,"errors":)");
  line.add(std::string_view(errors ? "true" : "false"));
  line.add(R"(,"items":[)");
  for (std::size_t i = 0; i < split.lines.size(); ++i) {
    BulkFailure* failed = nullptr;
    for (std::size_t s = 0; s < shards.size(); ++s) {
      if (!split.lines[i].goes_to(s)) continue;
      if (auto* const failure = shards[s].next(split.lines[i])) failed = failure;
    }
    if (i != 0) line.add(',');
    add_item_head(line, items, body, split, i);
    failed == nullptr ? add_bulk_success(line, items.actions[i]) : add_bulk_failure(line, *failed);
  }
  line.add("]}");
  return errors ? 500 : 200;
}

}  // namespace karmad
