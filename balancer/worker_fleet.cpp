#include "balancer/worker_fleet.hpp"

#include <sched.h>

#include <algorithm>
#include <latch>
#include <utility>

#include "agent/transport/loop/thread_pool.hpp"
#include "balancer/core/memory.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {
namespace {

constexpr Micros kUpkeep = 100ms;
constexpr Micros kIdleUpkeep = 500ms;  // while no mirror is asked and no client connects
constexpr std::size_t kRefreshedInTurn = 100;
constexpr unsigned kMemoryRounds = 5;  // upkeep rounds between two calls
constexpr unsigned kIdleRounds = 10;   // after the last work, until nothing is left to give back
constexpr Micros kDrainInterval = 10ms;

/// The pings of a mirror. Two mirrors at one agent share a pinger if these are equal.
PingSettings ping_settings(const HealthSettings& settings, const ShardDefinition& shard,
                           const Mirror& mirror) {
  const auto& pings = shard.pings;
  const auto interval = settings.ha_ping_interval.value;
  return {.interval = interval,
          .timeout = settings.ping_timeout ? settings.ping_timeout->value
                                           : std::max(interval, Micros(500ms)),
          .kind = pings.kind,
          .path = pings.path,
          .table = pings.kind->about_table ? mirror.tables.front() : std::string(),
          .authorization = shard.credentials.own};
}

}  // namespace

unsigned usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

WorkerFleet::WorkerFleet(unsigned workers, SharedState& shared, MirrorWatch& watch)
    : count_(workers), shared_(shared), mirror_watch_(watch) {}

void WorkerFleet::create(const std::shared_ptr<const Topology>& topology, std::uint64_t seed) {
  const auto& settings = topology->settings;
  admission_ =
      std::make_unique<Admission>(count_, loops_, shared_.connections.most, settings, Loop::now());
  shared_.limits.admission = admission_.get();
  const auto threads = settings.long_work_threads.value;
  helpers_ =
      std::make_unique<ThreadPool>(threads == 0 ? count_ : threads, settings.long_work_queue.value);
  shared_.process.helpers = helpers_.get();
  workers_.resize(count_);
  for (unsigned i = 0; i < count_; ++i)
    workers_[i] = std::make_unique<Worker>(i, seed + i, shared_, topology,
                                           std::span<const std::unique_ptr<Worker>>(workers_));
  for (const auto& worker : workers_) loops_.of.push_back(&worker->loop);
  acceptors_.resize(count_);
}

void WorkerFleet::listen(const std::vector<std::vector<Listening>>& sockets) {
  for (unsigned i = 0; i < count_; ++i)
    for (const auto& socket : sockets[i])
      acceptors_[i].push_back(std::make_unique<Acceptor>(*workers_[i], socket));
}

void WorkerFleet::start() {
  upkeep_ = std::make_unique<Stop>(workers_.front()->loop);
  shared_.process.end_upkeep_pause = [this] { workers_.front()->post([this] { end_pause(); }); };
  for (unsigned i = 0; i < count_; ++i) {
    workers_[i]->on_drain = [this, i] {
      for (auto& acceptor : acceptors_[i]) acceptor->refuse_new();
    };
    workers_[i]->on_close = [this, i] {
      for (auto& acceptor : acceptors_[i]) acceptor->stop();
      if (i != 0) return;
      admission_->stop();
      upkeep_->request(StopReason::cancelled);
      end_pause();
    };
  }
  std::latch accepting(count_);
  for (unsigned i = 0; i < count_; ++i)
    threads_.emplace_back([this, i, &accepting] {
      for (auto& acceptor : acceptors_[i]) acceptor->start();
      accepting.count_down();
      if (i == 0) {
        adopt_pings(*workers_.front()->topology());
        spawn(upkeep());
        spawn(admission_->watch(workers_.front()->loop));
      }
      workers_[i]->run();
    });
  accepting.wait();
}

std::thread WorkerFleet::await_end(std::function<void()> ended) {
  return std::thread([this, ended = std::move(ended)] {
    for (auto& thread : threads_) thread.join();
    ended();
  });
}

void WorkerFleet::adopt(std::shared_ptr<const Topology> next, std::function<void()> done) {
  auto remaining = std::make_shared<std::atomic<std::size_t>>(workers_.size() + 1);
  const auto ended = [remaining, done = std::move(done)] {
    if (remaining->fetch_sub(1) == 1) done();
  };
  auto& first = *workers_.front();
  // In three turns of the loop, each of which takes milliseconds with a thousand tables.
  first.post([this, &first, next = std::move(next), ended] {
    next->take_over();
    first.post([this, &first, next, ended] {
      next->apply_limits(Loop::now());  // before any worker uses the new sets
      for (auto& worker : workers_)
        worker->post([&w = *worker, next, ended] {
          w.topology(next);
          ended();
        });
      admission_->settings(next->settings, Loop::now());
      first.post([this, &first, next, ended] {
        if (!first.draining()) adopt_pings(*next);
        ended();
      });
    });
  });
}

void WorkerFleet::retire() {
  for (auto& worker : workers_) worker->post([&w = *worker] { w.retire(); });
}

void WorkerFleet::drain(Micros linger) {
  for (auto& worker : workers_) worker->post([&w = *worker, linger] { w.drain(linger); });
}

void WorkerFleet::abandon() {
  for (auto& worker : workers_) worker->post([&w = *worker] { w.abandon(); });
}

