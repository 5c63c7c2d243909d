#include "agent/dialect/merge/merge_groups.hpp"

#include <algorithm>

#include "agent/json/keyed_hash.hpp"

namespace karmad {

namespace {

/// Bounds the memory where rows have columns of several values: 6 MB for each shard, like a reply.
constexpr std::size_t kMostPairsOfShard = 250'000;

std::unexpected<BadReply> bad_pairs(std::size_t shard, const char* reason) {
  return std::unexpected(BadReply{shard, reason});
}

/// The values of a row, some of whose cells are lists.
struct CellValues {
  std::vector<bool> several;  ///< by column, whether its cells are lists
  std::vector<std::string_view> values{};

  /// Calls `visit` with each combination of the values in `values`, until that returns false.
  template <class Visit>
  bool each(std::span<const std::string_view> cells, const Visit& visit, std::size_t column = 0) {
    values.resize(several.size());
    if (column == several.size()) return visit();
    auto& value = values[column];
    value = cells[column];
    if (!several[column] || !is_string(value)) return each(cells, visit, column + 1);
    for (auto rest = without_quotes(value); !rest.empty();) {
      value = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(value.size() + 1, rest.size()));
      if (!each(cells, visit, column + 1)) return false;
    }
    return true;
  }
};

}  // namespace

std::expected<DistinctPairs, BadReply> DistinctPairs::read(const RawReplies& replies,
                                                           std::size_t set, const PairsPlan& plan,
                                                           Collation collation) {
  std::vector<KeyKind> kinds(plan.keys + 1, KeyKind::attribute);
  kinds.back() = KeyKind::json_path;  // values differ by capitals, unlike the keys of groups
  std::vector<bool> several(kinds.size());
  bool real = false;
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    const auto columns = replies.columns_of(replies.set(s, set));
    if (columns.empty()) continue;
    if (columns.size() < kinds.size()) return bad_pairs(s, "its distinct values lack a column");
    for (std::size_t p = 0; p < kinds.size(); ++p) {
      if (RowKeyText::kind_of(columns[p]) == KeyKind::json_path) kinds[p] = KeyKind::json_path;
      if (columns[p].has_several_values()) several[p] = true;
    }
    const auto type = columns[plan.keys].type;
    real = real || equals_literal(type, "float") || equals_literal(type, "double");
    if (plan.number && *plan.number >= columns.size())
      return bad_pairs(s, "its distinct values lack a column");
  }
  const bool by_number = real && plan.number && std::ranges::find(several, true) == several.end();
  DistinctPairs found(std::move(kinds), collation);
  const auto keys_end = several.begin() + static_cast<std::ptrdiff_t>(plan.keys);
  if (plan.numbered && plan.keys > 1 && std::find(several.begin(), keys_end, true) != keys_end) {
    found.by_group_ = false;
    std::fill(several.begin(), keys_end, false);
  }
  const auto keys = found.by_group_ ? plan.keys : 0;
  CellValues row{std::move(several)};
  std::vector<Pair> pairs;
  RowKeyText key(collation);
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    std::size_t read = 0;
    std::vector<std::string_view> room(replies.set(s, set).columns);
    const auto most = pairs.size() + kMostPairsOfShard;
    const auto add = [&](std::span<const std::string_view> cells) {
      ++read;
      found.may_be_short_ |= !row.each(cells, [&] {
        if (pairs.size() == most) return false;
        key.clear();
        for (std::size_t p = 0; p < keys; ++p) key.add(row.values[p], found.kinds_[p]);
        Pair pair{.group = KeyedHash{}(key.text())};
        for (auto& half : pair.pair) {
          key.add(by_number ? cells[*plan.number] : row.values[plan.keys], found.kinds_.back());
          half = KeyedHash{}(key.text());
        }
        pairs.push_back(pair);
        return true;
      });
    };
    if (!visit_rows(replies, replies.set(s, set), room, add))
      return bad_pairs(s, "a distinct value is malformed");
    found.may_be_short_ |= plan.asked != 0 && read >= plan.asked;
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
