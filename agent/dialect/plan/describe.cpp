#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "agent/dialect/plan/plan.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestDescription = 1000;

constexpr std::array<std::string_view, 8> kMergings{
    "smallest", "largest", "sum", "mean", "terms", "ranges", "histogram", "composite"};
constexpr std::array<std::string_view, 7> kFolds{"keep", "sum",    "smallest", "largest",
                                                 "mean", "concat", "distinct"};
constexpr std::array<std::string_view, 7> kRows{"by id",        "as keywords", "as suggestions",
                                                "by rank",      "as they are", "with numbers added",
                                                "of all shards"};
constexpr std::array<std::string_view, 3> kForms{"raw", "hits", "text"};
constexpr std::array<std::string_view, 3> kKept{"all result sets", "the last result set",
                                                "the answer"};

/// The name of an enumerator.
template <class Names, class Enum>
std::string_view name_in(const Names& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

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
              return fmt::format("{} {}", text_of_column(fold.column), name_in(kFolds, fold.fold));
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
                return fmt::format("{} {}", of.name, name_in(kMergings, of.merging));
              });
    if (step.scroll) text += fmt::format("; scroll behind {}", step.scroll->pages.skip());
    return text;
  }
  std::string operator()(const SearchNearDocument& step) const {
    return then(step.document.field, step.document.id, step.search);
  }
  std::string operator()(const SelectPlan& step) const {
    auto text = text_of_rows(step.rows);
    if (const auto& outer = step.rows.outer)
      text += "; then " + text_of_page(outer->offset, outer->limit, outer->order);
    for (const auto& facet : step.facets) text += "; facet of " + text_of_rows(facet);
    if (!step.pairs.empty())
      text += fmt::format("; lists of distinct pairs: {}", step.pairs.size());
    if (step.scroll) text += fmt::format("; scroll behind {}", step.scroll->skip());
    return fmt::format("{}; as {}", text, name_in(kForms, step.form));
  }
  std::string operator()(const SelectNearDocument& step) const {
    return then(step.document.attribute, step.document.id, step.select);
  }
  std::string operator()(const RowsMerge& step) const {
    auto text = fmt::format("rows {}", name_in(kRows, step.rows));
    if (step.limit != 0) text += fmt::format(", at most {}", step.limit);
    if (!step.sorted_by.empty()) text += ", by " + step.sorted_by;
    return fmt::format("{}; as {}", text, name_in(kForms, step.form));
  }
  std::string operator()(const OneShardSets& step) const {
    return fmt::format("{} of one shard; as {}", name_in(kKept, step.kept),
                       name_in(kForms, step.form));
  }
  std::string operator()(const PercolateMerge&) const { return "stored queries by id"; }
  std::string operator()(const OwnMerge& step) const { return std::string(step.name); }
  std::string operator()(const UpdateCounts&) const { return "counts of updates added"; }
  std::string operator()(const SqlCounts& step) const {
    return fmt::format("changed rows added; as {}", name_in(kForms, step.form));
  }
  std::string operator()(const BulkItems&) const {
    return fmt::format("bulk items, lines: {}", lines);
  }
  std::string operator()(const ElasticBulkItems&) const {
    return fmt::format("_bulk items, lines: {}", lines);
  }

  template <class Step>
  std::string then(std::string_view attribute, std::string_view id, const Step& search) const {
    return fmt::format("vector {} of document {}; then {}", attribute, id, (*this)(search));
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

std::string describe(const Plan& plan) {
  auto text = text_of_asked(plan);
  if (!plan.may_be_partial && !plan.changes_data()) text += ", none may be missing";
  const auto* const split = std::get_if<BulkSplit>(&plan.edits);
  const DescribeStep step{split == nullptr ? 0 : split->lines.size()};
  text += ": " + std::visit([&](const auto& steps) { return std::visit(step, steps); }, plan.step);
  if (plan.elastic)
    text += plan.elastic->only_count ? "; as a count" : "; with index " + plan.elastic->index;
  text.resize(std::min(text.size(), kLongestDescription));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace karmad
