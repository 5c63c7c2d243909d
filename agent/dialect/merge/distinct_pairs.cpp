#include "agent/dialect/merge/distinct_pairs.hpp"

#include <algorithm>

#include "agent/json/keyed_hash.hpp"

namespace karmad {

namespace {

/// Bounds the memory where rows have columns of several values: 6 MB for each shard, like a reply.
constexpr std::size_t kMostPairsOfShard = 250'000;

std::unexpected<BadReply> bad_pairs(std::size_t shard, const char* reason) {
  return std::unexpected(BadReply{shard, reason});
}

/// Steps through the combinations of the values in the cells of a row.
class CellValues {
 public:
  /// `several`: by column, whether its cells are lists.
  explicit CellValues(std::vector<bool> several)
      : several_(std::move(several)),
        any_(std::ranges::find(several_, true) != several_.end()),
        rest_(several_.size()),
        values_(several_.size()) {}

  /// Whether a row has a combination, which becomes the present one.
  bool start(std::span<const std::string_view> cells) {
    cells_ = cells;
    for (std::size_t c = 0; c < several_.size(); ++c)
      if (!restart(c)) return false;
    return true;
  }
  bool next() {
    for (std::size_t c = any_ ? several_.size() : 0; c-- > 0;) {
      if (step(c)) return true;
      restart(c);
    }
    return false;
  }
  std::string_view operator[](std::size_t column) const { return values_[column]; }

 private:
  bool restart(std::size_t column) {
    const auto cell = cells_[column];
    if (several_[column] && is_string(cell)) {
      rest_[column] = without_quotes(cell);
      return step(column);
    }
    rest_[column] = {};
    values_[column] = cell;
    return true;
  }
  bool step(std::size_t column) {
    auto& rest = rest_[column];
    if (rest.empty()) return false;
    const auto end = std::min(rest.find(','), rest.size());
    values_[column] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return true;
  }

  std::vector<bool> several_;
  bool any_;
  std::span<const std::string_view> cells_;
  std::vector<std::string_view> rest_;  // of the lists, behind the present value
  std::vector<std::string_view> values_;
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
  CellValues values(std::move(several));
  std::vector<Pair> pairs;
  std::vector<std::string_view> cells;
  RowKeyText key(collation);
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    const auto columns = replies.columns_of(replies.set(s, set));
    cells.resize(columns.size());
    RawRows rows(replies.set(s, set).rows);
    std::size_t read = 0;
    const auto most = pairs.size() + kMostPairsOfShard;
    auto step = rows.next(columns, cells.data());
    for (; step == RawRows::Step::row; step = rows.next(columns, cells.data()), ++read) {
      for (bool more = values.start(cells); more; more = values.next()) {
        if (pairs.size() == most) {
          found.may_be_short_ = true;
          break;
        }
        key.clear();
        for (std::size_t p = 0; p < keys; ++p) key.add(values[p], found.kinds_[p]);
        Pair pair{.group = KeyedHash{}(key.text())};
        for (auto& half : pair.pair) {
          key.add(by_number ? cells[*plan.number] : values[plan.keys], found.kinds_.back());
          half = KeyedHash{}(key.text());
        }
        pairs.push_back(pair);
      }
    }
    if (step == RawRows::Step::malformed) return bad_pairs(s, "a distinct value is malformed");
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
