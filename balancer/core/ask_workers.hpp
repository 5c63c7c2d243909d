#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "balancer/core/process_list.hpp"
#include "balancer/core/worker.hpp"

namespace karmad {

/// The end of a question to all workers, on the worker that asks it.
struct WorkerQuestion {
  Loop& asked_by;
  AsyncEvent ended{};
  bool done = false;

  void end() {
    if (!std::exchange(done, true)) ended.notify();
  }
};

/// Calls `question(worker)` on each worker in turn; the last one, or the one where it is true,
/// returns to the first.
template <class Question>
void ask_each(const std::shared_ptr<Question>& question, const std::shared_ptr<WorkerQuestion>& of,
              std::span<const std::unique_ptr<Worker>> workers) {
  if (workers.empty()) return of->asked_by.post([of] { of->end(); });
  workers.front()->post([question, of, workers] {
    const bool answered = (*question)(*workers.front());
    ask_each(question, of, answered ? workers.last(0) : workers.subspan(1));
  });
}

/// The same, and waits for the end. False: `stop` was requested first; then other workers may still
/// use the question.
template <class Question>
Task<bool> ask_workers(Worker& by, Stop& stop, std::shared_ptr<Question> question) {
  const auto of = std::make_shared<WorkerQuestion>(WorkerQuestion{by.loop});
  ask_each(question, of, by.all);
  const auto guard = stop.calling<&WorkerQuestion::end>(*of);
  if (!of->done && !stop.requested()) co_await of->ended;
  stop.disarm();
  co_return !stop.requested();
}

/// Asks all workers for their connections, and sorts them. Nothing: they did not answer until
/// `latest`.
Task<std::optional<ProcessList>> list_processes(Worker& by, std::optional<ClientOwner> owner,
                                                TimePoint latest);

/// Asks all workers for the connection. Nothing: they did not answer until `latest`.
Task<std::optional<KillOutcome>> kill_connection(Worker& by, Kill kill, TimePoint latest);

}  // namespace karmad