std::vector<int> WorkerFleet::listening() const {
  std::vector<int> descriptors;
  for (const auto& acceptors : acceptors_)
    for (const auto& acceptor : acceptors) descriptors.push_back(acceptor->descriptor());
  return descriptors;
}

void WorkerFleet::hand_over(const std::function<bool(int descriptor)>& shared) {
  for (const auto& acceptors : acceptors_)
    for (const auto& acceptor : acceptors)
      if (shared(acceptor->descriptor())) acceptor->hand_over();
}

/// The upkeep goes on at once. Worker 0 only.
void WorkerFleet::end_pause() {
  if (pause_ != nullptr) pause_->request(StopReason::cancelled);
}

/// What all workers have done so far: a number that grows with each request and attempt.
std::uint64_t WorkerFleet::work_done() const {
  std::uint64_t done = 0;
  for (const auto& worker : workers_)
    for (const auto what : {Count::connections, Count::requests, Count::attempts})
      done += worker->counters[what];
  return done;
}

/// In several turns of the loop if there are many sets: a turn may take a millisecond.
Task<void> WorkerFleet::refresh_sets(std::shared_ptr<const Topology> topology, Refreshed which) {
  auto& loop = workers_.front()->loop;
  std::size_t refreshed = 0;
  for (const auto& table : topology->tables)
    for (const auto& shard : table->shards) {
      auto& set = *shard->mirrors;
      if (which == Refreshed::due && !set.refresh_is_due(Loop::now())) continue;
      if (which == Refreshed::asked && !set.refresh_is_due(Loop::now()) && !set.is_asked())
        continue;
      set.refresh(Loop::now());
      watch_outliers(*shard, Loop::now(), loop.random);
      if (++refreshed % kRefreshedInTurn == 0) co_await loop.turn.next();
    }
}

/// Periodic work: weights once a period, error rates and latency floors ten times a second, less
/// often while nothing is asked.
Task<void> WorkerFleet::upkeep() {
  auto& worker = *workers_.front();
  unsigned rounds = 0;
  unsigned idle = 0;
  std::uint64_t done = 0;
  bool interrupted = false;
  while (!upkeep_->requested()) {
    const auto before = std::exchange(done, work_done());
    idle = done == before ? idle + 1 : 0;
    for (const auto& agent : worker.topology()->agents) agent->slots.refresh(Loop::now());
    co_await refresh_sets(worker.topology(), interrupted ? Refreshed::all
                                             : idle > 0  ? Refreshed::due
                                                         : Refreshed::asked);
    mirror_watch_.sample(*worker.topology(), Loop::now(), std::chrono::system_clock::now());
    // On another thread: after large answers this takes longer than a turn may.
    if (++rounds % kMemoryRounds == 0 && idle < kIdleRounds) run_detached(give_back_memory);
    Stop pause(worker.loop);
    pause_ = &pause;
    shared_.process.upkeep_pauses.store(idle > 0, std::memory_order_relaxed);
    co_await sleep(worker.loop, Loop::now() + (idle > 0 ? kIdleUpkeep : kUpkeep), pause);
    pause_ = nullptr;
    interrupted = pause.requested();  // strategies need the errors of the last moments
  }
  // During a drain, queries that wait for a suitable mirror need pings until the last query ends.
  while (shared_.connections.open.load(std::memory_order_relaxed) +
             shared_.connections.admin_open.load(std::memory_order_relaxed) >
         0) {
    Stop never(worker.loop);
    co_await sleep(worker.loop, Loop::now() + kDrainInterval, never);
  }
  for (auto& pinger : pingers_) pinger->stop();
}

void WorkerFleet::adopt_pings(const Topology& topology) {
  std::erase_if(pingers_, [](const auto& pinger) { return pinger->stopped(); });
  for (auto& pinger : pingers_) pinger->stop();
  const auto old = static_cast<std::ptrdiff_t>(pingers_.size());
  const auto pinger_of = [&](const ShardDefinition& shard, const Mirror& mirror) {
    auto settings = ping_settings(topology.settings, shard, mirror);
    const auto same = std::find_if(pingers_.begin() + old, pingers_.end(), [&](const auto& pinger) {
      return pinger->asks(*mirror.agent, settings);
    });
    if (same != pingers_.end()) return *same;
    return pingers_.emplace_back(std::make_shared<Pinger>(workers_.front()->loop, mirror.agent,
                                                          std::move(settings),
                                                          topology.settings.hostname_lookup.value));
  };
  for (const auto& table : topology.tables)
    for (const auto& shard : table->shards)
      for (std::size_t i = 0; shard->pings.kind != nullptr && i < shard->mirrors->size(); ++i) {
        if (shard->mirrors->out_of_service().maint.contains(i)) continue;
        const auto pinger = pinger_of(*shard, (*shard->mirrors)[i]);
        pinger->subscribe(shard->mirrors, i, shard->pings.always);
        shard->mirrors->pinger(i, pinger);
      }
  for (auto pinger = pingers_.begin() + old; pinger != pingers_.end(); ++pinger) (*pinger)->start();
  // Closes the sets that were removed, which wakes their waiting queries.
  const auto before = std::exchange(sets_, {});
  for (const auto& table : topology.tables)
    for (const auto& shard : table->shards) sets_.insert(shard->mirrors);
  for (const auto& set : before)
    if (!sets_.contains(set)) set->close();
}

}  // namespace karmad
