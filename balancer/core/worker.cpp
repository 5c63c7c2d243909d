#include "balancer/core/worker.hpp"

#include <sys/epoll.h>

#include <algorithm>

namespace karmad {
namespace {

/// Time for the last handshakes: a round trip.
constexpr Micros kHandshake = 50ms;

constexpr std::size_t kIdlePart = 16;  // idle buffers may use 1/16 of memory_limit

}  // namespace

Worker::Worker(unsigned index, std::uint64_t seed, SharedState& shared,
               std::shared_ptr<const Topology> topology,
               std::span<const std::unique_ptr<Worker>> workers)
    : loop(index, topology->settings.buffer_keep_up_to.value, seed),
      process(shared.process),
      connections(shared.connections),
      limits(shared.limits),
      monitoring(shared.monitoring),
      all(workers),
      topology_(std::make_shared<std::shared_ptr<const Topology>>(std::move(topology))) {
  loop.memory.join(limits.memory);
  keep_explanations();
  if (const auto limit = limits.memory.limit(); limit != 0)
    loop.buffers.keep_at_most(std::min<std::size_t>(
        Buffers::kKeptBytes, limit / kIdlePart / std::max<std::size_t>(all.size(), 1)));
}

void Worker::keep_explanations() {
  explained.keep((*topology_)->settings.explain_requests.value);
  explained_on_request.keep(kExplainedOnRequest);
  for (auto* ring : {&explained, &explained_on_request}) ring->adopt(topology());
}

void Worker::topology(std::shared_ptr<const Topology> next) {
  topology_ = std::make_shared<std::shared_ptr<const Topology>>(std::move(next));
  keep_explanations();
  std::vector<bool> in_use(std::max(pools_.size(), blackhole_pools_.size()));
  for (const auto& agent : (*topology_)->agents)
    if (agent->id < in_use.size()) in_use[agent->id] = true;
  for (auto* pools : {&pools_, &blackhole_pools_})
    for (std::size_t id = 0; id < pools->size(); ++id) {
      auto& pool = (*pools)[id];
      if (!pool) continue;
      pool->keeps(in_use[id]);
      if (in_use[id]) continue;
      pool->clear();
      if (pool->unused()) pool.reset();
    }
}

std::unique_ptr<RequestHead> Worker::take_head() {
  if (heads_.empty()) return std::make_unique<RequestHead>();
  auto head = std::move(heads_.back());
  heads_.pop_back();
  return head;
}

Pool& Worker::pool(Pools& pools, const std::shared_ptr<Agent>& agent, ConnectionLimits& bounds) {
  if (agent->id >= pools.size()) pools.resize(agent->id + 1);
  auto& pool = pools[agent->id];
  if (!pool) {
    const auto& topology = **topology_;
    pool = std::make_unique<Pool>(loop, agent, bounds, topology.settings.hostname_lookup.value);
    // A query may have begun when the agent was still used.
    pool->keeps(std::ranges::find(topology.agents, agent) != topology.agents.end());
  }
  return *pool;
}

void Worker::register_session(Client& client) {
  client.place_ = clients_.size();
  clients_.push_back(&client);
}

void Worker::unregister_session(Client& client) {
  clients_.back()->place_ = client.place_;
  std::swap(clients_[client.place_], clients_.back());
  clients_.pop_back();
  finish_if_empty();
}

KillOutcome Worker::kill(const Kill& kill) {
  for (auto* client : clients_) {
    const auto outcome = client->kill(kill);
    if (outcome != KillOutcome::unknown) return outcome;  // the list may have changed
  }
  return KillOutcome::unknown;
}

void Worker::list(ProcessList& list) {
  for (auto* client : clients_) client->list(list);
}

void Worker::drain(Micros linger) {
  if (draining_) return;
  draining_ = retiring_ = true;
  spawn(close_down(linger));
}

Task<void> Worker::close_down(Micros linger) {
  const auto began = Loop::now();
  if (on_drain) on_drain();
  co_await sleep(loop, began + std::min(linger, kHandshake), closing_);
  if (on_close) on_close();
  accepting_ = false;
  if (!clients_.empty()) co_await sleep(loop, began + linger, closing_);
  for (auto* client : std::vector(clients_)) client->drain();
  finish_if_empty();
}

void Worker::abandon() {
  drain(Micros{0});
  closing_.request(StopReason::cancelled);
  for (auto* client : std::vector(clients_)) client->abandon();
}

void Worker::finish_if_empty() {
  if (accepting_ || !clients_.empty() || std::exchange(finished_, true)) return;
  closing_.request(StopReason::cancelled);
  for (auto* copy : std::vector(copies)) copy->request(StopReason::cancelled);
  for (auto* pools : {&pools_, &blackhole_pools_})
    for (auto& pool : *pools)
      if (pool) pool->clear();
  loop.let_end();
}

void write(StatsWriter& out, const ReloadCounts& reloads) {
  out.add({"config_reloads", "reloads of the configuration"}, reloads.reloads_.get());
  out.add({"config_reload_failures", "reloads that failed and kept the old configuration"},
          reloads.failures_.get());
  out.add({"config_last_reload_failed",
           "1: the last reload failed, and an older configuration is in use", StatKind::gauge,
           Unit::flag},
          reloads.last_failed_.get());
  const std::chrono::duration<double> loaded_at = reloads.loaded_at_.get().time_since_epoch();
  out.add({"config_loaded_timestamp",
           "time when the configuration in use was loaded, in seconds since 1970", StatKind::gauge,
           Unit::seconds, kHidden, kHidden},
          loaded_at.count());
}

DisconnectWatcher::DisconnectWatcher(Loop& loop)
    : epoll_(loop.io.get_executor(), ::epoll_create1(EPOLL_CLOEXEC)) {}

void DisconnectWatcher::watch(int socket, Stop& stop, End end) {
  epoll_event event{};
  event.events = EPOLLONESHOT;  // EPOLLHUP and EPOLLERR are always told
  if (end == End::of_sending) event.events |= EPOLLRDHUP;
  event.data.ptr = &stop;
  ++watched_;
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, socket, &event);
  wait();
}

void DisconnectWatcher::forget(int socket) {
  epoll_event unused{};
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, socket, &unused);
  // An outstanding wait would keep the loop from ending.
  if (--watched_ == 0) epoll_.cancel();
}

void DisconnectWatcher::wait() {
  if (waiting_ || watched_ == 0) return;
  waiting_ = true;
  epoll_.async_wait(asio::posix::descriptor_base::wait_read,
                    [this](boost::system::error_code error) {
                      waiting_ = false;
                      if (!error) poll();
                      wait();
                    });
}

/// One event at a time: the stopped code continues at once and calls forget().
void DisconnectWatcher::poll() {
  epoll_event event{};
  while (::epoll_wait(epoll_.native_handle(), &event, 1, 0) == 1)
    static_cast<Stop*>(event.data.ptr)->request(StopReason::cancelled);
}

}  // namespace karmad
