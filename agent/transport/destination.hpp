#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "agent/transport/connection_limits.hpp"
#include "agent/transport/resolve.hpp"

namespace karmad {

/// The target of connections, shared by the pools of all workers. Any thread may use every member.
class Destination {
 public:
  Destination(Address where, unsigned workers)
      : address(std::move(where)), name(text(address)), connections(workers), copies(workers) {
    if (auto literal = literal_endpoints(address)) {
      endpoints(*std::move(literal));
    } else {
      named_ = true;
    }
  }
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;
  virtual ~Destination() = default;

  const Address address;
  const std::string name;  ///< `host:port` or the socket's path

  ConnectionLimits connections;
  ConnectionLimits copies;  ///< limits for copies of queries (`agent_blackhole`)
  /// How often all kept connections were discarded at once; connections of an older generation are
  /// not reused (SD-020, SD-024).
  std::atomic<std::uint64_t> generation{0};

  /// Relaxed atomics on their own cache line; they order no other memory.
  struct alignas(64) Counts {
    std::atomic<std::uint32_t> open{0};             ///< connections of all workers
    std::atomic<std::uint32_t> waiting{0};          ///< attempts that wait for a connection
    std::atomic<std::int64_t> distrusted_until{0};  ///< µs: no connection is reused before
    std::atomic<std::uint32_t> quiet{0};      ///< answers in a row without late bytes behind them
    std::atomic<std::int64_t> last_query{0};  ///< start of the last attempt, µs; 0: never
  };
  Counts counts;

  /// The agent sent bytes on an idle connection of that worker, which counts as its error.
  virtual void sent_unasked(unsigned worker, TimePoint now) = 0;

  /// The addresses of the name; null until it was looked up.
  std::shared_ptr<const Endpoints> endpoints() const { return endpoints_.load(); }
  void endpoints(Endpoints found) {
    endpoints_.store(std::make_shared<const Endpoints>(std::move(found)));
  }

  /// Whether it is a name that must be looked up, not an address.
  bool named() const { return named_; }
  /// Whether the next connection must look up the name again: always with `on_request`, once after
  /// look_up_soon().
  bool look_up_again(LookUp when) {
    return named_ && (when == LookUp::on_request || look_up_soon_.exchange(false));
  }
  void look_up_soon() { look_up_soon_ = true; }

  /// Why the name does not resolve; used only if names are looked up in the background. Connections
  /// then fail at once without a look-up. Takes a lock.
  std::optional<std::string> unresolved() const {
    const std::scoped_lock lock(mutex_);
    return unresolved_;
  }
  void unresolved(std::string why) {
    const std::scoped_lock lock(mutex_);
    unresolved_ = std::move(why);
  }

 private:
  std::atomic<std::shared_ptr<const Endpoints>> endpoints_;
  std::atomic<bool> look_up_soon_{false};
  bool named_ = false;
  mutable std::mutex mutex_;
  std::optional<std::string> unresolved_;
};

/// Increments a counter while it lives; moving it hands the increment over.
class Flight {
 public:
  explicit Flight(std::atomic<std::uint32_t>& count) : count_(&count) {
    count.fetch_add(1, std::memory_order_relaxed);
  }
  Flight(Flight&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  Flight& operator=(Flight&&) = delete;
  ~Flight() {
    if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t>* count_;
};

}  // namespace karmad
