#pragma once

#include <utility>

#include "balancer/pipeline/handle.hpp"

namespace karmad {

void open_trace(Query& query);
void close_trace(Query& query, Answer& answer);

/// Opens the query's trace, and closes it when there is an answer: a line of the access log, if
/// there is one, and the field X-Karmad-Trace, if the request asks for it. A query of which nobody
/// wants to know costs no coroutine of its own.
template <Handle Next>
class Traced {
 public:
  constexpr explicit Traced(Next next) : next_(std::move(next)) {}

  Task<Answer> operator()(Query& query) const {
    open_trace(query);
    return query.wants_trace ? traced(query) : next_(query);
  }

 private:
  Task<Answer> traced(Query& query) const {
    auto answer = co_await next_(query);
    close_trace(query, answer);
    co_return answer;
  }

  Next next_;
};

}  // namespace karmad
