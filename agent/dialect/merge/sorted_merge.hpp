#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/dialect/replies/raw_replies.hpp"
#include "agent/dialect/rows/sort_value.hpp"
#include "agent/json/keyed_hash.hpp"

namespace karmad {

/// Finds which documents are the nearest of all shards, where the shards sort them otherwise. Of
/// equal distances the lower id is nearer. The values are JSON, and must outlive it.
class NearestBound {
 public:
  void add(std::string_view distance, std::string_view id) {
    found_.push_back({sort_value(distance), sort_value(id)});
  }
  /// Only the `most` nearest of those added are included; copies count once.
  void settle(std::size_t most) {
    std::ranges::sort(found_);
    const auto copies = std::ranges::unique(found_);
    found_.erase(copies.begin(), copies.end());
    if (found_.size() > most) last_ = found_[most - 1];
  }
  bool includes(std::string_view distance, std::string_view id) const {
    return !last_ || Near{sort_value(distance), sort_value(id)} <= *last_;
  }

 private:
  struct Near {
    SortValue distance;
    SortValue id;

    std::strong_ordering operator<=>(const Near& other) const {
      const auto order = compare(distance, other.distance, Collation::binary);
      return order != 0 ? order : compare(id, other.id, Collation::binary);
    }
    bool operator==(const Near& other) const { return *this <=> other == 0; }
  };

  std::vector<Near> found_;
  std::optional<Near> last_;  ///< of those included; nothing: all are
};

/// Which of the rows of all shards a merge keeps.
struct MergePage {
  std::size_t offset = 0;
  std::size_t limit = 0;
  /// Only so many rows, the nearest of all shards, are kept, and all rows are read; 0: all are.
  std::size_t nearest = 0;
  bool copies = false;  ///< rows with the same id are different ones
};

/// The current row of a shard.
struct MergeLane {
  std::string_view id;        ///< its bytes; empty: the row has none
  std::string_view distance;  ///< a JSON value, if only the nearest rows are kept
};

/// The ids seen so far, in one block of memory sized for the maximum. The hash is keyed, so that
/// clients cannot choose ids that collide. Refers to the bytes of the ids.
class SeenIds {
 public:
  /// Room for `most` ids; more must not be inserted.
  explicit SeenIds(std::size_t most) : slots_(std::bit_ceil(most * 2 + 2)) {}

  /// False if it was present already. Not for empty ids.
  bool insert(std::string_view id) {
    const auto mask = slots_.size() - 1;
    for (auto at = KeyedHash{}(id)&mask;; at = (at + 1) & mask) {
      if (slots_[at].empty()) {
        slots_[at] = id;
        return true;
      }
      if (slots_[at] == id) return false;
    }
  }

 private:
  std::vector<std::string_view> slots_;
};

/// Walks the rows of several shards in one order and keeps those of a page. A row is read when it
/// becomes the next of its shard, so about offset + limit + shards rows are read, and the number of
/// allocations does not depend on the number of rows. Each shard's own order is kept, also for
/// equal rows. Of rows with the same id the first one is kept: of equal rows the last shard's, if
/// shards sort equal rows by id.
///
/// `Rows` are those of the shards:
///   lanes                 a copyable MergeLane for each shard
///   values                a SortTable with a row for each lane
///   next(shard)           advances a lane and sets its MergeLane and its values
///   most_rows()           a bound of the rows in all lanes
///   keep(shard)           its current row is on the page
template <class Rows>
class SortedMerge {
 public:
  using Step = RawRows::Step;

  SortedMerge(Rows& rows, const MergePage& page) : rows_(rows), page_(page) {}

  /// The shard with a malformed row, if any.
  std::optional<std::size_t> run() {
    if (page_.limit == 0) return std::nullopt;
    if (page_.nearest != 0)
      if (const auto shard = find_nearest()) return shard;
    heads_.reserve(rows_.lanes.size());
    for (std::uint32_t s = 0; s < rows_.lanes.size(); ++s) {
      const auto step = next(s);
      if (step == Step::malformed) return s;
      if (step == Step::row) heads_.push_back({rows_.values.rank_of(s), s});
    }
    std::ranges::make_heap(heads_,
                           [this](const Head& a, const Head& b) { return comes_after(a, b); });
    const auto wanted =
        page_.offset +
        std::min(page_.limit, std::numeric_limits<std::size_t>::max() - page_.offset);
    SeenIds seen(page_.copies ? 0 : std::min(wanted, rows_.most_rows()));
    for (std::size_t walked = 0; walked < wanted && !heads_.empty();) {
      const auto s = heads_.front().shard;
      const auto id = id_of(s);
      if (!id.empty() && !seen.insert(id)) {
        ++copies_;
      } else if (walked++ >= page_.offset) {
        rows_.keep(s);
      }
      const auto step = next(s);
      if (step == Step::malformed) return s;
      if (step == Step::row) {
        heads_.front() = {rows_.values.rank_of(s), s};
      } else {
        heads_.front() = heads_.back();
        heads_.pop_back();
      }
      sink();
    }
    return std::nullopt;
  }

  /// Further rows with an id already seen, up to the page's end.
  std::uint64_t copies() const { return copies_; }

 private:
  /// The current row of a shard. Most comparisons need only its rank.
  struct Head {
    std::uint64_t rank = 0;
    std::uint32_t shard = 0;
  };

  std::string_view id_of(std::size_t shard) const {
    return page_.copies ? std::string_view() : rows_.lanes[shard].id;
  }

  bool comes_after(const Head& a, const Head& b) const {
    if (a.rank != b.rank) return a.rank > b.rank;
    const auto order = rows_.values.compare(a.shard, b.shard);
    if (order != 0) return order > 0;
    const auto id = id_of(a.shard);
    const bool copy = !id.empty() && id == id_of(b.shard);
    return copy ? a.shard < b.shard : a.shard > b.shard;
  }

  /// Restores the heap after its head changed.
  void sink() {
    if (heads_.empty()) return;
    const auto sinking = heads_.front();
    std::size_t at = 0;
    for (auto child = 2 * at + 1; child < heads_.size(); child = 2 * at + 1) {
      if (child + 1 < heads_.size() && comes_after(heads_[child], heads_[child + 1])) ++child;
      if (!comes_after(sinking, heads_[child])) break;
      heads_[at] = heads_[child];
      at = child;
    }
    heads_[at] = sinking;
  }

  /// Reads the distances of all rows; the shard with a malformed one, if any.
  std::optional<std::size_t> find_nearest() {
    for (std::size_t s = 0; s < rows_.lanes.size(); ++s) {
      const auto before = rows_.lanes[s];
      auto step = rows_.next(s);
      for (; step == Step::row; step = rows_.next(s))
        nearest_.add(rows_.lanes[s].distance, rows_.lanes[s].id);
      if (step == Step::malformed) return s;
      rows_.lanes[s] = before;
    }
    nearest_.settle(page_.nearest);
    return std::nullopt;
  }

  /// Advances a shard to its next row that may be on the page.
  Step next(std::size_t shard) {
    auto step = rows_.next(shard);
    while (page_.nearest != 0 && step == Step::row &&
           !nearest_.includes(rows_.lanes[shard].distance, rows_.lanes[shard].id))
      step = rows_.next(shard);
    return step;
  }

  Rows& rows_;
  MergePage page_;
  std::vector<Head> heads_;  // a heap of the shards that have a current row
  NearestBound nearest_;
  std::uint64_t copies_ = 0;
};

}  // namespace karmad
