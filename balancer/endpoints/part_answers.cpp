#include "balancer/endpoints/part_answers.hpp"

#include "balancer/core/long_work.hpp"
#include "balancer/endpoints/table_answers.hpp"

namespace karmad {

Task<Answer> answer_parts(Query& query, const ServedPath& served, Scatter scatter) {
  const auto& several = served.endpoint.several;
  std::expected<std::vector<RequestPart>, ClientError> parts;
  auto read = [&] { parts = several.parts(query.request); };
  if (is_long_work(query, query.request.body.size())) {
    const auto end = co_await run_on_helper(query, query.request.body.size(), read);
    if (end != HelperPool::End::done) co_return long_work_failure(query, end, Count::bad_requests);
  } else {
    read();
  }
  if (!parts) co_return refused_query(query, served, parts.error());

  const auto whole_request = query.request;
  std::vector<std::string> bodies;
  std::vector<PartAnswer> answers;
  std::size_t size = 0;
  Answer whole;
  for (const auto& part : *parts) {
    query.request = whole_request;
    query.request.path = part.path;
    query.request.path_table = part.tables;
    query.request.path_table_raw = {};
    query.request.body = part.body;
    auto answer = co_await answer_query(query, served, scatter);
    if (query.client_left || query.memory_denied()) co_return answer;
    answers.push_back({.status = answer.status});
    bodies.emplace_back(answer.content());
    size += bodies.back().size();
    whole.memory.charge(query.memory, 2 * size);  // the parts, and the answer made of them
    query.worker.loop.buffers.give(std::move(answer.body));
  }
  query.request = whole_request;
  for (std::size_t i = 0; i < bodies.size(); ++i) answers[i].body = bodies[i];
  const auto took = std::chrono::duration_cast<Micros>(Loop::now() - query.began);
  whole.content_type = served.kind.content_type;
  several.join(whole.body, answers, took);
  co_return whole;
}

}  // namespace karmad
