#include "agent/dialect/plan/plan.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "agent/dialect/replies/infinities.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {

namespace {

std::optional<BadReply> merge_replies(const OwnMerge& step, std::span<const ShardReply> replies,
                                      const MergeNotes& notes, std::string& out) {
  return step.merge(replies, notes, out);
}

std::optional<BadReply> merge_step(const Plan& plan, std::span<const ShardReply> replies,
                                   const MergeNotes& notes, std::string& out) {
  const std::vector<ShardReply> none(plan.vector_round ? replies.size() : 0);
  if (plan.vector_round) replies = none;
  return std::visit([&](const auto& step) { return merge_replies(step, replies, notes, out); },
                    std::get<ReadStep>(plan.step));
}

constexpr std::size_t kLongestDescription = 1000;

constexpr auto kMergings = enumerators<Merging>();
constexpr auto kFolds = enumerators<Fold>();
constexpr auto kForms = enumerators<RowForm>();
constexpr EnumNames<RowsMerge::Rows, 7> kRows(std::array<std::string_view, 7>{
    "by id", "as keywords", "as suggestions", "by rank", "as they are", "with numbers added",
    "of all shards"});
constexpr EnumNames<OneShardSets::Kept, 3> kKept(std::array<std::string_view, 3>{
    "all result sets", "the last result set", "the answer"});

std::string text_of_key(const SortKey& key) {
  using By = SortKey::By;
  const auto name = key.by == By::score          ? "_score"
                    : key.by == By::id           ? "id"
                    : key.by == By::knn_dist     ? "_knn_dist"
                    : key.by == By::hybrid_score ? "_hybrid_score"
                                                 : std::string_view(key.name);
  return fmt::format("{}{}", name, key.descending ? " desc" : "");
}

/// A column by its number: from 1, or from the right from -1.
std::string text_of_column(const ColumnAt& column) {
  return fmt::format("{}{}", column.from_right ? "-" : "", column.at + 1);
}

std::string text_of_key(const RowKey& key) {
  return text_of_column(key.column) + (key.descending ? " desc" : "");
}

template <class Parts, class TextOf>
std::string joined(const Parts& parts, TextOf text_of) {
  std::string text;
  for (const auto& part : parts) text.append(text.empty() ? "" : ", ").append(text_of(part));
  return text;
}

template <class Keys>
std::string text_of_page(std::size_t offset, std::size_t limit, const Keys& keys) {
  auto text = fmt::format("from {}, at most {}", offset, limit);
  if (!keys.empty())
    text += ", by " + joined(keys, [](const auto& key) { return text_of_key(key); });
  return text;
}

std::string text_of_rows(const RowPlan& rows) {
  auto text = fmt::format("{} {}", rows.grouped ? "groups" : "documents",
                          text_of_page(rows.offset, rows.limit, rows.order));
  if (!rows.group.empty()) text += "; key " + joined(rows.group, text_of_column);
  if (!rows.folded.empty())
    text += "; folds " + joined(rows.folded, [](const FoldedColumn& fold) {
              return fmt::format("{} {}", text_of_column(fold.column), kFolds[fold.fold]);
            });
  if (rows.having) text += "; having " + text_of_column(rows.having->column);
  if (rows.nearest != 0) text += fmt::format("; the {} nearest", rows.nearest);
  if (rows.hidden != 0) text += fmt::format("; hidden columns: {}", rows.hidden);
  return text;
}

struct DescribeStep {
  std::size_t lines = 0;  ///< of a bulk

