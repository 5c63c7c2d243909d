#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "agent/transport/http/http_head.hpp"
#include "agent/transport/pool.hpp"
#include "balancer/core/counters.hpp"
#include "balancer/core/disconnect_watcher.hpp"
#include "balancer/core/user_handle.hpp"
#include "balancer/rules/admission/rate_gates.hpp"
#include "balancer/rules/agreed_errors.hpp"
#include "balancer/topology/topology.hpp"
#include "balancer/trace/line_rate.hpp"

namespace karmad {

class Admission;
class SelectionLog;
class HelperPool;
class LineWriter;

/// What the whole process knows and every worker may read.
struct Process {
  std::uint32_t max_connections = 0;          ///< what `max_connections` comes to
  std::atomic<std::uint32_t> connections{0};  ///< client connections open now
  std::atomic<bool> draining{false};
  std::atomic<std::uint32_t> waiting_selections{0};  ///< for a suitable mirror (SS-113)
  std::shared_ptr<const SelectionLog> selection_log;
  Admission* admission = nullptr;            ///< none: every request is admitted
  LineWriter* access_log = nullptr;          ///< none: it is off
  const LineWriter* log = nullptr;           ///< standard error
  HelperPool* helpers = nullptr;             ///< none: every worker does its long work itself
  MemoryLimit memory;                        ///< of all requests (`memory_limit`)
  std::span<const UserHandle> user_handles;  ///< the application's
  TimePoint started{};
  RateGates rates;
  AgreedErrors agreed_errors;
};

/// A client's connection, as its worker sees it.
class Client {
 public:
  /// Ends now when idle and nothing has come, else after the next answer.
  virtual void drain() = 0;
  /// Ends at once.
  virtual void abandon() = 0;

 protected:
  ~Client() = default;

 private:
  friend class Worker;
  std::size_t place_ = 0;  ///< among those of its worker
};

/// A thread's share of the balancer: its loop, its connections to agents, its sessions and its
/// counters. A query lives and dies on one worker. Everything but `post` and the counters belongs
/// to its thread.
class Worker {
 public:
  Worker(unsigned index, std::uint64_t seed, Process& process,
         std::shared_ptr<const Topology> topology, std::span<const std::unique_ptr<Worker>> all);
  ~Worker();

  /// Runs until it was drained and the last session has ended.
  void run() { loop.run(); }

  /// Calls `job` on this worker; from any thread.
  void post(Inbox::Job job) { loop.post(std::move(job)); }

  /// The configuration a query begins with; it keeps it to its end.
  std::shared_ptr<const Topology> topology() const { return {topology_, topology_->get()}; }
  void topology(std::shared_ptr<const Topology> next);
  const Topology* topology_now() const { return topology_->get(); }

  Pool& pool(const std::shared_ptr<Agent>& agent) {
    return pool(pools_, agent, agent->connections);
  }
  Pool& blackhole_pool(const std::shared_ptr<Agent>& agent) {
    return pool(blackhole_pools_, agent, agent->copies);
  }

  /// A head for one request's time; idle connections have none.
  std::unique_ptr<RequestHead> take_head();
  void give_head(std::unique_ptr<RequestHead> head) {
    if (heads_.size() < kHeads) heads_.push_back(std::move(head));
  }

  void register_session(Client& client);
  void unregister_session(Client& client);
  /// No new connections; every session ends after its next answer. Sessions that have brought no
  /// request within `linger` end without one: until then a request may be on its way.
  void drain(Micros linger);
  /// Everything ends now.
  void abandon();
  bool draining() const { return draining_; }

  Loop loop;
  DisconnectWatcher disconnect_watcher{loop};
  Process& process;
  Counters counters;
  LineRate retry_lines{10};                            ///< of the log, at level info
  const std::span<const std::unique_ptr<Worker>> all;  ///< every worker, this one included
  /// A number for the next query, unlike those of other workers.
  std::uint64_t next_query() { return queries_++ * all.size() + loop.index; }
  std::vector<Stop*> copies;       ///< the ends of what is on its way to blackholes
  std::size_t copies_size = 0;     ///< bytes of it
  std::function<void()> on_drain;  ///< refuses new connections
  std::function<void()> on_close;  ///< accepts the last ones; ends what else has to end (pingers)

 private:
  Task<void> close_down(Micros linger);
  void finish_if_empty();

  /// The topology's own counter is shared by all workers; this one is counted here alone.
  std::shared_ptr<std::shared_ptr<const Topology>> topology_;
  static constexpr std::size_t kHeads = 64;
  using Pools = std::vector<std::unique_ptr<Pool>>;  // by Agent::id
  Pool& pool(Pools& pools, const std::shared_ptr<Agent>& agent, ConnectionLimits& limits);

  Pools pools_;
  Pools blackhole_pools_;
  std::vector<std::unique_ptr<RequestHead>> heads_;
  std::vector<Client*> clients_;
  bool draining_ = false;
  bool accepting_ = true;
  bool finished_ = false;
  Stop closing_{loop};  ///< ends the waits of close_down()
  std::uint64_t queries_ = 0;
};

}  // namespace karmad
