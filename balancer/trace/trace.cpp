#include "balancer/trace/trace.hpp"

#include <cassert>
#include <ranges>

namespace karmad {

OpenAttempt Trace::begin(const AttemptStart& start) {
  const auto place = static_cast<std::size_t>(started_++);
  if (start.reason == AttemptReason::hedge) {
    hedged_ = true;
  } else if (start.reason != AttemptReason::initial && start.reason != AttemptReason::quorum) {
    retried_ = true;
  }
  if (place < kKept) {
    auto& attempt = attempts_.emplace_back();
    attempt.start = start;
    attempt.started = since_began(start.at);
  }
  return {*this, place};
}

void Trace::rejected(std::uint32_t shard, std::string_view mirror, std::string_view why) {
  --succeeded_;
  ++failed_;
  for (auto& attempt : std::views::reverse(attempts_)) {
    if (attempt.start.shard != shard || attempt.start.mirror != mirror) continue;
    attempt.outcome = Outcome::wrong_reply;
    attempt.error = why;
    return;
  }
}

void Trace::count(Outcome outcome) {
  ++(is_answered(outcome) ? succeeded_ : failed_);
}

OpenAttempt::~OpenAttempt() {
  if (trace_ != nullptr) trace_->count(Outcome::cancelled);  // as its outcome says
}

void OpenAttempt::connected(TimePoint at) {
  assert(trace_ != nullptr);
  if (auto* kept = trace_->kept(place_)) kept->connected = trace_->since_began(at);
}

void OpenAttempt::first_byte(TimePoint at) {
  assert(trace_ != nullptr);
  if (auto* kept = trace_->kept(place_)) kept->first_byte = trace_->since_began(at);
}

void OpenAttempt::end(TimePoint at, Outcome outcome, std::string error, int status) {
  assert(trace_ != nullptr);
  auto& trace = *std::exchange(trace_, nullptr);
  trace.count(outcome);
  auto* kept = trace.kept(place_);
  if (kept == nullptr) return;
  kept->ended = trace.since_began(at);
  kept->outcome = outcome;
  kept->status = status;
  kept->error = std::move(error);
}

}  // namespace karmad
