#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/json/keyed_hash.hpp"

namespace karmad {

/// The current element of a shard. Most comparisons need only the rank of the first sort key.
struct LaneHead {
  std::uint64_t rank = 0;  ///< lower is better
  std::uint32_t shard = 0;
};

/// The shards that have a current element, the best one first. `comes_after(a, b)` compares the
/// current elements of two shards with equal ranks.
template <class ComesAfter>
class LaneHeap {
 public:
  LaneHeap(std::size_t shards, ComesAfter comes_after) : comes_after_(comes_after) {
    heads_.reserve(shards);
  }

  /// Before order().
  void add(LaneHead head) { heads_.push_back(head); }
  void order() {
    std::ranges::make_heap(heads_,
                           [this](const LaneHead& a, const LaneHead& b) { return after(a, b); });
  }

  bool empty() const { return heads_.empty(); }
  std::uint32_t best() const { return heads_.front().shard; }
  /// The best shard advanced to another element.
  void replace_best(LaneHead head) {
    heads_.front() = head;
    sink();
  }
  /// The best shard has no more elements.
  void remove_best() {
    heads_.front() = heads_.back();
    heads_.pop_back();
    sink();
  }

 private:
  bool after(const LaneHead& a, const LaneHead& b) const {
    return a.rank != b.rank ? a.rank > b.rank : comes_after_(a.shard, b.shard);
  }

  /// Restores the heap after its head changed.
  void sink() {
    if (heads_.empty()) return;
    const auto sinking = heads_.front();
    std::size_t at = 0;
    for (auto child = 2 * at + 1; child < heads_.size(); child = 2 * at + 1) {
      if (child + 1 < heads_.size() && after(heads_[child], heads_[child + 1])) ++child;
      if (!after(sinking, heads_[child])) break;
      heads_[at] = heads_[child];
      at = child;
    }
    heads_[at] = sinking;
  }

  ComesAfter comes_after_;
  std::vector<LaneHead> heads_;
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

}  // namespace karmad
