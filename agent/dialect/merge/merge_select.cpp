#include "agent/dialect/merge/merge_select.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "agent/dialect/merge/merge_groups.hpp"
#include "agent/dialect/merge/shard_meta.hpp"
#include "agent/dialect/write/write_hits.hpp"
#include "agent/dialect/write/write_rows.hpp"

namespace karmad {

namespace {

/// The first shard whose rows lack a hidden column that was requested, or have others in its place.
std::optional<std::size_t> shard_without_hidden(const RawReplies& replies, std::size_t set,
                                                const RowPlan& plan) {
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    const auto columns = replies.columns_of(replies.set(s, set));
    if (columns.empty()) continue;
    const auto behind = plan.hidden_names.size() + plan.behind;
    if (columns.size() < behind ||
        !std::ranges::equal(columns.subspan(columns.size() - behind, plan.hidden_names.size()),
                            plan.hidden_names, {}, &RawColumn::name))
      return s;
  }
  return std::nullopt;
}

/// A result where no shard has rows: what the shards list without the hidden columns.
MergedRows without_rows(const RawReplies& replies, std::size_t set, const RowPlan& plan) {
  MergedRows merged;
  for (const auto& column : replies.listed_columns(set))
    if (!column.name.starts_with(kHiddenName)) merged.columns.push_back(column);
  if (plan.grouped) merged.groups_of_shard.resize(replies.shards());
  return merged;
}

/// Sorts and cuts the rows of a SELECT in brackets by what stands around them.
void apply_outer(const OuterRows& outer, Collation collation, ResultSet& rows) {
  if (!have_columns(outer.order, rows.columns.size())) return;  // a set without rows
  std::vector<std::size_t> order(rows.count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  sort_rows<std::size_t>(outer.order, rows, collation, order, std::identity());
  const auto begin = std::min(outer.offset, order.size());
  const auto kept = std::span(order).subspan(begin, std::min(outer.limit, order.size() - begin));
  std::vector<std::string_view> cells;
  cells.reserve(kept.size() * rows.columns.size());
  for (const auto number : kept) {
    const auto row = rows.row(number);
    cells.insert(cells.end(), row.begin(), row.end());
  }
  rows.cells = std::move(cells);
  rows.count = kept.size();
}

/// The rows and the facets of a SELECT, and what the merge knows of them besides.
struct MergedSets {
  std::vector<ResultSet> sets;
  MergedRows of_rows;                  ///< without its result set, which is in `sets`
  std::vector<std::string> estimates;  ///< of all sets
};

std::expected<MergedSets, BadReply> merge_sets(const SelectPlan& plan, const RawReplies& replies) {
  std::vector<DistinctPairs> pairs;
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    auto read =
        DistinctPairs::read(replies, 2 + plan.facets.size() + p, plan.pairs[p], plan.collation);
    if (!read) return std::unexpected(std::move(read.error()));
    pairs.push_back(std::move(*read));
  }
  MergedSets all;
  all.sets.reserve(1 + plan.facets.size());
  const auto keep = [&](MergedRows merged) {
    all.estimates.push_back(std::move(merged.estimate));
    all.sets.push_back(std::move(static_cast<ResultSet&>(merged)));
    if (all.sets.size() == 1) all.of_rows = std::move(merged);
  };
  for (std::size_t i = 0; i <= plan.facets.size(); ++i) {
    const auto& rows = i == 0 ? plan.rows : plan.facets[i - 1];
    if (!replies.has_rows(i)) {
      keep(without_rows(replies, i, rows));
      continue;
    }
    if (const auto shard = shard_without_hidden(replies, i, rows))
      return std::unexpected(BadReply{*shard, "its rows lack columns that were requested"});
    auto merged = rows.grouped ? merge_groups(replies, i, rows, plan.collation, pairs)
                               : merge_documents(replies, i, rows, plan.collation);
    if (!merged) return std::unexpected(std::move(merged.error()));
    if (rows.outer) apply_outer(*rows.outer, plan.collation, *merged);
    keep(*std::move(merged));
  }
  return all;
}

std::string collect_warnings(std::string_view own, const RawReplies& replies,
                             const MergedMeta& meta, const MergedSets& merged) {
  Warnings warnings(own);
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    for (std::size_t i = 0; i < merged.sets.size(); ++i)
      warnings.add_of_shard(s, replies.set(s, i).warning);
    warnings.add_of_shard(s, meta.shards()[s].warning);
  }
  for (const auto& estimate : merged.estimates) warnings.add(estimate);
  return warnings.text();
}

