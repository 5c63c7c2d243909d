#include "balancer/shard/quorum_readers.hpp"

#include <algorithm>

#include "balancer/shard/shard_query.hpp"

namespace karmad {

std::size_t Readers::counting() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(readers_, [](const auto& reader) { return reader->counts(); }));
}

bool Readers::over() const {
  return call_.part.over(call_.query) || call_.query.plan_anew;
}

void Readers::start(std::unique_ptr<Reader> reader) {
  readers_.push_back(std::move(reader));
  ++running_;
  spawn(go(*readers_.back()));
}

Task<void> Readers::go(Reader& reader) {
  ShardCall call{call_.query, call_.order, reader.part};
  co_await next_(call);
  reader.ended = true;
  --running_;
  ended_since_ = true;
  if (waiting_ != nullptr) waiting_->request(Why::cancelled);
}

Task<void> Readers::wait() {
  if (over())
    for (const auto& reader : readers_)
      if (!reader->ended) reader->part.cancel();
  if (!ended_since_ && running_ > 0) {
    if (over()) {  // broken off already: only its end is waited for
      Stop stop(call_.query.worker.loop);
      co_await sleep_on(stop);
    } else {
      PartStop stop(call_.query, call_.part);
      co_await sleep_on(stop);
    }
  }
  ended_since_ = false;
}

Task<void> Readers::sleep_on(Stop& stop) {
  waiting_ = &stop;
  co_await sleep(call_.query.worker.loop, call_.query.deadline + std::chrono::hours(1), stop);
  waiting_ = nullptr;
}

void Readers::settle_all() {
  auto& part = call_.part;
  for (const auto& reader : readers_) {
    for (auto& failed : reader->part.failed) part.failed.push_back(std::move(failed));
    reader->part.failed.clear();
    part.attempts += std::exchange(reader->part.attempts, 0);
    settle(call_.query, reader->part);
  }
}

void Readers::clear() {
  settle_all();
  readers_.clear();
}

}  // namespace karmad
