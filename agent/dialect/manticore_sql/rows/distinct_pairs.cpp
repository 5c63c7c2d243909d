#include "agent/dialect/manticore_sql/rows/distinct_pairs.hpp"

#include <algorithm>

#include "agent/json/keyed_hash.hpp"

namespace karmad {

namespace {

std::unexpected<FanOut::BadReply> bad_pairs(std::size_t shard, const char* reason) {
  return std::unexpected(FanOut::BadReply{shard, reason});
}

}  // namespace

std::expected<DistinctPairs, FanOut::BadReply> DistinctPairs::read(const RawReplies& replies,
                                                                   std::size_t set,
                                                                   const PairsPlan& plan,
                                                                   Collation collation) {
  std::vector<KeyKind> kinds(plan.keys + 1, KeyKind::attribute);
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    const auto columns = replies.columns_of(replies.set(s, set));
    if (columns.empty()) continue;
    if (columns.size() < kinds.size()) return bad_pairs(s, "its distinct values lack a column");
    for (std::size_t p = 0; p < kinds.size(); ++p)
      if (RowKeyText::kind_of(columns[p]) == KeyKind::json_path) kinds[p] = KeyKind::json_path;
  }
  DistinctPairs found(std::move(kinds), collation);
  std::vector<Pair> pairs;
  std::vector<std::string_view> cells;
  RowKeyText key(collation);
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    const auto columns = replies.columns_of(replies.set(s, set));
    cells.resize(columns.size());
    RawRows rows(replies.set(s, set).rows);
    const auto before = pairs.size();
    auto step = rows.next(columns, cells.data());
    for (; step == RawRows::Step::row; step = rows.next(columns, cells.data())) {
      key.clear();
      for (std::size_t p = 0; p < plan.keys; ++p) key.add(cells[p], found.kinds_[p]);
      Pair pair{.group = KeyedHash{}(key.text())};
      for (auto& half : pair.pair) {
        key.add(cells[plan.keys], found.kinds_[plan.keys]);
        half = KeyedHash{}(key.text());
      }
      pairs.push_back(pair);
    }
    if (step == RawRows::Step::malformed) return bad_pairs(s, "a distinct value is malformed");
    found.may_be_short_ |= plan.asked != 0 && pairs.size() - before >= plan.asked;
  }
  found.count_values(pairs);
  return found;
}

void DistinctPairs::count_values(std::vector<Pair>& pairs) {
  std::ranges::sort(pairs);
  const Pair* before = nullptr;
  for (const auto& pair : pairs) {
    if (before == nullptr || before->group != pair.group)
      groups_.push_back({pair.group, 1});
    else if (*before != pair)
      ++groups_.back().values;
    before = &pair;
  }
}

std::uint64_t DistinctPairs::values_of(std::span<const std::string_view> key) const {
  RowKeyText text(collation_);
  for (std::size_t p = 0; p < key.size() && p + 1 < kinds_.size(); ++p) text.add(key[p], kinds_[p]);
  const auto hash = KeyedHash{}(text.text());
  const auto place = std::ranges::lower_bound(groups_, hash, {}, &Group::group);
  return place == groups_.end() || place->group != hash ? 0 : place->values;
}

}  // namespace karmad
