#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/stats/outcome.hpp"
#include "agent/transport/resolve.hpp"
#include "agent/transport/tls.hpp"
#include "strategies/time.hpp"

namespace karmad {

class Loop;

/// The reason why no connection was opened.
struct NoConnection {
  Outcome outcome = Outcome::connect_failed;
  std::string why;
  bool name_refused = false;  ///< the name does not resolve
};

/// Limits of connections to one agent, for all workers together (SD-025, X-17).
struct ConnectionBounds {
  unsigned connections = 0;  ///< `agent_max_connections`; 0: unlimited
  unsigned connecting = 0;   ///< connects in progress at the same time; 0: unlimited
  unsigned kept = 100;       ///< `persistent_connections_limit`; 0: no connection is reused
  bool operator==(const ConnectionBounds&) const = default;
};

/// Counts the connections of all workers to one agent. Half of each bound is divided evenly among
/// the workers and is always theirs, so that no worker starves. The rest goes to the first to ask.
/// If nothing is left, workers wait in one queue, in order, each at most once. Takes a lock for a
/// walk over the workers, when a connection is opened, first kept, or closed. Any thread.
class ConnectionLimits {
 public:
  explicit ConnectionLimits(unsigned workers, ConnectionBounds bounds = {});

  /// Changes the bounds; open connections stay open.
  void change(ConnectionBounds bounds);
  /// Has every worker close its unused connections that are outdated (Pool::outdated()).
  void close_outdated();

  /// One worker's part. Only that worker calls it, and it is called back on that worker.
  class Member {
   public:
    /// Keeps `owner`, which owns the limits, alive until this has left them.
    Member(ConnectionLimits& of, Loop& loop, std::shared_ptr<const void> owner);
    Member& operator=(Member&&) = delete;

   protected:
    ~Member();

    /// Takes the right to open one more connection. False: the bounds allow none, and the worker is
    /// in the queue until its turn or leave(). Other workers are asked to close idle connections.
    bool try_open();
    /// Leaves the queue.
    void leave();
    void established();  ///< a connect succeeded
    void not_opened();   ///< a connect failed or was cancelled
    void closed();       ///< an established connection was closed
    /// Takes the right to keep a connection for reuse, as long as it is open.
    bool try_keep();
    void kept_no_more();
    /// Whether a reusable connection must be closed for another worker's: at once if it would be
    /// idle, otherwise when that worker has waited for 10 ms.
    bool yields(bool idle) const;
    /// Passes a refused connect to all waiting workers: theirs would be refused as well.
    void refuse_other_workers(const NoConnection& why, TimePoint until);

    virtual void may_open() = 0;   ///< the worker's turn has come
    virtual void make_room() = 0;  ///< an idle connection has to be closed
    virtual void close_outdated() = 0;
    /// A connect of another worker failed: the result for all waiting requests whose time is over
    /// by `until`.
    virtual void refused(const NoConnection& why, TimePoint until) = 0;

   private:
    friend class ConnectionLimits;
    template <class Job>
    void post(Job job);

    const std::shared_ptr<const void> owner_;
    ConnectionLimits& of_;
    Loop& loop_;
    const std::shared_ptr<Member*> self_;
    bool queued_ = false;  ///< this worker's view
  };

 private:
  struct Share {
    unsigned connections = 0;
    unsigned connecting = 0;
    unsigned kept = 0;
  };
  struct Place {
    Member* who;
    TimePoint since;
  };
  unsigned part_of(unsigned bound) const;
  bool has_room(unsigned Share::*what, unsigned bound, const Member& who, bool shared) const;
  bool lacks_connection(const Member& who) const;
  bool may_open(const Member& who) const;
  void take_off(const Member& who);
  void call_first();
  void ask_for_room(const Member& who);

  std::atomic<bool> short_of_connections_{false};  ///< a pool waits until others close theirs
  mutable std::mutex mutex_;
  ConnectionBounds bounds_;
  std::vector<Share> shares_;  ///< of the workers, by index
  std::vector<Member*> members_;
  std::deque<Place> line_;
};

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
