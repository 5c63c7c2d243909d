#include "agent/dialect/merge/merge_documents.hpp"

#include <algorithm>
#include <limits>

#include "agent/dialect/merge/lanes.hpp"
#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/dialect/merge/nearest_bound.hpp"
#include "agent/dialect/rows/sort_value.hpp"

namespace karmad {

namespace {

constexpr std::size_t kNoColumn = std::numeric_limits<std::size_t>::max();

/// The rows of one shard during the walk.
struct RowLane {
  RawRows rows;
  std::span<const RawColumn> columns;
  std::size_t id = kNoColumn;  ///< position of the id
  std::size_t distance = kNoColumn;
};

class DocumentMerge {
 public:
  DocumentMerge(const RawReplies& replies, std::size_t set, const RowPlan& plan,
                Collation collation)
      : plan_(plan),
        collation_(collation),
        common_(replies, set),
        lanes_(replies.shards()),
        cells_(replies.shards() * common_.widest()),
        keys_(replies.shards() * plan.order.size()),
        values_(keys_.size()) {
    for (std::size_t s = 0; s < lanes_.size(); ++s) {
      const auto& from = replies.set(s, set);
      lanes_[s] = {.rows = RawRows(from.rows), .columns = replies.columns_of(from)};
    }
    const auto as_text = [](const RowKey& key) { return key.as_text; };
    if (std::ranges::any_of(plan.order, as_text)) texts_.resize(values_.size());
  }

  std::expected<MergedRows, BadReply> run() {
    MergedRows merged;
    merged.columns = common_.columns();
    merged.hidden = plan_.hidden;
    merged.behind = plan_.behind;
    if (plan_.limit == 0) return merged;
    const auto wanted = plan_.offset > std::numeric_limits<std::size_t>::max() - plan_.limit
                            ? std::numeric_limits<std::size_t>::max()
                            : plan_.offset + plan_.limit;
    LaneHeap heap(lanes_.size(),
                  [this](std::uint32_t a, std::uint32_t b) { return comes_after(a, b); });
    for (std::uint32_t s = 0; s < lanes_.size(); ++s) {
      if (lanes_[s].columns.empty()) continue;
      if (!find_columns(s)) return bad(s, "its rows lack columns that were requested");
      if (plan_.distance && !add_distances(s)) return bad(s, "a row is malformed");
    }
    if (plan_.distance) nearest_.settle(plan_.nearest);
    for (std::uint32_t s = 0; s < lanes_.size(); ++s) {
      if (lanes_[s].columns.empty()) continue;
      const auto step = advance(s);
      if (step == RawRows::Step::malformed) return bad(s, "a row is malformed");
      if (step == RawRows::Step::row) heap.add(head(s));
    }
    heap.order();
    const auto most = most_rows();
    SeenIds seen(std::min(wanted, most));
    merged.cells.reserve(std::min(plan_.limit, most) * merged.columns.size());
    for (std::size_t walked = 0; walked < wanted && !heap.empty();) {
      const auto s = heap.best();
      const auto id = id_of(s);
      if (!id.empty() && !seen.insert(id)) {
        ++merged.dropped;
      } else {
        if (walked >= plan_.offset) {
          common_.append(s, row(s), merged.cells);
          ++merged.count;
        }
        ++walked;
      }
      switch (advance(s)) {
        case RawRows::Step::malformed:
          return bad(s, "a row is malformed");
        case RawRows::Step::row:
          heap.replace_best(head(s));
          break;
        case RawRows::Step::end:
          heap.remove_best();
      }
    }
    return merged;
  }

 private:
  static std::unexpected<BadReply> bad(std::size_t shard, const char* reason) {
    return std::unexpected(BadReply{shard, reason});
  }

  /// Finds the positions of the sort keys and of the id in the rows of a shard.
  bool find_columns(std::size_t shard) {
    auto& lane = lanes_[shard];
    for (std::size_t k = 0; k < plan_.order.size(); ++k) {
      const auto at = position(plan_.order[k].column, lane.columns.size());
      if (!at) return false;
      keys_[shard * plan_.order.size() + k] = *at;
    }
    if (!plan_.id) return true;
    lane.id = position(*plan_.id, lane.columns.size()).value_or(kNoColumn);
    if (plan_.distance)
      lane.distance = position(*plan_.distance, lane.columns.size()).value_or(kNoColumn);
    return lane.id != kNoColumn && (!plan_.distance || lane.distance != kNoColumn);
  }

