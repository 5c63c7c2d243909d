#include "balancer/endpoints/handlers.hpp"

#include "agent/dialect/write/write_rows.hpp"
#include "balancer/core/long_work.hpp"
#include "balancer/status/rows/agent_status.hpp"
#include "balancer/status/snapshot.hpp"
#include "balancer/status/status_json.hpp"

namespace karmad {
namespace {

constexpr std::size_t kFewAgents = 64;           // up to 2 ms to write
constexpr std::uint32_t kFewConnections = 1000;  // up to 1 ms to count descriptors

template <class Write>
Task<Answer> write_on_helper(Query& query, Snapshot snapshot,
                             std::shared_ptr<const Topology> topology, Write write) {
  Answer answer;
  auto work = [&] {
    add_histories(snapshot, *topology);
    answer = write(snapshot);
  };
  const auto end = co_await run_on_helper(query, 0, work);
  if (end != ThreadPool::End::done) co_return long_work_failure(query, end, Count::bad_requests);
  co_return std::move(answer);
}

/// `write` makes the answer from a snapshot, on any thread.
template <class Write>
Task<Answer> write_answer(Query& query, Write write) {
  auto& worker = query.worker;
  auto snapshot = collect(worker);
  const bool is_long = snapshot.agents.size() > kFewAgents ||
                       worker.connections.open.load(std::memory_order_relaxed) > kFewConnections;
  if (is_long && worker.process.helpers != nullptr)
    return write_on_helper(query, std::move(snapshot), worker.topology(), std::move(write));
  add_histories(snapshot, *worker.topology_now());
  return completed_task(write(snapshot));
}

Task<Answer> answer_json(Query& query, void (*append)(std::string&, const Snapshot&)) {
  return write_answer(query, [append](const Snapshot& snapshot) {
    Answer answer;
    append(answer.body, snapshot);
    return answer;
  });
}

}  // namespace

Task<Answer> answer_agents(Query& query) {
  return answer_json(query, append_agents_json);
}

Task<Answer> answer_status(Query& query) {
  return answer_json(query, append_status_json);
}

Task<Answer> answer_metrics(Query& query) {
  return write_answer(query, [](const Snapshot& snapshot) {
    Answer answer;
    answer.content_type = kMetricsType;
    append_metrics(answer.body, snapshot, process_numbers());
    return answer;
  });
}

Answer rows_answer(const Query& query, const ServedPath& served, ResultSet set) {
  Answer answer;
  if (query.client.takes_rows) {
    answer.rows = std::make_unique<AnswerRows>();
    answer.rows->sets.push_back(std::move(set));
    return answer;
  }
  const auto form =
      served.endpoint.statements == Statements::as_text ? RowForm::text : RowForm::raw;
  if (form == RowForm::text) answer.content_type = content_type_of(form);
  if (form == RowForm::text && set.columns.empty()) {
    answer.body = "Query OK, 0 rows affected\n";
  } else {
    append_sets(form, {&set, 1}, answer.body);
  }
  return answer;
}

Task<Answer> statement_answer(Query& query, const ServedPath& served,
                              sql::StatusStatement statement) {
  return write_answer(query, [&, statement = std::move(statement)](const Snapshot& snapshot) {
    auto result = answer(statement, snapshot);
    return result ? rows_answer(query, served, *std::move(result)) : refusal(404, result.error());
  });
}

}  // namespace karmad
