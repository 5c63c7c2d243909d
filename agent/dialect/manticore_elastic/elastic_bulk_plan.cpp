#include "agent/dialect/manticore_elastic/elastic_bulk_plan.hpp"

#include <algorithm>
#include <optional>

#include "agent/dialect/manticore_update/bulk_answer.hpp"
#include "agent/dialect/manticore_update/update_answer.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

constexpr auto kAllLines = std::string_view::npos;
/// Bytes of an item without the name of the table.
constexpr std::size_t kItemSize = 200;
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

std::vector<ShardProgress> shards_progress(std::span<const ChangeReply> replies,
                                           std::span<const std::size_t> last_lines) {
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

}  // namespace

ElasticBulkPlan::ElasticBulkPlan(ElasticBulk bulk, BulkSplit split, std::size_t shards)
    : bulk_(std::move(bulk)), split_(std::move(split)), last_lines_(shards) {
  for (std::size_t i = 0; i < shards; ++i)
    visit_shard_lines(split_, i,
                      [&](const BulkLine&, std::size_t number) { last_lines_[i] = number; });
}

void ElasticBulkPlan::write(std::size_t shard, std::span<const std::string> tables,
                            std::string& body) const {
  append_shard_bulk(body, bulk_.body, split_, shard, tables.front());
}

std::size_t ElasticBulkPlan::merge_changes_size(std::span<const ChangeReply> replies) const {
  return ChangePlan::merge_changes_size(replies) +
         split_.lines.size() * (kItemSize + bulk_.table.size());
}

int ElasticBulkPlan::merge_changes(std::span<const ChangeReply> given, std::string& out) const {
  const auto is_bulk = [](std::string_view body) { return read_bulk_answer(body).has_value(); };
  const bool any_bulk =
      std::ranges::any_of(given, [&](const auto& reply) { return is_bulk(reply.body); });
  if (const auto* refusal = common_refusal(given); refusal != nullptr && !any_bulk) {
    out.append(with_table(refusal->body, bulk_.table).value_or(std::string(refusal->body)));
    return refusal->status;
  }
  auto shards = shards_progress(checked(given, is_bulk), last_lines_);
  const bool errors =
      std::ranges::any_of(shards, [](const auto& shard) { return !shard.failures.empty(); });
  JsonLine line(out);
  line.add(R"({"took":0,"errors":)");
  line.add(std::string_view(errors ? "true" : "false"));
  line.add(R"(,"items":[)");
  for (std::size_t i = 0; i < split_.lines.size(); ++i) {
    BulkFailure* failed = nullptr;
    for (std::size_t s = 0; s < shards.size(); ++s) {
      if (!split_.lines[i].goes_to(s)) continue;
      if (auto* const failure = shards[s].next(split_.lines[i])) failed = failure;
    }
    if (i != 0) line.add(',');
    add_item_head(line, i);
    failed == nullptr ? add_bulk_success(line, bulk_.actions[i]) : add_bulk_failure(line, *failed);
  }
  line.add("]}");
  return errors ? 500 : 200;
}

void ElasticBulkPlan::add_item_head(JsonLine& out, std::size_t at) const {
  out.add(R"({")");
  out.add(std::string_view(bulk_.actions[at]));
  out.add(R"(":{"_index":)");
  out.add_quoted(bulk_.table);
  out.add(R"(,"_type":"doc","_id":)");
  const auto& line = split_.lines[at];
  if (line.id.end == 0)
    out.add("null");
  else
    out.add_quoted(line.id_text(bulk_.body));
}

std::expected<std::unique_ptr<FanOut>, ClientError> plan_elastic_bulk(ElasticBulk bulk,
                                                                      const Parsed& parsed,
                                                                      ShardLayout layout,
                                                                      unsigned max_depth) {
  auto split = split_bulk(bulk.body, parsed.table, layout, max_depth);
  if (!split) return std::unexpected(at_clients_line(std::move(split.error()), bulk));
  return std::make_unique<ElasticBulkPlan>(std::move(bulk), *std::move(split), layout.shards);
}

}  // namespace karmad
