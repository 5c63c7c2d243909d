#include "balancer/endpoints/explain_answers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/transport/http/url_encoding.hpp"
#include "balancer/core/ask_workers.hpp"
#include "balancer/core/request_fields.hpp"
#include "balancer/selection/explain_now.hpp"
#include "balancer/status/explanation_json.hpp"

namespace karmad {
namespace {

Answer wrong_request(Query& query, int status, std::string_view reason) {
  query.worker.counters.add(Count::bad_requests);
  return refusal(status, reason);
}

/// The parameters of `/explain`.
struct ExplainParameters {
  std::string table;
  Operation operation = Operation::read;
};

std::expected<ExplainParameters, std::string> explain_parameters(std::string_view text) {
  ExplainParameters parameters;
  while (const auto parameter = take_parameter(text)) {
    const auto& [name, value] = *parameter;
    if (name == "table") {
      parameters.table = value;
    } else if (name == "operation" && (value == "read" || value == "write")) {
      parameters.operation = value == "read" ? Operation::read : Operation::write;
    } else if (name == "operation") {
      return std::unexpected(fmt::format("operation is read or write, not '{}'", value));
    }
  }
  return parameters;
}

std::string explanation_in(const Worker& worker, std::string_view id) {
  std::string text;
  for (const auto* ring : {&worker.explained_on_request, &worker.explained})
    if (const auto* record = ring->find(id)) {
      append_explanation(text, *record, Loop::now(), std::chrono::system_clock::now());
      break;
    }
  return text;
}

/// A search through the records of all workers, one after the other.
struct RecordSearch {
  std::string id;
  std::string found;

  bool operator()(Worker& worker) {
    found = explanation_in(worker, id);
    return !found.empty();
  }
};

}  // namespace

Answer explain_table(Query& query) {
  if (auto wrong =
          read_request_fields(query.head, query.request.query, query.without_preference, query))
    return wrong_request(query, 400, wrong->reason);
  const auto parameters = explain_parameters(query.request.query);
  if (!parameters) return wrong_request(query, 400, parameters.error());
  if (parameters->table.empty())
    return wrong_request(
        query, 400,
        fmt::format("{0}?table=NAME explains the current choice of mirrors, {0}/ID the choice for "
                    "the request with this X-Request-Id",
                    kExplainPath));
  const auto* const table = query.topology->find(parameters->table);
  if (table == nullptr)
    return wrong_request(query, 404, query.topology->unknown(parameters->table));
  const auto shards = table->shards.size();
  ExplainRecord record(shards, shards * Candidates::kMost);
  explain_now(query, *table, parameters->operation, record);
  Answer answer;
  append_explanation(answer.body, record, Loop::now(), std::chrono::system_clock::now());
  return answer;
}

Task<Answer> explain_request(Query& query) {
  const auto id = url_decoded(query.request.path.substr(kExplainPath.size() + 1));
  const auto search = std::make_shared<RecordSearch>(RecordSearch{.id = id, .found = {}});
  query.waited = true;
  {
    QueryStop when_over(query);
    Stop& stop = when_over;
    stop.arm(query.deadline, StopReason::deadline);
    const bool searched = co_await ask_workers(query.worker, stop, search);
    if (!searched) co_return refusal(504, "the search for the request took too long");
  }
  if (search->found.empty())
    co_return wrong_request(
        query, 404,
        fmt::format("no request '{}' among the last {} of each worker (explain_requests) and the "
                    "last ones with X-Karmad-Explain: 1",
                    id, query.topology->settings.explain_requests.value));
  Answer answer;
  answer.body = std::move(search->found);
  co_return answer;
}

}  // namespace karmad
