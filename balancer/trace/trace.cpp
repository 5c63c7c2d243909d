#include "balancer/trace/trace.hpp"

#include <ranges>

namespace karmad {

OpenAttempt Trace::begin(const AttemptStart& start) {
  const auto place = static_cast<std::size_t>(started_++);
  hedged_ = hedged_ || start.reason == AttemptReason::hedge;
  retried_ = retried_ || is_retry(start.reason);
  if (place < kKept) {
    auto& attempt = attempts_.emplace_back();
    attempt.start = start;
    attempt.started = since_began(start.at);
  }
  return {*this, place};
}

void Trace::rejected(std::uint32_t shard, std::string_view mirror, std::string_view why) {
  for (auto& attempt : std::views::reverse(attempts_)) {
    if (attempt.start.shard != shard || attempt.start.mirror != mirror) continue;
    attempt.outcome = Outcome::wrong_reply;
    attempt.error = why;
    return;
  }
}

void OpenAttempt::connected(TimePoint at) {
  if (auto* kept = trace_->kept(place_)) kept->connected = trace_->since_began(at);
}

void OpenAttempt::first_byte(TimePoint at) {
  if (auto* kept = trace_->kept(place_)) kept->first_byte = trace_->since_began(at);
}

void OpenAttempt::end(TimePoint at, Outcome outcome, std::string error, int status) {
  auto* kept = trace_->kept(place_);
  if (kept == nullptr) return;
  kept->ended = trace_->since_began(at);
  kept->outcome = outcome;
  kept->status = status;
  kept->error = std::move(error);
}

}  // namespace karmad
