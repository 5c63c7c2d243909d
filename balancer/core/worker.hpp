#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "agent/transport/http/http_head.hpp"
#include "agent/transport/pool.hpp"
#include "balancer/core/compression.hpp"
#include "balancer/core/counters.hpp"
#include "balancer/core/disconnect_watcher.hpp"
#include "balancer/core/process.hpp"
#include "balancer/core/process_list.hpp"
#include "balancer/explain/explain_record.hpp"
#include "balancer/rules/admission/verified_passwords.hpp"
#include "balancer/topology/topology.hpp"
#include "balancer/trace/line_writer.hpp"

namespace karmad {

/// A client's connection, for the worker that drains it.
class Client {
 public:
  /// Closes at once if idle and no bytes have come, else after the next answer.
  virtual void drain() = 0;
  /// Closes the connection at once.
  virtual void abandon() = 0;
  /// Does what KILL asks for if it is about this connection.
  virtual KillOutcome kill(const Kill&) { return KillOutcome::unknown; }
  /// Adds what the connection does, if the list is about it.
  virtual void list(ProcessList&) {}

 protected:
  ~Client() = default;

 private:
  friend class Worker;
  std::size_t place_ = 0;  ///< index in its worker's list
};

/// One thread of the balancer: its loop, its connections to agents, its sessions and its counters.
/// A query stays on one worker. Other threads may call only post() and read the counters.
class Worker {
 public:
  Worker(unsigned index, std::uint64_t seed, SharedState& shared,
         std::shared_ptr<const Topology> topology, std::span<const std::unique_ptr<Worker>> all);
  ~Worker();

  /// Runs until it was drained and the last session has ended.
  void run() { loop.run(); }

  /// Calls `job` on this worker; from any thread.
  void post(Inbox::Job job) { loop.post(std::move(job)); }

  /// The current configuration; a query keeps the one it started with.
  std::shared_ptr<const Topology> topology() const { return {topology_, topology_->get()}; }
  /// Connections to agents that it has too are kept.
  void topology(std::shared_ptr<const Topology> next);
  const Topology* topology_now() const { return topology_->get(); }

  Pool& pool(const std::shared_ptr<Agent>& agent) {
    return pool(pools_, agent, agent->connections);
  }
  Pool& blackhole_pool(const std::shared_ptr<Agent>& agent) {
    return pool(blackhole_pools_, agent, agent->copies);
  }

  /// Lends a head for one request; idle connections have none.
  std::unique_ptr<RequestHead> take_head();
  void give_head(std::unique_ptr<RequestHead> head) {
    if (heads_.size() < kHeads) heads_.push_back(std::move(head));
  }

  void register_session(Client& client);
  void unregister_session(Client& client);
  /// Ends a statement or a connection of this worker.
  KillOutcome kill(const Kill& kill);
  /// Adds the connections of this worker.
  void list(ProcessList& list);
  /// From now on every answer ends its connection; new connections are still accepted.
  void retire() { retiring_ = true; }
  /// Accepts no new connections; every session ends after its next answer. A session that gets no
  /// request within `linger` ends after that time.
  void drain(Micros linger);
  /// Ends everything at once.
  void abandon();
  bool draining() const { return draining_; }
  /// Whether answers end their connections.
  bool retiring() const { return retiring_; }

  Loop loop;
  DisconnectWatcher disconnect_watcher{loop};
  Process& process;
  ClientConnections& connections;
  RequestLimits& limits;
  Monitoring& monitoring;
  Counters counters;
  AttemptResults attempt_results;
  ExplainRing explained;             ///< the last requests (`explain_requests`)
  ExplainRing explained_on_request;  ///< the last ones whose clients asked for an explanation
  LineRate retry_lines{10};          ///< limits lines on retries in the log
  LineRate protocol_lines{1};        ///< those on clients that speak another protocol
  LineRate error_lines{10};          ///< those that clients get no room for, and internal ones
  LineRate auth_lines{10};           ///< those on refused credentials
  VerifiedPasswords verified;        ///< of clients (`auth_remembered`)
  TimeShare compression;             ///< of this thread's time (`compress_share`)
  std::unique_ptr<Compressor> compressor;              ///< kept for the next answer; null: none
  const std::span<const std::unique_ptr<Worker>> all;  ///< every worker, this one included
  /// The count of all workers together.
  std::uint64_t total(Count count) const {
    std::uint64_t sum = 0;
    for (const auto& each : all) sum += each->counters[count];
    return sum;
  }
  /// A number for the next query, unique over all workers.
  std::uint64_t next_query() {
    if (process.upkeep_pauses.load(std::memory_order_relaxed) &&
        process.upkeep_pauses.exchange(false))
      process.end_upkeep_pause();
    return queries_++ * all.size() + loop.index;
  }
  std::vector<Stop*> copies;       ///< stops of the copies being sent to blackholes
  std::size_t copies_size = 0;     ///< their size in bytes
  std::function<void()> on_drain;  ///< makes the listeners refuse new connections
  std::function<void()> on_close;  ///< accepts the waiting connections and stops other tasks

 private:
  Task<void> close_down(Micros linger);
  void finish_if_empty();

  /// The outer pointer has a reference count of this worker alone: a query that holds the topology
  /// does not write to memory that all workers share.
  std::shared_ptr<std::shared_ptr<const Topology>> topology_;
  static constexpr std::size_t kHeads = 64;
  static constexpr std::size_t kExplainedOnRequest = 64;
  void keep_explanations();
  using Pools = std::vector<std::unique_ptr<Pool>>;  // by Agent::id
  Pool& pool(Pools& pools, const std::shared_ptr<Agent>& agent, ConnectionLimits& bounds);

  Pools pools_;
  Pools blackhole_pools_;
  std::vector<std::unique_ptr<RequestHead>> heads_;
  std::vector<Client*> clients_;
  bool draining_ = false;
  bool retiring_ = false;
  bool accepting_ = true;
  bool finished_ = false;
  Stop closing_{loop};  ///< ends the waits of close_down()
  std::uint64_t queries_ = 0;
};

}  // namespace karmad