  std::string operator()(const OneShardObject&) const { return "the answer of one shard"; }
  std::string operator()(const SearchMerge& step) const {
    auto text = "hits " + text_of_page(step.offset, step.limit, step.keys);
    if (step.nearest != 0) text += fmt::format("; the {} nearest", step.nearest);
    if (!step.aggregations.empty())
      text += "; aggregations " + joined(step.aggregations.wanted, [](const Aggregation& of) {
                return fmt::format(
                    "{} {}", of.name,
                    of.merging == Merging::metric ? kFolds[of.fold] : kMergings[of.merging]);
              });
    if (step.scroll) text += fmt::format("; scroll behind {}", step.scroll->pages.skip());
    return text;
  }
  std::string operator()(const SelectPlan& step) const {
    auto text = text_of_rows(step.rows);
    if (const auto& outer = step.rows.outer)
      text += "; then " + text_of_page(outer->offset, outer->limit, outer->order);
    for (const auto& facet : step.facets) text += "; facet of " + text_of_rows(facet);
    if (!step.pairs.empty())
      text += fmt::format("; lists of distinct pairs: {}", step.pairs.size());
    if (step.scroll && !step.offers_scroll)
      text += fmt::format("; scroll behind {}", step.scroll->skip());
    return fmt::format("{}; as {}", text, kForms[step.form]);
  }
  std::string operator()(const RowsMerge& step) const {
    auto text = fmt::format("rows {}", kRows[step.rows]);
    if (step.limit != 0) text += fmt::format(", at most {}", step.limit);
    if (!step.sorted_by.empty()) text += ", by " + step.sorted_by;
    return fmt::format("{}; as {}", text, kForms[step.form]);
  }
  std::string operator()(const OneShardSets& step) const {
    return fmt::format("{} of one shard; as {}", kKept[step.kept], kForms[step.form]);
  }
  std::string operator()(const PercolateMerge&) const { return "stored queries by id"; }
  std::string operator()(const OwnMerge& step) const { return std::string(step.name); }
  std::string operator()(const UpdateCounts&) const { return "counts of updates added"; }
  std::string operator()(const SqlCounts& step) const {
    return fmt::format("changed rows added; as {}", kForms[step.form]);
  }
  std::string operator()(const BulkItems&) const {
    return fmt::format("bulk items, lines: {}", lines);
  }
  std::string operator()(const ElasticBulkItems&) const {
    return fmt::format("_bulk items, lines: {}", lines);
  }
};

std::string text_of_asked(const Plan& plan) {
  std::string text;
  for (std::size_t s = 0; s < plan.asked.size(); ++s)
    if (plan.asked[s]) text += fmt::format("{}{}", text.empty() ? "" : ", ", s + 1);
  return plan.asked.empty() ? "asks all shards"
                            : fmt::format("asks shard {} of {}", text, plan.asked.size());
}

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
  const auto write_body = [&] {
    const auto* edits = std::get_if<TextEdits>(&plan.edits);
    if (const auto* const split = std::get_if<BulkSplit>(&plan.edits))
      return append_shard_bulk(buffer, body, *split, shard, tables.front());
    if (edits == nullptr) edits = &std::get<std::vector<TextEdits>>(plan.edits)[shard];
    if (!edits->empty()) append_edited(buffer, body, *edits, tables);
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
  if (!plan.elastic) return merge_step(plan, replies, notes, out);
  std::string merged;
  auto with_tables = notes;
  with_tables.tables = plan.elastic->tables;
  if (auto bad = merge_step(plan, replies, with_tables, merged)) return bad;
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
  const ChangeEnds ends{replies, plan.request.body, std::get_if<BulkSplit>(&plan.edits)};
  return std::visit([&](const auto& step) { return merge_ends(step, ends, out); },
                    std::get<ChangeStep>(plan.step));
}

std::string describe(const Plan& plan) {
  auto text = text_of_asked(plan);
  if (!plan.may_be_partial && !plan.changes_data()) text += ", none may be missing";
  const auto* const split = std::get_if<BulkSplit>(&plan.edits);
  const DescribeStep step{split == nullptr ? 0 : split->lines.size()};
  text += ": ";
  if (const auto& round = plan.vector_round)
    text += fmt::format("vector {} of document {}; then ", round->document.attribute,
                        round->document.id);
  text += std::visit([&](const auto& steps) { return std::visit(step, steps); }, plan.step);
  if (plan.elastic)
    text += plan.elastic->only_count ? "; as a count" : "; with index " + plan.elastic->index;
  text.resize(std::min(text.size(), kLongestDescription));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace karmad