  /// Reads the distances of all rows of a shard. False: a row is malformed.
  bool add_distances(std::size_t shard) {
    const auto& lane = lanes_[shard];
    const auto cells = row(shard);
    for (auto rows = lane.rows;;) {
      const auto step = rows.next(lane.columns, cells.data());
      if (step != RawRows::Step::row) return step == RawRows::Step::end;
      nearest_.add(cells[lane.distance], cells[lane.id]);
    }
  }

  /// Bounds the reserved memory by the bytes received: no cell is shorter than `"":0,`.
  std::size_t most_rows() const {
    std::size_t rows = 0;
    for (const auto& lane : lanes_)
      if (!lane.columns.empty()) rows += 1 + lane.rows.bytes_left() / (5 * lane.columns.size());
    return rows;
  }

  std::span<std::string_view> row(std::size_t shard) {
    return std::span(cells_).subspan(shard * common_.widest(), lanes_[shard].columns.size());
  }
  std::string_view id_of(std::size_t shard) {
    const auto id = lanes_[shard].id;
    return id == kNoColumn ? std::string_view{} : row(shard)[id];
  }

  /// Advances a shard to its next row and reads its sort values.
  RawRows::Step advance(std::size_t shard) {
    auto& lane = lanes_[shard];
    const auto cells = row(shard);
    auto step = lane.rows.next(lane.columns, cells.data());
    while (plan_.distance && step == RawRows::Step::row &&
           !nearest_.includes(cells[lane.distance], cells[lane.id]))
      step = lane.rows.next(lane.columns, cells.data());
    if (step != RawRows::Step::row) return step;
    const auto keys = plan_.order.size();
    for (std::size_t k = shard * keys; k < (shard + 1) * keys; ++k) {
      const auto cell = cells[keys_[k]];
      const auto& key = plan_.order[k - shard * keys];
      const auto attribute =
          key.attribute ? position(*key.attribute, lane.columns.size()) : std::nullopt;
      values_[k] = key.as_text
                       ? path_sort_value(cell, attribute ? cells[*attribute] : std::string_view(),
                                         key.steps, texts_[k])
                       : sort_value(cell);
    }
    return step;
  }

  LaneHead head(std::uint32_t shard) const {
    if (plan_.order.empty()) return {0, shard};
    const auto first = rank(values_[shard * plan_.order.size()]);
    return {plan_.order.front().descending ? ~first : first, shard};
  }

  /// Whether the current row of shard `a` comes after that of shard `b` in the answer.
  bool comes_after(std::uint32_t a, std::uint32_t b) {
    const auto keys = plan_.order.size();
    for (std::size_t k = 0; k < keys; ++k) {
      const auto compared = compare(values_[a * keys + k], values_[b * keys + k], collation_);
      if (compared != 0) return (compared > 0) != plan_.order[k].descending;
    }
    const auto id = id_of(a);
    return !id.empty() && id == id_of(b) ? a < b : a > b;  // of copies the last shard's is kept
  }

  const RowPlan& plan_;
  NearestBound nearest_;  // used with plan_.distance
  Collation collation_;
  CommonColumns common_;
  std::vector<RowLane> lanes_;
  std::vector<std::string_view> cells_;  // by lane, of its current row
  std::vector<std::size_t> keys_;        // by lane, the column of each sort key
  std::vector<SortValue> values_;        // likewise, the value in the current row
  std::vector<SortText> texts_;          // likewise, of values inside JSON; may be empty
};

}  // namespace

std::expected<MergedRows, BadReply> merge_documents(const RawReplies& replies, std::size_t set,
                                                    const RowPlan& plan, Collation collation) {
  return DocumentMerge(replies, set, plan, collation).run();
}

}  // namespace karmad
