#include "balancer/worker.hpp"

#include <algorithm>

#include "balancer/ingress/session.hpp"

namespace karmad {

namespace {

/// How long the last handshakes may take: a round trip.
constexpr Micros kHandshake = 50ms;

bool in_use(const Topology& topology, const Agent& agent) {
  return std::ranges::any_of(topology.agents,
                             [&](const auto& other) { return other.get() == &agent; });
}

/// A worker's part of a limit, at least one; 0 stays 0. Parts, not one shared count: a worker whose
/// idle connections use up the count would keep the others from having any.
unsigned part(unsigned limit, std::size_t workers) {
  return limit == 0
             ? 0
             : std::max(1u, limit / static_cast<unsigned>(std::max<std::size_t>(workers, 1)));
}

constexpr std::size_t kIdlePart = 16;  // of memory_limit may be kept in idle buffers

PoolLimits pool_limits(const InstanceSettings& settings, std::size_t workers) {
  return {.connections = part(settings.agent_max_connections.value, workers),
          .connecting = part(settings.agent_max_connecting.value, workers)};
}

}  // namespace

unsigned Worker::keep() const {
  const auto& set = (*topology_)->settings.persistent_connections_limit;
  const auto limit = set ? set->value : 100u;  // X-17, SD-025
  const auto workers = static_cast<unsigned>(std::max<std::size_t>(all.size(), 1));
  return (limit + workers - 1) / workers;
}

Worker::Worker(unsigned index, std::uint64_t seed, Process& the_process,
               std::shared_ptr<const Topology> topology,
               std::span<const std::unique_ptr<Worker>> workers)
    : loop(index, topology->settings.buffer_keep_up_to.value, seed),
      process(the_process),
      all(workers),
      topology_(std::make_shared<std::shared_ptr<const Topology>>(std::move(topology))) {
  loop.memory.join(process.memory);
  if (const auto limit = process.memory.limit(); limit != 0)
    loop.buffers.keep_at_most(std::min<std::size_t>(
        Buffers::kKeptBytes, limit / kIdlePart / std::max<std::size_t>(all.size(), 1)));
}

Worker::~Worker() = default;

void Worker::topology(std::shared_ptr<const Topology> next) {
  topology_ = std::make_shared<std::shared_ptr<const Topology>>(std::move(next));
  // An agent may be gone, and kept connections cost little to renew.
  for (auto* pools : {&pools_, &blackhole_pools_})
    for (auto& pool : *pools) {
      if (!pool) continue;
      pool->keep(keep());
      pool->limit(pool_limits((*topology_)->settings, all.size()));
      pool->clear();
      if (pool->unused() && !in_use(**topology_, pool->agent())) pool.reset();
    }
}

std::unique_ptr<RequestHead> Worker::take_head() {
  if (heads_.empty()) return std::make_unique<RequestHead>();
  auto head = std::move(heads_.back());
  heads_.pop_back();
  return head;
}

Pool& Worker::pool(Pools& pools, const std::shared_ptr<Agent>& agent) {
  if (agent->id >= pools.size()) pools.resize(agent->id + 1);
  auto& pool = pools[agent->id];
  if (!pool) {
    pool = std::make_unique<Pool>(loop, agent, keep(), (*topology_)->settings.hostname_lookup.value,
                                  pool_limits((*topology_)->settings, all.size()));
  }
  return *pool;
}

void Worker::began(Session& session) {
  session.place = sessions_.size();
  sessions_.push_back(&session);
}

void Worker::ended(Session& session) {
  sessions_.back()->place = session.place;
  std::swap(sessions_[session.place], sessions_.back());
  sessions_.pop_back();
  finish_if_empty();
}

void Worker::drain(Micros linger) {
  if (draining_) return;
  draining_ = true;
  spawn(close_down(linger));
}

Task<void> Worker::close_down(Micros linger) {
  const auto began = Loop::now();
  if (on_drain) on_drain();
  co_await sleep(loop, began + std::min(linger, kHandshake), closing_);
  if (on_close) on_close();
  accepting_ = false;
  if (!sessions_.empty()) co_await sleep(loop, began + linger, closing_);
  for (auto* session : std::vector(sessions_)) session->drain();
  finish_if_empty();
}

void Worker::abandon() {
  drain(Micros{0});
  closing_.request(Why::cancelled);
  for (auto* session : std::vector(sessions_)) session->abandon();
}

void Worker::finish_if_empty() {
  if (accepting_ || !sessions_.empty() || std::exchange(finished_, true)) return;
  closing_.request(Why::cancelled);
  for (auto* copy : std::vector(copies)) copy->request(Why::cancelled);
  for (auto* pools : {&pools_, &blackhole_pools_})
    for (auto& pool : *pools)
      if (pool) pool->clear();
  loop.let_end();
}

}  // namespace karmad