/// The token of the page behind the rows; empty: there is none.
std::string next_scroll_token(const SelectPlan& plan, const RawReplies& raw,
                              std::span<const ShardReply> replies, const ResultSet& rows) {
  if (!plan.scroll) return {};
  if (rows.count == 0) return plan.scroll->given();
  const auto columns = rows.columns.size();
  for (std::size_t s = 0; s < raw.shards(); ++s)
    if (const auto& set = raw.set(s, 0); set.columns != 0 && set.columns != columns)
      return {};  // places may differ
  return plan.scroll->next_token({.before = plan.rows.offset,
                                  .rows = rows.count,
                                  .keys = plan.rows.order.size(),
                                  .value =
                                      [&](std::size_t row, std::size_t k) {
                                        const auto& by = plan.rows.order[k];
                                        const auto at = position(by.column, columns);
                                        return scroll_key(
                                            plan.rows.scroll_names[k], by.descending,
                                            at ? rows.row(row)[*at] : std::string_view());
                                      }},
                                 replies);
}

}  // namespace

std::optional<BadReply> merge_select(const SelectPlan& plan, std::span<const ShardReply> replies,
                                     const MergeNotes& notes, std::string& out) {
  RawReplies raw;
  const auto facets = plan.facets.size();
  if (auto bad = raw.read(replies, 2 + facets + plan.pairs.size(), LastSet::up_to_rows)) return bad;
  MergedMeta meta(raw, 1 + facets);
  if (std::size_t wrong = 0; !meta.read(wrong))
    return BadReply{wrong, "its SHOW META is malformed or has no total_found"};
  auto merged = merge_sets(plan, raw);
  if (!merged) return merged.error();

  auto& rows = merged->sets.front();
  rows.warning = collect_warnings(notes.warning, raw, meta, *merged);
  auto total = meta.total_found(merged->of_rows, plan.rows.having.has_value());
  total.cut(plan.rows.stops_at);
  if (plan.rows.nearest != 0)
    total.count = std::min<decltype(total.count)>(total.count, plan.rows.nearest);
  if (plan.scroll) total.count -= std::min<decltype(total.count)>(total.count, plan.scroll->skip());
  const auto scroll = next_scroll_token(plan, raw, replies, rows);
  if (notes.meta != nullptr) *notes.meta = {meta.rows(rows.count, total, rows.warning), scroll};
  if (notes.sets != nullptr) {
    *notes.sets = std::move(merged->sets);
  } else if (plan.form == RowForm::hits) {
    append_hits({.took = notes.took,
                 .timed_out = notes.timed_out,
                 .warning = rows.warning,
                 .total = total,
                 .scroll = scroll},
                plan.rows, plan.facets, merged->sets, out);
  } else {
    append_sets(plan.form, merged->sets, out);
  }
  return std::nullopt;
}

/// Documents are read only as far as the page needs them, unless the nearest of them are looked
/// for; groups are all read, each of their cells several times.
unsigned merge_weight(const SelectPlan& plan) {
  constexpr unsigned kOfDocuments = 2;
  constexpr unsigned kOfGroups = 6;
  const bool groups = plan.rows.grouped || !plan.facets.empty() || !plan.pairs.empty();
  return groups || plan.rows.distance ? kOfGroups : kOfDocuments;
}

}  // namespace karmad
