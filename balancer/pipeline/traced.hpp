#pragma once

#include <string>
#include <utility>

#include "balancer/pipeline/handle.hpp"

namespace karmad {

void open_trace(Query& query);
void close_trace(Query& query, Answer& answer);

/// The line in the access log of an answer whose rest is passed on as it arrives: it is written
/// when this goes, and says how much of the answer the client got. Nothing for any other answer.
class RestLog {
 public:
  RestLog(const Query& query, const Answer& answer)
      : query_(query),
        answer_(answer),
        has_rest_(answer.rest != nullptr),
        length_(has_rest_ ? answer.length() : 0) {}
  RestLog(const RestLog&) = delete;
  RestLog& operator=(const RestLog&) = delete;
  ~RestLog();

  void sent(std::size_t bytes) { sent_ += bytes; }
  void broke_off(std::string_view why) { broken_off_ = why; }

 private:
  const Query& query_;
  const Answer& answer_;
  bool has_rest_;
  std::uint64_t length_;
  std::uint64_t sent_ = 0;
  std::string broken_off_;  ///< empty: not taken by the client
};

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
