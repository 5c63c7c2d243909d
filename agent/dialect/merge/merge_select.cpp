#include "agent/dialect/merge/merge_steps.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <charconv>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/dialect/replies/error_text.hpp"
#include "agent/dialect/replies/infinities.hpp"
#include "agent/dialect/replies/raw_replies.hpp"
#include "agent/dialect/write/write_hits.hpp"
#include "agent/dialect/write/write_rows.hpp"
#include "agent/json/equals_literal.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/keyed_hash.hpp"
#include "config/text/number_in.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestTime = 32;

struct MetaRow {
  std::string_view name;
  std::string_view value;
};

/// A keyword of the query and how often the shards have it.
struct KeywordSum {
  std::string_view keyword;
  std::uint64_t documents = 0;
  std::uint64_t hits = 0;
};

/// What SHOW META says of one shard. The views are into the reply, inside of JSON strings.
struct ShardMeta {
  bool has_total = false;
  std::uint64_t total_found = 0;
  bool is_lower_bound = false;
  std::string_view time;  ///< seconds, `0.001`
  std::string_view warning;

  /// Takes a row about the whole shard; false: it is another one.
  bool take(const MetaRow& row) {
    if (equals_literal(row.name, "total_found")) {
      const auto count = number_in<std::uint64_t>(row.value);
      has_total |= count.has_value();
      total_found = count.value_or(0);
    } else if (equals_literal(row.name, "total_relation")) {
      is_lower_bound = row.value != "eq";
    } else if (equals_literal(row.name, "time")) {
      time = row.value;
    } else if (equals_literal(row.name, "warning")) {
      warning = row.value;
    } else {
      return equals_literal(row.name, "total");
    }
    return true;
  }
};

double seconds_in(std::string_view text) {
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return seconds;
}

/// Rows of SHOW META as JSON strings, one behind the other: in a block of memory for all.
class MetaText {
 public:
  /// Adds a cell of pieces that need no escapes.
  template <class... Pieces>
  MetaText& add(const Pieces&... pieces) {
    line_->add('"');
    (line_->add(pieces), ...);
    line_->add('"');
    return end_cell();
  }
  MetaText& add_text(std::string_view text) {
    line_->add_quoted(text);
    return end_cell();
  }
  /// Adds the inside of a string in a reply.
  MetaText& add_raw(std::string_view escaped) {
    return escaped.contains('\\') ? add_text(json_unescaped(escaped)) : add_text(escaped);
  }

  /// The rows, and no less than the bytes that append_sets() needs for them.
  std::pair<ResultSet, std::size_t> take() && {
    constexpr std::size_t kAroundRow = 32;
    constexpr std::size_t kAround = 256;
    line_.reset();
    const auto rows = ends_.size() / kColumns.size();
    const auto size = text_.size() + rows * kAroundRow + kAround;
    ResultSet set{.columns{kColumns.begin(), kColumns.end()}, .count = rows};
    const std::string_view text = set.made.emplace_front(std::move(text_));
    set.cells.reserve(ends_.size());
    std::size_t begin = 0;
    for (const auto end : ends_) {
      set.cells.push_back(text.substr(begin, end - begin));
      begin = end;
    }
    return {std::move(set), size};
  }

 private:
  MetaText& end_cell() {
    ends_.push_back(line_->size());
    return *this;
  }

  static constexpr std::array kColumns{RawColumn{"Variable_name", "string"},
                                       RawColumn{"Value", "string"}};
  std::string text_;
  std::optional<JsonLine> line_{text_};
  boost::container::small_vector<std::size_t, 64> ends_;  ///< of the cells
};

/// SHOW META of all shards: reads their result sets and makes one for the whole answer.
class MergedMeta {
 public:
  /// `set`: the number of the result set.
  MergedMeta(const RawReplies& replies, std::size_t set)
      : replies_(replies), set_(set), shards_(replies.shards()) {}

