#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "agent/transport/connection_limits.hpp"
#include "agent/transport/resolve.hpp"
#include "agent/transport/tls.hpp"

namespace karmad {

/// The target of connections, shared by the pools of all workers. Any thread may use every member.
class Destination {
 public:
  Destination(Address where, unsigned workers, std::shared_ptr<const DnsSettings> look_ups)
      : address(std::move(where)),
        name(text(address)),
        dns(std::move(look_ups)),
        connections(workers),
        copies(workers) {
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
  const std::shared_ptr<const DnsSettings> dns;

  ConnectionLimits connections;
  ConnectionLimits copies;  ///< limits for copies of queries (`agent_blackhole`)
  /// How often all kept connections were discarded at once; connections of an older generation are
  /// not reused (SD-020, SD-024).
  std::atomic<std::uint64_t> generation{0};
  /// Starts that generation: unused connections of older ones are closed on all workers, the others
  /// when their answer ends. A server that waits for its connections before it stops can stop.
  void discard_connections(std::uint64_t next) {
    generation.store(next, std::memory_order_relaxed);
    close_outdated();
  }

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

  /// The addresses of the name, in the order in which they are tried; null until it was looked up.
  std::shared_ptr<const Endpoints> endpoints() const { return endpoints_.load(); }
  /// False if these are the known ones, in any order. Otherwise unused connections to the addresses
  /// that are gone are closed, and others not reused.
  bool endpoints(Endpoints found) {
    if (const auto known = endpoints_.load(); known && std::ranges::is_permutation(*known, found))
      return false;
    endpoints_.store(std::make_shared<const Endpoints>(std::move(found)));
    {
      const std::scoped_lock lock(mutex_);
      unresolved_.reset();
    }
    version_.fetch_add(1, std::memory_order_release);
    close_outdated();
    return true;
  }
  /// How often the addresses have changed.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  /// The certificate that it showed last was not accepted.
  std::atomic<bool> untrusted{false};
  /// How connections are encrypted; null: not at all.
  std::shared_ptr<const TlsClient> tls() const { return tls_.load(); }
  /// From now on. Connections that were opened in another way are discarded.
  void tls(std::shared_ptr<const TlsClient> next) {
    const auto before = tls_.exchange(next);
    const bool same = before && next ? before->rules() == next->rules() : before == next;
    if (same) return;
    untrusted.store(false, std::memory_order_relaxed);
    discard_connections(generation.load(std::memory_order_relaxed) + 1);
  }

  /// Whether it stands for mirrors that have not been found (`discovery`); unresolved() says why.
  bool absent() const { return address.port == 0 && !address.is_unix(); }
  /// Whether it is a name that must be looked up, not an address.
  bool named() const { return named_; }
  /// Notes that no connection could be opened, so that its name is looked up again.
  void connect_failed() { connect_failed_.store(true, std::memory_order_relaxed); }
  /// Whether that has happened since the last call.
  bool take_connect_failed() {
    return connect_failed_.load(std::memory_order_relaxed) && connect_failed_.exchange(false);
  }

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
  void close_outdated() {
    connections.close_outdated();
    copies.close_outdated();
  }
  std::atomic<std::shared_ptr<const Endpoints>> endpoints_;
  std::atomic<std::shared_ptr<const TlsClient>> tls_;
  std::atomic<std::uint64_t> version_{0};
  std::atomic<bool> connect_failed_{false};
  bool named_ = false;
  mutable std::mutex mutex_;
  std::optional<std::string> unresolved_;
};

/// A server that is no agent: nothing is counted of it.
class PlainServer final : public Destination {
 public:
  explicit PlainServer(Address where, const DnsSettings& look_ups = {})
      : Destination(std::move(where), 1, std::make_shared<const DnsSettings>(look_ups)) {}
  void sent_unasked(unsigned, TimePoint) override {}
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
