#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace karmad {

/// The order in which long work begins: small work first, then by the share of each client
/// (start-time fair queueing, Goyal, Vin and Cheng 1996), then as it came. A client that has much
/// work waiting delays its own work, not that of others. Large work may be left out, so that small
/// work finds a thread. Pure; a walk over the queue for each take.
template <class Job>
class LongWorkQueue {
 public:
  static constexpr std::size_t kLarge = 4 << 20;  ///< bytes; more takes longer than most merges

  static bool is_large(std::size_t bytes) { return bytes > kLarge; }

  void put(Job& job, std::size_t bytes, std::uint64_t client) {
    if (ends_.size() >= kMostClients)
      std::erase_if(ends_, [this](const auto& end) { return end.second <= now_; });
    auto& end = ends_[client];
    const auto start = std::max(now_, end);
    end = start + bytes;
    items_.push_back({&job, bytes, client, start});
  }

  /// The next job; nothing if there is none, or only large work, which is not wanted.
  Job* take(bool large_too) {
    auto next = items_.end();
    for (auto item = items_.begin(); item != items_.end(); ++item)
      if ((large_too || !is_large(item->bytes)) && (next == items_.end() || before(*item, *next)))
        next = item;
    if (next == items_.end()) return nullptr;
    Job* const job = next->job;
    now_ = std::max(now_, next->start);
    items_.erase(next);
    return job;
  }
  bool has(bool large_too) const {
    return std::ranges::any_of(
        items_, [&](const Item& item) { return large_too || !is_large(item.bytes); });
  }

  /// Takes work out that has not begun; false if it is not there.
  bool remove(const Job& job) {
    const auto item = std::ranges::find(items_, &job, &Item::job);
    if (item == items_.end()) return false;
    // put() may have dropped what the client had.
    if (const auto end = ends_.find(item->client); end != ends_.end())
      end->second -= std::min<std::uint64_t>(end->second, item->bytes);
    items_.erase(item);
    return true;
  }

  /// Nothing waits or runs: what clients had is forgotten.
  void forget_shares() {
    ends_.clear();
    now_ = 0;
  }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }

 private:
  static constexpr std::size_t kMostClients = 1000;  ///< besides those that are ahead of the others
  struct Item {
    Job* job;
    std::size_t bytes;
    std::uint64_t client;
    std::uint64_t start;  ///< in bytes of work that each client has had
  };
  static bool before(const Item& a, const Item& b) {
    if (is_large(a.bytes) != is_large(b.bytes)) return is_large(b.bytes);
    return a.start < b.start;
  }

  std::vector<Item> items_;                      ///< as they came
  std::map<std::uint64_t, std::uint64_t> ends_;  ///< of each client's last work
  std::uint64_t now_ = 0;                        ///< start of the work that began last
};

}  // namespace karmad
