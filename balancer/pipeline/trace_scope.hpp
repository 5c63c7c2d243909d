#pragma once

#include <string>

#include "balancer/core/query.hpp"

namespace karmad {

/// Starts the trace of the query.
void open_trace(Query& query);
/// Ends the trace: counts the answer, if a table gave it; completes its explanation; writes a line
/// of the access log, if there is one (RestLog writes that of an answer with a rest), and the
/// fields X-Karmad-Trace and X-Karmad-Explain, if the request asks for them.
void close_trace(Query& query, Answer& answer);

/// A request that is answered before it becomes a query.
struct RefusedRequest {
  RequestLine line{};  ///< empty: its head is not complete, or not valid
  const Head& fields = kNoFields;
  std::string_view client;
  std::string_view id;
  std::size_t bytes_in = 0;  ///< so far
};

/// Writes its line in the access log, if there is one.
void log_refused(Worker& worker, const LogSettings& settings, const RefusedRequest& request,
                 const Answer& answer);

/// Writes the line in the access log for an answer whose rest is passed on as it arrives. The
/// destructor writes it, with the number of bytes that the client got. For other answers it does
/// nothing.
class RestLog {
 public:
  RestLog(const Query& query, const Answer& answer)
      : query_(query), answer_(answer), has_rest_(answer.rest != nullptr) {}
  RestLog& operator=(RestLog&&) = delete;
  ~RestLog();

  void sent(std::size_t bytes) { sent_ += bytes; }
  void broke_off(std::string_view why) { broken_off_ = why; }
  void complete() { is_complete_ = true; }

 private:
  const Query& query_;
  const Answer& answer_;
  bool has_rest_;
  bool is_complete_ = false;
  std::uint64_t sent_ = 0;
  std::string broken_off_;  ///< empty: the client did not read all of it
};

}  // namespace karmad
