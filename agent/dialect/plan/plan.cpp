#include "agent/dialect/plan/plan.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/merge/merge_select.hpp"
#include "agent/dialect/replies/infinities.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/dialect/rows/result_set.hpp"

namespace karmad {

namespace {

/// Merges the replies of shards by the step of a plan.
struct MergeReplies {
  std::span<const ShardReply> replies;
  const MergeNotes& notes;
  std::string& out;

  using Merged = std::optional<BadReply>;

  Merged operator()(const OneShardObject&) const { return pass_object_on(replies.front(), out); }
  Merged operator()(const SearchMerge& step) const {
    return merge_search(step, replies, notes, out);
  }
  Merged operator()(const SelectPlan& step) const {
    const bool is_table = step.form == RowForm::text;
    return merge_with_infinities(
        replies, out, is_table,
        [&](std::span<const ShardReply> readable) {
          return merge_select(step, readable, notes, out);
        },
        notes.sets);
  }
  Merged operator()(const SearchNearDocument& step) const { return nothing_found(step.search); }
  Merged operator()(const SelectNearDocument& step) const { return nothing_found(step.select); }
  Merged operator()(const RowsMerge& step) const { return merge_rows(step, replies, notes, out); }
  Merged operator()(const OneShardSets& step) const {
    return pass_sets_on(step, replies.front(), out);
  }
  Merged operator()(const PercolateMerge& step) const {
    return merge_percolated(step, replies, notes, out);
  }
  Merged operator()(const OwnMerge& step) const { return step.merge(replies, notes, out); }

  /// There is no such document, or it has no vector.
  template <class Step>
  Merged nothing_found(const Step& search) const {
    const std::vector<ShardReply> none(replies.size());
    return MergeReplies{none, notes, out}(search);
  }
};

/// Merges the ends of a change by the step of its plan.
struct MergeChanges {
  const Plan& plan;
  std::span<const ChangeReply> replies;
  std::string& out;

  int operator()(const UpdateCounts& step) const { return merge_update_counts(step, replies, out); }
  int operator()(const SqlCounts& step) const { return merge_sql_changes(step, replies, out); }
  int operator()(const BulkItems& step) const {
    return merge_bulk(step, plan.request.body, split(), replies, out);
  }
  int operator()(const ElasticBulkItems& step) const {
    return merge_elastic_bulk(step, plan.request.body, split(), replies, out);
  }
  const BulkSplit& split() const { return std::get<BulkSplit>(plan.edits); }
};

}  // namespace

void Plan::take_lines(BulkSplit&& split, std::size_t shards) {
  asked.assign(shards, false);
  for (const auto& line : split.lines)
    for (std::size_t i = 0; i < shards; ++i)
      if (line.goes_to(i)) asked[i] = true;
  may_be_partial = false;
  edits = std::move(split);
}

bool prefers(const Plan& plan, std::size_t shard, std::string_view mirror) {
  const auto* const read = std::get_if<ReadStep>(&plan.step);
  if (read == nullptr) return false;
  if (const auto* const search = std::get_if<SearchMerge>(read))
    return search->scroll && search->scroll->pages.prefers(shard, mirror);
  const auto* const select = std::get_if<SelectPlan>(read);
  return select != nullptr && select->scroll && select->scroll->prefers(shard, mirror);
}

AgentRequest write_planned(const Plan& plan, std::size_t shard, std::span<const std::string> tables,
                           std::string& buffer) {
  const auto first = tables.first(std::min<std::size_t>(tables.size(), 1));
  const auto body = plan.request.body;
  const auto write_edited = [&](const TextEdits& edits) {
    if (!edits.empty()) append_edited(buffer, body, edits, tables);
  };
  const auto write_body = [&] {
    if (const auto* const edits = std::get_if<TextEdits>(&plan.edits)) return write_edited(*edits);
    if (const auto* const split = std::get_if<BulkSplit>(&plan.edits))
      return append_shard_bulk(buffer, body, *split, shard, tables.front());
    write_edited(std::get<std::vector<TextEdits>>(plan.edits)[shard]);
  };
  return write_request(plan.request, buffer, write_body, first);
}

int refusal_status(const Plan& plan, int status, std::string_view body) {
  if (plan.elastic && status == 500) return 400;  // whatever the mistake is
  const bool of_parser = plan.parser_errors_are_400 && status == 500;
  return of_parser && agent_error_text(body).starts_with("P01:") ? 400 : status;
}

std::optional<BadReply> merge(const Plan& plan, std::span<const ShardReply> replies,
                              const MergeNotes& notes, std::string& out) {
  const auto& step = std::get<ReadStep>(plan.step);
  if (!plan.elastic) return std::visit(MergeReplies{replies, notes, out}, step);
  std::string merged;
  if (auto bad = std::visit(MergeReplies{replies, notes, merged}, step)) return bad;
  ElasticShards shards{replies.size(), 0};
  for (std::size_t s = 0; s < replies.size(); ++s)
    if (!replies[s].body.empty() || !plan.asks(s)) ++shards.successful;
  append_elastic(out, *plan.elastic, merged, shards);
  return std::nullopt;
}

std::size_t merge_changes_size(const Plan& plan, std::span<const ChangeReply> replies) {
  std::size_t size = 0;
  for (const auto& reply : replies) size += reply.body.size();
  const auto* const split = std::get_if<BulkSplit>(&plan.edits);
  if (split == nullptr) return size;
  const auto& step = std::get<ChangeStep>(plan.step);
  const auto* const items = std::get_if<BulkItems>(&step);
  if (items == nullptr)
    return size + split->lines.size() * std::get<ElasticBulkItems>(step).item_size();
  const bool all = std::ranges::all_of(replies, &ChangeReply::done);
  return all ? size : size + split->lines.size() * items->item_size();
}

int merge_changes(const Plan& plan, std::span<const ChangeReply> replies, std::string& out) {
  return std::visit(MergeChanges{plan, replies, out}, std::get<ChangeStep>(plan.step));
}

}  // namespace karmad