  /// Reads the rows. False: those of shard `wrong` are malformed or have no total_found.
  bool read(std::size_t& wrong) {
    const auto listed = replies_.listed_columns(set_);
    const bool lists = !listed.empty() && listed.front().name == "Variable_name";
    for (wrong = 0; wrong < shards_.size(); ++wrong) {
      if (!replies_.answered(wrong)) continue;
      const auto& shard = shards_[wrong];
      const bool whole = read_rows(wrong);
      first_shard_ = false;
      // Of a SELECT from a percolate table with MATCH() the server finds nothing, and has no
      // totals.
      const bool found_nothing = replies_.set(wrong, 0).columns == 0;
      const auto& set = replies_.set(wrong, set_);
      const bool is_empty = set.columns == 0 && (lists || set.listed == 0);
      if (!(whole ? shard.has_total || found_nothing : is_empty && found_nothing)) return false;
    }
    return true;
  }

  const std::vector<ShardMeta>& shards() const { return shards_; }

  /// That of the shards' documents without copies, or of their groups, each counted once. Groups
  /// are a lower bound if a shard found more of them than it returned.
  TotalFound total_found(const MergedRows& rows, bool having) const {
    TotalFound total{.is_lower_bound = std::ranges::any_of(shards_, &ShardMeta::is_lower_bound)};
    if (rows.groups_of_shard.empty()) {
      for (const auto& shard : shards_) total.add(shard.total_found);
      total.count -= std::min(total.count, rows.dropped);
      return total;
    }
    total.count = rows.groups;
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      if (rows.groups_of_shard[s] >= shards_[s].total_found) continue;
      total.is_lower_bound |= shards_.size() > 1 || having;
      // Conditions of HAVING are not sent: a shard counts groups that they leave out.
      if (!having) total.count = std::max(total.count, shards_[s].total_found);
    }
    return total;
  }

  /// The merged rows: totals, the slowest time, other rows as the first shard has them, keywords
  /// with the sums of their documents and hits, then total and time of each shard. `count`: number
  /// of rows of the answer; `warning`: plain text, may be empty. If these are longer than
  /// kLongestMeta, totals, time and a warning of it.
  ResultSet rows(std::size_t count, const TotalFound& total, std::string_view warning) const {
    MetaText whole;
    add_warning(whole, warning);
    add_totals(whole, count, total);
    add_others(whole);
    auto [all, size] = std::move(whole).take();
    if (size <= kLongestMeta) return std::move(all);
    std::string written;
    append_sets(RowForm::raw, {&all, 1}, written);
    if (written.size() <= kLongestMeta) return std::move(all);
    MetaText totals;
    add_warning(totals, warning.size() <= kLongestMeta / 2 ? warning : std::string_view());
    add_warning(totals,
                fmt::format("SHOW META is longer than {} KiB: only totals", kLongestMeta >> 10));
    add_totals(totals, count, total);
    return std::move(totals).take().first;
  }

 private:
  /// Whether all rows of the shard could be read.
  bool read_rows(std::size_t shard) {
    const auto& set = replies_.set(shard, set_);
    const auto text = [](std::string_view cell) {
      return is_string(cell) ? without_quotes(cell) : cell;
    };
    return set.columns == 2 &&
           visit_rows(replies_, set, [&](std::span<const std::string_view> row) {
             const MetaRow read{text(row[0]), text(row[1])};
             if (!shards_[shard].take(read)) take_other(read);
           });
  }

  void take_other(const MetaRow& row) {
    const bool documents = starts_with_literal(row.name, "docs[");
    if (starts_with_literal(row.name, "keyword[")) {
      const auto [known, is_new] = places_.try_emplace(row.value, keywords_.size());
      if (is_new) keywords_.push_back({row.value});
      keyword_ = known->second;
    } else if ((documents || starts_with_literal(row.name, "hits[")) && !keywords_.empty()) {
      auto& sum = documents ? keywords_[keyword_].documents : keywords_[keyword_].hits;
      sum += number_in<std::uint64_t>(row.value).value_or(0);
    } else if (first_shard_) {
      others_.push_back(row);
    }
  }

  static void add_warning(MetaText& rows, std::string_view warning) {
    if (!warning.empty()) rows.add("warning").add_text(warning);
  }

  void add_totals(MetaText& rows, std::size_t count, const TotalFound& total) const {
    std::string_view slowest = "0.000";
    for (const auto& shard : shards_)
      if (seconds_in(shard.time) > seconds_in(slowest)) slowest = shard.time;
    if (slowest.size() > kLongestTime) slowest = "0.000";
    rows.add("total").add(count);
    rows.add("total_found").add(total.count);
    rows.add("total_relation").add(std::string_view(total.is_lower_bound ? "gte" : "eq"));
    rows.add("time").add_raw(slowest);
  }

  void add_others(MetaText& rows) const {
    for (const auto& row : others_) rows.add_raw(row.name).add_raw(row.value);
    for (std::size_t k = 0; k < keywords_.size(); ++k) {
      rows.add("keyword[", k, ']').add_raw(keywords_[k].keyword);
      rows.add("docs[", k, ']').add(keywords_[k].documents);
      rows.add("hits[", k, ']').add(keywords_[k].hits);
    }
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      if (!replies_.answered(s)) continue;
      rows.add("shard[", s + 1, "]_total_found").add(shards_[s].total_found);
      rows.add("shard[", s + 1, "]_time").add_raw(shards_[s].time);
    }
  }

  const RawReplies& replies_;
  std::size_t set_;
  std::vector<ShardMeta> shards_;
  std::vector<KeywordSum> keywords_;
  std::unordered_map<std::string_view, std::size_t, KeyedHash> places_;
  std::size_t keyword_ = 0;
  std::vector<MetaRow> others_;
  bool first_shard_ = true;
};

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
                             const MergedMeta* meta, const MergedSets& merged) {
  Warnings warnings(own);
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    for (std::size_t i = 0; i < merged.sets.size(); ++i)
      warnings.add_of_shard(s, replies.set(s, i).warning);
    if (meta != nullptr) warnings.add_of_shard(s, meta->shards()[s].warning);
  }
  for (const auto& estimate : merged.estimates) warnings.add(estimate);
  return warnings.text();
}

