#include "balancer/endpoints/status_answers.hpp"

#include "balancer/core/long_work.hpp"
#include "balancer/status/agent_status.hpp"
#include "balancer/status/agents_json.hpp"
#include "balancer/status/collect.hpp"
#include "balancer/status/metrics.hpp"
#include "balancer/status/render.hpp"
#include "balancer/status/status_json.hpp"

namespace karmad {
namespace {

constexpr std::size_t kFewAgents = 64;  // up to 2 ms to write

template <class Write>
Task<Answer> written_aside(Query& query, Snapshot snapshot, Write write) {
  Answer told;
  auto work = [&] { told = write(snapshot); };
  const auto end = co_await run_aside(query, work);
  if (end != HelperPool::End::done) co_return without_long_work(query, end, Count::bad_requests);
  co_return std::move(told);
}

/// `write` makes the answer out of a snapshot, on any thread.
template <class Write>
Task<Answer> written(Query& query, Write write) {
  auto snapshot = collect(query.worker);
  if (snapshot.agents.size() > kFewAgents && query.worker.process.helpers != nullptr)
    return written_aside(query, std::move(snapshot), std::move(write));
  return [](Answer answer) -> Task<Answer> { co_return std::move(answer); }(write(snapshot));
}

}  // namespace

Task<Answer> agents_answer(Query& query) {
  return written(query, [](const Snapshot& snapshot) {
    Answer told;
    append_agents_json(told.body, snapshot);
    return told;
  });
}

Task<Answer> status_answer(Query& query) {
  return written(query, [](const Snapshot& snapshot) {
    Answer told;
    append_status_json(told.body, snapshot);
    return told;
  });
}

Task<Answer> metrics_answer(Query& query) {
  return written(query, [](const Snapshot& snapshot) {
    Answer answer;
    answer.content_type = kMetricsType;
    append_metrics(answer.body, snapshot);
    return answer;
  });
}

Task<Answer> statement_answer(Query& query, StatusStatement statement, StatusForm form) {
  return written(query, [statement = std::move(statement), form](const Snapshot& snapshot) {
    const auto result = answer(statement, snapshot);
    if (!result) return refusal(404, result.error());
    Answer told;
    if (form == StatusForm::text) {
      told.content_type = "text/plain; charset=UTF-8";
      append_text(told.body, *result);
    } else {
      append_raw(told.body, {&*result, 1});
    }
    return told;
  });
}

}  // namespace karmad
