// The part of kill.hpp that needs workers, which include it.
#include "balancer/core/kill.hpp"

#include "balancer/core/ask_workers.hpp"

namespace karmad {
namespace {

struct KillQuestion {
  Kill kill;
  KillOutcome outcome = KillOutcome::unknown;

  bool operator()(Worker& worker) {
    outcome = worker.kill(kill);
    return outcome != KillOutcome::unknown;
  }
};

}  // namespace

Task<std::optional<KillOutcome>> kill_connection(Worker& by, Kill kill, TimePoint latest) {
  const auto question = std::make_shared<KillQuestion>(KillQuestion{std::move(kill)});
  Stop stop(by.loop);
  stop.arm(latest, StopReason::deadline);
  const bool answered = co_await ask_workers(by, stop, question);
  if (!answered) co_return std::nullopt;
  co_return question->outcome;
}

}  // namespace karmad
