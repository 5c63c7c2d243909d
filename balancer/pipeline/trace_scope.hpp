#pragma once

#include <string>

#include "balancer/core/query.hpp"

namespace karmad {

/// Opens the query's trace.
void open_trace(Query& query);
/// Closes it: a line of the access log, if there is one (of an answer with a rest, RestLog writes
/// it), and the field X-Karmad-Trace, if the request asks for it.
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

}  // namespace karmad
