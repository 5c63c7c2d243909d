#pragma once

#include <atomic>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "agent/dialect/request/document_ids.hpp"
#include "agent/stats/single_writer.hpp"
#include "agent/stats/stats_writer.hpp"
#include "agent/transport/http/http_head.hpp"
#include "agent/transport/loop/loop.hpp"
#include "agent/transport/loop/memory_limit.hpp"
#include "agent/transport/loop/task.hpp"
#include "agent/transport/pool.hpp"
#include "balancer/core/compression.hpp"
#include "balancer/core/counters.hpp"
#include "balancer/core/process_list.hpp"
#include "balancer/explain/explain_record.hpp"
#include "balancer/rules/admission/rate_gates.hpp"
#include "balancer/rules/admission/verified_passwords.hpp"
#include "balancer/topology/topology.hpp"
#include "balancer/trace/line_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

struct Answer;
struct Query;
class Next;

/// A step that an application adds to the processing of every query. It may change the request,
/// answer itself, or call `next` and change that answer. Data that it puts into the request must
/// live as long as the query (Query::keep). All workers call it concurrently; it must not block,
/// and its captures live as long as the server. A long answer may have a `rest`: content() is then
/// only the beginning, and a handle that changes the body or `reply` must drop the rest.
using UserHandle = std::function<Task<Answer>(Query&, Next next)>;

/// The next step after a user handle: the next handle, or the rest of the pipeline.
class Next {
 public:
  Next(std::span<const UserHandle> handles, Task<Answer> (*last)(Query&))
      : handles_(handles), last_(last) {}

  Task<Answer> operator()(Query& query) const;

 private:
  std::span<const UserHandle> handles_;
  Task<Answer> (*last_)(Query&);
};

/// Reloads of the configuration. Written by the main thread, read by any.
class ReloadCounts {
 public:
  using Clock = std::chrono::system_clock;

  /// The configuration was loaded at the start of the process.
  void started(Clock::time_point now) { loaded_at_.set(now); }
  void succeeded(Clock::time_point now) {
    reloads_.add(1);
    last_failed_.set(false);
    loaded_at_.set(now);
  }
  void failed() {
    reloads_.add(1);
    failures_.add(1);
    last_failed_.set(true);
  }

 private:
  friend void write(StatsWriter& out, const ReloadCounts& reloads);

  SingleWriter<std::uint64_t> reloads_;
  SingleWriter<std::uint64_t> failures_;
  SingleWriter<bool> last_failed_;
  SingleWriter<Clock::time_point> loaded_at_;
};
void write(StatsWriter& out, const ReloadCounts& reloads);

class Admission;
class SelectionLog;
class ThreadPool;
class LineWriter;
class EventLog;
class MirrorWatch;
class AdminApi;
class SourceStatus;

// The state that all workers share, divided by its users. The server owns it and it outlives the
// workers. Pointers and settings are set before the workers start.

/// What queries use on their way to the mirrors.
struct Process {
  std::span<const UserHandle> user_handles;  ///< of the application
  LineWriter* access_log = nullptr;          ///< null: disabled
  ThreadPool* helpers = nullptr;             ///< null: each worker does its long work itself
  std::shared_ptr<const SelectionLog> selection_log;
  std::atomic<std::uint32_t> waiting_selections{0};  ///< that wait for a suitable mirror (SS-113)
  DocumentIds document_ids;
  /// The upkeep of mirrors makes a long pause, because nothing is asked: the first query ends it.
  std::atomic<bool> upkeep_pauses{false};
  std::function<void()> end_upkeep_pause;  ///< any worker's thread
};

/// Client connections, for the ingress.
struct ClientConnections {
  std::uint32_t most = 0;  ///< effective value of `max_connections`
  std::atomic<std::uint32_t> open{0};
  std::atomic<std::uint32_t> admin_open{0};  ///< to listeners with `:admin`; not in `open`
  std::atomic<std::uint32_t> tunnels{0};     ///< that have changed their protocol; also in `open`
};

/// The limits that a request must pass: tickets, rates and memory.
struct RequestLimits {
  Admission* admission = nullptr;  ///< null: every request gets its tickets
  RateGates rates;
  ClientRates auth_failures;  ///< refused credentials (`auth_failure_rate`)
  MemoryLimit memory;         ///< of all requests (`memory_limit`)
};

/// What only the endpoints about karmad itself report or use.
struct Monitoring {
  std::atomic<bool> draining{false};
  TimePoint started{};
  std::chrono::system_clock::time_point started_at{};
  ReloadCounts reloads;
  const LineWriter* log = nullptr;              ///< standard error
  const MirrorWatch* watch = nullptr;           ///< null: mirrors have no condition
  const SourceStatus* sources = nullptr;        ///< of mirrors; null: not kept
  EventLog* events = nullptr;                   ///< null: events are not kept
  AdminApi* desk = nullptr;                     ///< null: there are no admin calls
  std::atomic<std::uint32_t> event_streams{0};  ///< open now
};

/// All of it. Only its owner knows the whole; a worker has references to the parts.
struct SharedState {
  Process process;
  ClientConnections connections;
  RequestLimits limits;
  Monitoring monitoring;
};

/// Detects that peers have closed while their connection is not read. A read would have to take the
/// bytes before the end of stream, so a separate epoll instance waits for EPOLLRDHUP only, and the
/// loop waits for that instance. One thread.
class DisconnectWatcher {
 public:
  explicit DisconnectWatcher(Loop& loop);

  /// Which end of a connection is waited for: of what the peer sends, or of both directions.
  enum class End : bool { of_sending, of_both };

  /// Requests `stop` once at that end, until forget(). If the socket cannot be watched, the wait
  /// ends without this signal, by its deadline.
  void watch(int socket, Stop& stop, End end = End::of_sending);
  void forget(int socket);

