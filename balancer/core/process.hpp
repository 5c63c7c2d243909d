#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "agent/dialect/request/document_ids.hpp"
#include "agent/stats/single_writer.hpp"
#include "agent/stats/stats_writer.hpp"
#include "agent/transport/loop/memory_limit.hpp"
#include "agent/transport/loop/task.hpp"
#include "balancer/rules/admission/rate_gates.hpp"
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
  template <class Last>
  Next(std::span<const UserHandle> handles, const Last& last)
      : handles_(handles), last_(&last), ask_last_([](const void* handle, Query& query) {
          return (*static_cast<const Last*>(handle))(query);
        }) {}

  Task<Answer> operator()(Query& query) const;

 private:
  std::span<const UserHandle> handles_;
  const void* last_;
  Task<Answer> (*ask_last_)(const void*, Query&);
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

}  // namespace karmad
