#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <forward_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/mirrors/attempt.hpp"
#include "balancer/core/complaint.hpp"
#include "balancer/core/request_fields.hpp"
#include "balancer/core/response_stream.hpp"
#include "balancer/core/ticket.hpp"
#include "balancer/core/worker.hpp"
#include "balancer/rules/hedge_plan.hpp"
#include "balancer/trace/trace.hpp"

namespace karmad {

struct Answer;
struct Query;

/// What puts a query to the shards of its table and answers it: scatter_gather(), unless a test
/// looks. What was parsed of the query is `query.parsed`.
using Scatter = Task<Answer> (*)(Query& query, const Table& table, const Dialect& dialect);

/// A client's request on its way through the balancer, from its complete arrival to its answer. It
/// lives in the session; everything that refers to it ends before it does.
struct Query : RequestFields {
  /// `with` outlives it; so does whatever the views are of.
  Query(Worker& on, const Topology& with, const RequestHead& request_head,
        std::string_view request_body, std::string_view from);

  Worker& worker;
  const Topology* topology;
  const Topology* former = nullptr;      ///< before it was planned anew
  std::shared_ptr<const Topology> anew;  ///< keeps what it was planned on then
  bool plan_anew = false;                ///< a shard moved: on the topology of now, once (CO-052)
  /// Answers it once more then. Set by what called the scatter.
  Task<Answer> (*answer_anew)(Query& query, Scatter scatter) = nullptr;
  ClientRequest request;
  Parsed parsed;  ///< what its dialect understood of it, once it did
  /// The head the request came with; its fields travel on where the dialect passes them.
  const RequestHead& head;
  std::string_view client;  ///< the peer's address
  TimePoint began;
  TimePoint deadline;              ///< fixed here, never extended
  std::string without_preference;  ///< the URL's parameters, once ours was taken out
  std::string_view operation;      ///< what it is, in a word; for the log
  const std::uint64_t id;          ///< no other query of this process has it
  std::size_t bytes_in = 0;        ///< head and body
  Trace trace;
  bool wants_trace = false;  ///< the client or the access log consumes it

  MemoryHolder* memory = nullptr;  ///< of its session; null: it is not counted
  MemoryReservation plain_body;    ///< of a body that came compressed, once it is unpacked
  bool unpacked = false;           ///< `request.body` is not what came
  bool memory_denied() const { return memory != nullptr && memory->denied(); }
  std::vector<Complaint> complaints;  ///< errors of mirrors that may be its own fault
  Ticket ingress_ticket;  ///< both until the query ends: then its answer was handed to the socket
  Ticket work_ticket;
  std::uint64_t* admissions = nullptr;  ///< its connection's with low priority, so far

  /// Keeps a text as long as the query lives, for a request that a user handle changes.
  std::string_view keep(std::string text) { return kept_.emplace_front(std::move(text)); }

  /// Now. The first attempt is told when the query began, if nothing was waited for since: reading
  /// the clock costs more than what happened in between.
  TimePoint attempt_begins() { return std::exchange(waited, true) ? Loop::now() : began; }
  bool waited;  ///< since it began, or what it asks takes long to understand

  /// The waits of this query that have to end when its client leaves.
  boost::container::small_vector<Stop*, 8> stops;
  bool stopped = false;      ///< no more attempts
  bool client_left = false;  ///< the answer is not sent
  /// Ends all waits. Those who waited go on at once, and may end others' waits, or the query.
  void stop() {
    stopped = true;
    bool destroyed = false;
    auto* const outer = std::exchange(destroyed_, &destroyed);
    while (!destroyed && !stops.empty()) {
      auto* const next = stops.back();
      stops.pop_back();
      next->request(StopReason::cancelled);
    }
    if (!destroyed) {
      destroyed_ = outer;
    } else if (outer != nullptr) {
      *outer = true;
    }
  }
  ~Query() {
    if (destroyed_ != nullptr) *destroyed_ = true;
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

 private:
  std::forward_list<std::string> kept_;
  bool* destroyed_ = nullptr;  ///< stop()'s, while it runs
};

/// A wait that ends when its query is stopped.
class QueryStop {
 public:
  explicit QueryStop(Query& query) : query_(query), stop_(query.worker.loop) {
    query_.stops.push_back(&stop_);
    if (query_.stopped) stop_.request(StopReason::cancelled);
  }
  QueryStop(const QueryStop&) = delete;
  QueryStop& operator=(const QueryStop&) = delete;
  ~QueryStop() {
    auto& stops = query_.stops;
    stops.erase(std::remove(stops.begin(), stops.end(), &stop_), stops.end());
  }
  operator Stop&() { return stop_; }  // NOLINT: it is one

 private:
  Query& query_;
  Stop stop_;
};

/// What a client is told. The body is `body`, or that of a reply that is passed on.
struct Answer {
  int status = 200;
  std::string_view content_type = "application/json; charset=UTF-8";
  std::string body;
  MemoryReservation memory;              ///< of `body`
  std::string_view allow;                ///< the field Allow, with a 405
  std::optional<unsigned> retry_after;   ///< seconds
  std::optional<Reply> reply;            ///< an agent's answer, passed on
  std::unique_ptr<ResponseStream> rest;  ///< of `reply`, still to come; null: it is whole
  bool pass_fields = false;              ///< with its end-to-end fields
  bool overloaded = false;               ///< says so in X-Error-Labels, with both labels
  std::string trace;                     ///< the field X-Karmad-Trace; empty: none

  /// The body, or as much of it as there is.
  std::string_view content() const { return reply ? reply->body() : std::string_view(body); }
  std::uint64_t length() const { return content().size() + (rest ? rest->left() : 0); }
};

/// Whether an answer of that status has no body, whatever it is to (RFC 9110 section 6.4.1).
constexpr bool has_no_body(int status) {
  return status == 204 || status == 304;
}

/// An error of ours, in the shape the search server gives its own.
Answer refusal(int status, std::string_view reason);

}  // namespace karmad
