#include "balancer/endpoints/handlers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "balancer/core/long_work.hpp"
#include "balancer/topology/table_list.hpp"

namespace karmad {

Task<Answer> completed_task(Answer answer) {
  co_return answer;
}

Answer refused_query(Query& query, const ServedPath& served, const ClientError& error) {
  count_refused(query.worker, error.status, error.reason);
  return refusal_in(served.kind, *served.dialect, error.status, error.reason);
}

namespace {

/// The first table of that dialect; null: there is none.
const Table* first_table(const Topology& topology, const DialectKind& kind) {
  const auto found = std::ranges::find_if(
      topology.tables, [&](const auto& table) { return table->dialect == kind; });
  return found == topology.tables.end() ? nullptr : found->get();
}

/// Sends the parsed query to the tables of a list.
Task<Answer> send_to_tables(Query& query, const ServedPath& served, Scatter scatter) {
  const auto& list = query.request.parsed.table;
  if (!query.request.parsed.read)
    return completed_task(refused_query(
        query, served, {400, fmt::format("an update names one table, not the list '{}'", list)}));
  auto table = query.topology->combined(list, served.kind);
  if (!table) return completed_task(refused_query(query, served, table.error()));
  query.request.combined_tables.push_back(*std::move(table));
  return scatter(query, *query.request.combined_tables.back(), *served.dialect);
}

/// Sends the parsed query to its table. The callers below return the task of `scatter` itself: a
/// coroutine around it would move the answer once more.
Task<Answer> send_to_table(Query& query, const ServedPath& served, Scatter scatter) {
  const auto& name = query.request.parsed.table;
  if (is_table_list(name)) return send_to_tables(query, served, scatter);
  const auto* table =
      name.empty() ? first_table(*query.topology, served.kind) : query.topology->find(name);
  if (table == nullptr)
    return completed_task(refused_query(query, served, {404, query.topology->unknown(name)}));
  if (table->dialect != served.kind)
    return completed_task(refused_query(
        query, served,
        {404, fmt::format("table '{}' has the dialect {}, which does not use this path", name,
                          table->dialect.name)}));
  return scatter(query, *table, *served.dialect);
}

std::expected<Parsed, ClientError> parse_request(const Query& query, const ServedPath& served) {
  return or_internal_error([&] { return served.dialect->parse(query.request); });
}

/// Parses a long request on a helper thread.
Task<Answer> long_query(Query& query, const ServedPath& served, Scatter scatter) {
  std::expected<Parsed, ClientError> parsed;
  auto parse = [&] { parsed = parse_request(query, served); };
  const auto end = co_await run_on_helper(query, query.request.body.size(), parse);
  if (end != ThreadPool::End::done) co_return long_work_failure(query, end, Count::bad_requests);
  if (!parsed) co_return refused_query(query, served, parsed.error());
  query.request.parsed = *std::move(parsed);
  auto answer = co_await send_to_table(query, served, scatter);
  co_return answer;
}

}  // namespace

Task<Answer> answer_query(Query& query, const ServedPath& served, Scatter scatter) {
  if (is_long_work(query, query.request.body.size())) return long_query(query, served, scatter);
  auto parsed = parse_request(query, served);
  if (!parsed) return completed_task(refused_query(query, served, parsed.error()));
  query.request.parsed = *std::move(parsed);
  return send_to_table(query, served, scatter);
}

}  // namespace karmad