/// The token of the page behind the rows; empty: there is none.
std::string next_scroll_token(const SelectPlan& plan, const RawReplies& raw,
                              std::span<const ShardReply> replies, const ResultSet& rows) {
  if (!plan.scroll) return {};
  if (plan.offers_scroll &&
      std::ranges::any_of(replies, &std::string_view::empty, &ShardReply::body))
    return {};
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

std::optional<BadReply> merge_finite(const SelectPlan& plan, std::span<const ShardReply> replies,
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
  // What SHOW META of the shards warns of is there, in hits and in SHOW WARNINGS, as on one server.
  const auto warning = collect_warnings(notes.warning, raw, &meta, *merged);
  rows.warning =
      notes.sets != nullptr ? warning : collect_warnings(notes.warning, raw, nullptr, *merged);
  auto total = meta.total_found(merged->of_rows, plan.rows.having.has_value());
  total.cut(plan.rows.stops_at);
  if (plan.rows.nearest != 0)
    total.count = std::min<decltype(total.count)>(total.count, plan.rows.nearest);
  if (plan.scroll) total.count -= std::min<decltype(total.count)>(total.count, plan.scroll->skip());
  const bool shows_token = notes.meta != nullptr || plan.form == RowForm::hits;
  const auto scroll = shows_token ? next_scroll_token(plan, raw, replies, rows) : std::string();
  if (notes.meta != nullptr) *notes.meta = {meta.rows(rows.count, total, warning), scroll};
  if (notes.sets != nullptr) {
    *notes.sets = std::move(merged->sets);
  } else if (plan.form == RowForm::hits) {
    append_hits({.took = notes.took,
                 .timed_out = notes.timed_out,
                 .warning = warning,
                 .total = total,
                 .scroll = scroll},
                plan.rows, plan.facets, merged->sets, out);
  } else {
    append_sets(plan.form, merged->sets, out);
  }
  return std::nullopt;
}

}  // namespace

std::optional<BadReply> merge_replies(const SelectPlan& plan, std::span<const ShardReply> replies,
                                      const MergeNotes& notes, std::string& out) {
  const auto merge = [&](std::span<const ShardReply> readable) {
    return merge_finite(plan, readable, notes, out);
  };
  return merge_with_infinities(replies, out, plan.form == RowForm::text, merge, notes.sets);
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
