#include "balancer/core/ask_workers.hpp"

#include <algorithm>

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

struct ListQuestion {
  ProcessList list;

  bool operator()(Worker& worker) {
    worker.list(list);
    return false;
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

Task<std::optional<ProcessList>> list_processes(Worker& by, std::optional<ClientOwner> owner,
                                                TimePoint latest) {
  const auto question = std::make_shared<ListQuestion>(ListQuestion{{.owner = std::move(owner)}});
  Stop stop(by.loop);
  stop.arm(latest, StopReason::deadline);
  const bool answered = co_await ask_workers(by, stop, question);
  if (!answered) co_return std::nullopt;
  std::ranges::sort(question->list.processes, {}, &ClientProcess::connection);
  co_return std::move(question->list);
}

}  // namespace karmad
