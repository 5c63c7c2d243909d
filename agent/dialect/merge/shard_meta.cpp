#include "agent/dialect/merge/shard_meta.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "agent/dialect/replies/error_text.hpp"
#include "agent/dialect/write/write_rows.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/keyed_hash.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {

void Warnings::add(std::string_view text) {
  if (text.empty()) return;
  if (!text_.empty()) text_ += ";\n";
  text_ += text;
}

void Warnings::add_of_shard(std::size_t shard, std::string_view escaped) {
  if (escaped.empty()) return;
  const auto text = json_unescaped(escaped);
  add(fmt::format("shard {}: {}", shard + 1, without_table(text)));
}

namespace {

constexpr std::size_t kLongestTime = 32;

struct MetaRow {
  std::string_view name;
  std::string_view value;
};

/// Hands the rows of a SHOW META to `visit`. Whether all could be read.
template <class Visit>
bool visit_meta(const RawReplies& replies, const RawSet& set, Visit visit) {
  const auto text = [](std::string_view cell) {
    return is_string(cell) ? without_quotes(cell) : cell;
  };
  std::string_view cells[2];
  return set.columns == 2 &&
         visit_rows(replies, set, cells, [&](std::span<const std::string_view> row) {
           visit(MetaRow{text(row[0]), text(row[1])});
         });
}

double seconds_in(std::string_view text) {
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return seconds;
}

/// A keyword of the query and how often the shards have it.
struct KeywordSum {
  std::string_view keyword;
  std::uint64_t documents = 0;
  std::uint64_t hits = 0;
};

/// The rows of SHOW META besides totals, times and warnings.
class OtherRows {
 public:
  void add(const MetaRow& row) {
    const bool documents = row.name.starts_with("docs[");
    if (row.name.starts_with("keyword[")) {
      const auto [known, is_new] = places_.try_emplace(row.value, keywords_.size());
      if (is_new) keywords_.push_back({row.value});
      current_ = known->second;
    } else if ((documents || row.name.starts_with("hits[")) && !keywords_.empty()) {
      auto& sum = documents ? keywords_[current_].documents : keywords_[current_].hits;
      sum += whole_number<std::uint64_t>(row.value).value_or(0);
    } else if (first_shard_) {
      others_.push_back(row);
    }
  }
  void end_shard() { first_shard_ = false; }

  void append(ResultSet& set) const;

 private:
  std::vector<KeywordSum> keywords_;
  std::unordered_map<std::string_view, std::size_t, KeyedHash> places_;
  std::size_t current_ = 0;
  std::vector<MetaRow> others_;
  bool first_shard_ = true;
};

void add_row(ResultSet& set, std::string_view name, std::uint64_t value) {
  set.add_row({name, fmt::format("{}", value)});
}

void OtherRows::append(ResultSet& set) const {
  for (const auto& row : others_)
    set.add_row({json_unescaped(row.name), json_unescaped(row.value)});
  for (std::size_t k = 0; k < keywords_.size(); ++k) {
    const auto& sum = keywords_[k];
    set.add_row({fmt::format("keyword[{}]", k), json_unescaped(sum.keyword)});
    add_row(set, fmt::format("docs[{}]", k), sum.documents);
    add_row(set, fmt::format("hits[{}]", k), sum.hits);
  }
}

void add_shards(const std::vector<ShardMeta>& shards, ResultSet& set) {
  for (std::size_t s = 0; s < shards.size(); ++s) {
    if (!shards[s].answered) continue;
    add_row(set, fmt::format("shard[{}]_total_found", s + 1), shards[s].total_found);
    set.add_row({fmt::format("shard[{}]_time", s + 1), json_unescaped(shards[s].time)});
  }
}

/// Reads a row about the whole shard; false: it is another one.
bool read_shard_row(const MetaRow& row, ShardMeta& meta, bool& has_total) {
  if (equals_literal(row.name, "total_found")) {
    const auto count = whole_number<std::uint64_t>(row.value);
    has_total |= count.has_value();
    meta.total_found = count.value_or(0);
  } else if (equals_literal(row.name, "total_relation")) {
    meta.is_lower_bound = row.value != "eq";
  } else if (equals_literal(row.name, "time")) {
    meta.time = row.value;
  } else if (equals_literal(row.name, "warning")) {
    meta.warning = row.value;
  } else {
    return equals_literal(row.name, "total");
  }
  return true;
}

}  // namespace

bool MergedMeta::read(std::size_t& wrong) {
  shards_.resize(replies_.shards());
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    if (!replies_.answered(s)) continue;
    shards_[s].answered = true;
    bool has_total = false;
    const bool whole = visit_meta(replies_, replies_.set(s, set_), [&](const MetaRow& row) {
      read_shard_row(row, shards_[s], has_total);
    });
    // Of a SELECT from a percolate table with MATCH() the server finds nothing, and has no totals.
    const bool found_nothing = replies_.set(s, 0).columns == 0;
    const auto listed = replies_.listed_columns(set_);
    const bool is_empty = replies_.set(s, set_).columns == 0 && !listed.empty() &&
                          listed.front().name == "Variable_name";
    if (whole ? has_total || found_nothing : is_empty && found_nothing) continue;
    wrong = s;
    return false;
  }
  return true;
}

TotalFound MergedMeta::total_found(const MergedRows& rows, bool having) const {
  TotalFound total{.is_lower_bound = std::ranges::any_of(shards_, &ShardMeta::is_lower_bound)};
  if (rows.groups_of_shard.empty()) {
    for (const auto& shard : shards_) total.count += shard.total_found;
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

ResultSet MergedMeta::rows(std::size_t count, const TotalFound& total,
                           std::string_view warning) const {
  OtherRows other;
  std::string_view slowest = "0.000";
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    if (!shards_[s].answered) continue;
    if (seconds_in(shards_[s].time) > seconds_in(slowest)) slowest = shards_[s].time;
    ShardMeta known;
    bool has_total = false;
    visit_meta(replies_, replies_.set(s, set_), [&](const MetaRow& row) {
      if (!read_shard_row(row, known, has_total)) other.add(row);
    });
    other.end_shard();
  }
  if (slowest.size() > kLongestTime) slowest = "0.000";
  const auto begin = [&](std::size_t longest_warning) {
    auto set = text_rows({"Variable_name", "Value"});
    if (!warning.empty() && warning.size() <= longest_warning) set.add_row({"warning", warning});
    return set;
  };
  const auto add_totals = [&](ResultSet& set) {
    add_row(set, "total", count);
    add_row(set, "total_found", total.count);
    set.add_row({"total_relation", total.is_lower_bound ? "gte" : "eq"});
    set.add_row({"time", json_unescaped(slowest)});
  };
  auto all = begin(warning.npos);
  add_totals(all);
  other.append(all);
  add_shards(shards_, all);
  std::string written;
  append_sets(RowForm::raw, {&all, 1}, written);
  if (written.size() <= kLongestMeta) return all;
  auto totals = begin(kLongestMeta / 2);
  totals.add_row(
      {"warning", fmt::format("SHOW META is longer than {} KiB: only totals", kLongestMeta >> 10)});
  add_totals(totals);
  return totals;
}

}  // namespace karmad