 private:
  void wait();
  void poll();

  asio::posix::basic_stream_descriptor<Executor> epoll_;
  std::size_t watched_ = 0;
  bool waiting_ = false;
};

/// A client's connection, for the worker that drains it.
class Client {
 public:
  /// Closes at once if idle and no bytes have come, else after the next answer.
  virtual void drain() = 0;
  /// Closes the connection at once.
  virtual void abandon() = 0;
  /// Does what KILL asks for if it is about this connection.
  virtual KillOutcome kill(const Kill&) { return KillOutcome::unknown; }
  /// Adds what the connection does, if the list is about it.
  virtual void list(ProcessList&) {}

 protected:
  ~Client() = default;

 private:
  friend class Worker;
  std::size_t place_ = 0;  ///< index in its worker's list
};

/// One thread of the balancer: its loop, its connections to agents, its sessions and its counters.
/// A query stays on one worker. Other threads may call only post() and read the counters.
class Worker {
 public:
  Worker(unsigned index, std::uint64_t seed, SharedState& shared,
         std::shared_ptr<const Topology> topology, std::span<const std::unique_ptr<Worker>> all);

  /// Runs until it was drained and the last session has ended.
  void run() { loop.run(); }

  /// Calls `job` on this worker; from any thread.
  void post(Inbox::Job job) { loop.post(std::move(job)); }

  /// The current configuration; a query keeps the one it started with.
  std::shared_ptr<const Topology> topology() const { return {topology_, topology_->get()}; }
  /// Connections to agents that it has too are kept.
  void topology(std::shared_ptr<const Topology> next);
  const Topology* topology_now() const { return topology_->get(); }

  Pool& pool(const std::shared_ptr<Agent>& agent) {
    return pool(pools_, agent, agent->connections);
  }
  Pool& blackhole_pool(const std::shared_ptr<Agent>& agent) {
    return pool(blackhole_pools_, agent, agent->copies);
  }

  /// Lends a head for one request; idle connections have none.
  std::unique_ptr<RequestHead> take_head();
  void give_head(std::unique_ptr<RequestHead> head) {
    if (heads_.size() < kHeads) heads_.push_back(std::move(head));
  }

  void register_session(Client& client);
  void unregister_session(Client& client);
  /// Ends a statement or a connection of this worker.
  KillOutcome kill(const Kill& kill);
  /// Adds the connections of this worker.
  void list(ProcessList& list);
  /// From now on every answer ends its connection; new connections are still accepted.
  void retire() { retiring_ = true; }
  /// Accepts no new connections; every session ends after its next answer. A session that gets no
  /// request within `linger` ends after that time.
  void drain(Micros linger);
  /// Ends everything at once.
  void abandon();
  bool draining() const { return draining_; }
  /// Whether answers end their connections.
  bool retiring() const { return retiring_; }

  Loop loop;
  DisconnectWatcher disconnect_watcher{loop};
  Process& process;
  ClientConnections& connections;
  RequestLimits& limits;
  Monitoring& monitoring;
  Counters counters;
  AttemptResults attempt_results;
  ExplainRing explained;             ///< the last requests (`explain_requests`)
  ExplainRing explained_on_request;  ///< the last ones whose clients asked for an explanation
  LineRate retry_lines{10};          ///< limits lines on retries in the log
  LineRate protocol_lines{1};        ///< those on clients that speak another protocol
  LineRate error_lines{10};          ///< those that clients get no room for, and internal ones
  LineRate auth_lines{10};           ///< those on refused credentials
  VerifiedPasswords verified;        ///< of clients (`auth_remembered`)
  TimeShare compression;             ///< of this thread's time (`compress_share`)
  std::unique_ptr<Compressor> compressor;              ///< kept for the next answer; null: none
  const std::span<const std::unique_ptr<Worker>> all;  ///< every worker, this one included
  /// The count of all workers together.
  std::uint64_t total(Count count) const {
    std::uint64_t sum = 0;
    for (const auto& each : all) sum += each->counters[count];
    return sum;
  }
  /// A number for the next query, unique over all workers.
  std::uint64_t next_query() {
    if (process.upkeep_pauses.load(std::memory_order_relaxed) &&
        process.upkeep_pauses.exchange(false))
      process.end_upkeep_pause();
    return queries_++ * all.size() + loop.index;
  }
  std::vector<Stop*> copies;       ///< stops of the copies being sent to blackholes
  std::size_t copies_size = 0;     ///< their size in bytes
  std::function<void()> on_drain;  ///< makes the listeners refuse new connections
  std::function<void()> on_close;  ///< accepts the waiting connections and stops other tasks

 private:
  Task<void> close_down(Micros linger);
  void finish_if_empty();

  /// The outer pointer has a reference count of this worker alone: a query that holds the topology
  /// does not write to memory that all workers share.
  std::shared_ptr<std::shared_ptr<const Topology>> topology_;
  static constexpr std::size_t kHeads = 64;
  static constexpr std::size_t kExplainedOnRequest = 64;
  void keep_explanations();
  using Pools = std::vector<std::unique_ptr<Pool>>;  // by Agent::id
  Pool& pool(Pools& pools, const std::shared_ptr<Agent>& agent, ConnectionLimits& bounds);

  Pools pools_;
  Pools blackhole_pools_;
  std::vector<std::unique_ptr<RequestHead>> heads_;
  std::vector<Client*> clients_;
  bool draining_ = false;
  bool retiring_ = false;
  bool accepting_ = true;
  bool finished_ = false;
  Stop closing_{loop};  ///< ends the waits of close_down()
  std::uint64_t queries_ = 0;
};

}  // namespace karmad
