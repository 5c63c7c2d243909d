#include "agent/ping.hpp"

#include <fmt/format.h>

#include <cassert>

#include "agent/attempt.hpp"

namespace karmad {
namespace {

constexpr std::size_t kMaxPingReply = 1 << 20;

}  // namespace

Pinger::Pinger(Loop& loop, std::shared_ptr<Agent> agent, PingSettings settings, LookUp look_up)
    : loop_(loop),
      agent_(std::move(agent)),
      settings_(std::move(settings)),
      pool_(loop, agent_, 1, look_up) {}

Pinger::~Pinger() {
  assert(stopped());
}

void Pinger::start() {
  running_ = true;
  spawn(run());
}

void Pinger::stop() {
  stopping_ = true;
  if (waiting_ != nullptr) waiting_->request(Why::cancelled);
  pool_.clear();
}

Task<void> Pinger::run() {
  while (!stopping_) {
    const TimePoint last{Micros{agent_->vitals.last_answer.load(std::memory_order_relaxed)}};
    const auto due = last + settings_.interval;
    if (last.time_since_epoch() != Micros{0} && Loop::now() < due) {
      Stop stop(loop_);
      waiting_ = &stop;
      co_await sleep(loop_, due, stop);
      waiting_ = nullptr;
      continue;
    }
    co_await ping();
  }
  pool_.clear();
  running_ = false;
}

Task<void> Pinger::ping() {
  Stop stop(loop_);
  waiting_ = &stop;
  const auto now = Loop::now();
  const AttemptOrder order{.method = "GET",
                           .target = settings_.path,
                           .connect_timeout = settings_.timeout,
                           .query_timeout = settings_.timeout,
                           .deadline = now + 2 * settings_.timeout,
                           .max_reply = kMaxPingReply};
  auto end = co_await attempt(loop_, pool_, order, stop);
  waiting_ = nullptr;
  if (end.outcome == Outcome::answered && end.reply.status / 100 != 2) {
    end.outcome = Outcome::agent_error;
    end.why = fmt::format("answered the ping with status {}", end.reply.status);
  }
  loop_.buffers.give(std::move(end.reply.bytes));
  record_ping(*agent_, loop_.index, Loop::now(), end);
}

}  // namespace karmad
