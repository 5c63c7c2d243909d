#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "agent/dialect/request/document_ids.hpp"
#include "agent/transport/loop/memory_limit.hpp"
#include "balancer/core/reload_counts.hpp"
#include "balancer/core/user_handle.hpp"
#include "balancer/rules/admission/rate_gates.hpp"
#include "strategies/time.hpp"

namespace karmad {

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
};

/// The limits that a request must pass: tickets, rates and memory.
struct RequestLimits {
  Admission* admission = nullptr;  ///< null: every request gets its tickets
  RateGates rates;
  MemoryLimit memory;  ///< of all requests (`memory_limit`)
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
