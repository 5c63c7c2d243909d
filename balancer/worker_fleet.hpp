#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "agent/mirrors/ping.hpp"
#include "agent/transport/loop/thread_pool.hpp"
#include "balancer/admission/admission.hpp"
#include "balancer/core/worker.hpp"
#include "balancer/ingress/acceptor.hpp"
#include "balancer/watch/mirror_watch.hpp"

namespace karmad {

/// The number of cores that this process may use.
unsigned usable_cores();

/// All workers: their threads and listening sockets, and what worker 0 does for all of them, which
/// is pings, admission, and the periodic work on mirrors. The main thread calls, unless it is said
/// otherwise.
class WorkerFleet {
 public:
  /// `shared`: gets what queries need of this; both it and `watch` outlive the fleet.
  WorkerFleet(unsigned workers, SharedState& shared, MirrorWatch& watch);

  std::size_t size() const { return count_; }
  /// Empty until create().
  const Loops& loops() const { return loops_; }
  bool created() const { return !workers_.empty(); }
  /// Makes the workers, which do not run yet. `seed`: of their random choices.
  void create(const std::shared_ptr<const Topology>& topology, std::uint64_t seed);
  /// The sockets of one listen line, by worker.
  void listen(const std::vector<std::vector<Listening>>& sockets);
  Admission& admission() { return *admission_; }
  /// What worker 0 uses. On worker 0 only.
  std::shared_ptr<const Topology> topology() const { return workers_.front()->topology(); }
  /// Starts the threads, and returns when every worker accepts connections.
  void start();
  /// Waits for the end of all threads, on a thread of its own; then `ended` is called there.
  std::thread await_end(std::function<void()> ended);

  /// Calls `job` on a worker. Any thread.
  void post(std::size_t worker, Inbox::Job job) { workers_[worker]->post(std::move(job)); }
  /// Makes every worker and the pings use this topology. `done` is called by the last of them.
  void adopt(std::shared_ptr<const Topology> next, std::function<void()> done);
  /// From now on every answer ends its connection.
  void retire();
  /// Accepts no new connections; see Worker::drain().
  void drain(Micros linger);
  /// Ends everything at once.
  void abandon();

  /// The descriptors of all listening sockets.
  std::vector<int> listening() const;
  /// Another process accepts from those sockets for which `shared` is true.
  void hand_over(const std::function<bool(int descriptor)>& shared);

 private:
  void end_pause();
  std::uint64_t work_done() const;
  Task<void> upkeep();
  enum class Refreshed : std::uint8_t { due, asked, all };
  Task<void> refresh_sets(std::shared_ptr<const Topology> topology, Refreshed which);
  void adopt_pings(const Topology& topology);

  const unsigned count_;
  SharedState& shared_;
  MirrorWatch& mirror_watch_;
  Loops loops_;
  std::unique_ptr<Admission> admission_;
  std::unique_ptr<ThreadPool> helpers_;  ///< outlives the coroutines that wait for it
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::vector<std::unique_ptr<Acceptor>>> acceptors_;  ///< by worker
  std::vector<std::thread> threads_;
  // Of worker 0:
  std::vector<std::shared_ptr<Pinger>> pingers_;
  std::set<std::shared_ptr<MirrorSet>> sets_;  ///< those in use
  std::unique_ptr<Stop> upkeep_;
  Stop* pause_ = nullptr;  ///< that the upkeep makes now
};

}  // namespace karmad
