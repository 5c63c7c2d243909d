#pragma once

#include <sys/signalfd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/mirrors/ping.hpp"
#include "agent/transport/loop/helper_pool.hpp"
#include "balancer/admission/admission.hpp"
#include "balancer/core/query.hpp"
#include "balancer/core/worker.hpp"
#include "balancer/ingress/acceptor.hpp"
#include "balancer/name_finder.hpp"
#include "balancer/topology/set_watch.hpp"
#include "balancer/trace/line_writer.hpp"

namespace karmad {

/// What keeps a server from starting: the process's exit code and why.
struct StartFailure {
  int exit_code = 1;
  std::string why;
};

/// What an application that links karmad adds to it; nothing by default.
struct Hooks {
  Selector selector;                ///< its own word on which mirrors are acceptable (SS-020)
  std::vector<UserHandle> handles;  ///< in this order, before a request is routed
  Dialects dialects = karmad::dialects();  ///< those that tables may name; outlive the server
};

/// The whole tree of objects: workers with their threads, listeners, pingers, the topology; and the
/// signals that stop it (TERM, INT), have it read its configuration again (HUP) or open its access
/// log anew (USR1).
class Server {
 public:
  /// `log`: for what goes to standard error besides spdlog's messages.
  Server(std::string config_path, Settings settings, std::shared_ptr<LineWriter> log,
         Hooks hooks = {});
  ~Server();

  /// Opens everything that can fail. Problems of the configuration that only this room sees go to
  /// `problems`.
  std::optional<StartFailure> open(Problems& problems);

  /// Serves until it is told to stop and the last answer was given; returns the exit code.
  int run();

 private:
  void wait_for_signal();
  void on_signal(int number);
  void stop();
  void reload();
  void reopen_logs();
  /// From here on the limiters go by these rates; before that a reload may still fail.
  void adopt_rates(const Topology& topology);
  /// Sets and tells the bound on memory (`memory_limit`).
  void limit_memory();
  Task<void> upkeep();
  void ping_as(const Topology& topology);
  Topology::Environment environment() {
    return {.registry = *registry_,
            .workers = workers_wanted_,
            .loops = loops_,
            .selector = hooks_.selector,
            .dialects = hooks_.dialects};
  }

  std::string config_path_;
  Settings settings_;
  unsigned workers_wanted_;
  Process process_;
  std::unique_ptr<AgentRegistry> registry_;
  const Hooks hooks_;
  Loops loops_;
  std::shared_ptr<SelectionLog> selection_log_;
  const std::shared_ptr<LineWriter> log_;
  std::unique_ptr<LineWriter> access_log_;
  std::unique_ptr<Admission> admission_;  ///< worker 0's
  std::unique_ptr<HelperPool> helpers_;   ///< outlives what waits for it
  std::shared_ptr<const Topology> topology_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::vector<std::unique_ptr<Acceptor>>> acceptors_;  ///< by worker
  std::vector<std::shared_ptr<Pinger>> pingers_;                   ///< worker 0's
  std::vector<std::shared_ptr<MirrorSet>> sets_;                   ///< those in use
  SetWatches set_watches_;                                         ///< worker 0's
  std::unique_ptr<NameFinder> finder_;                             ///< worker 0's
  std::unique_ptr<Stop> upkeep_;                                   ///< worker 0's
  asio::io_context main_;
  /// Signals are blocked in every thread and read here like bytes: none can arrive at a bad moment.
  asio::posix::stream_descriptor signals_{main_};
  signalfd_siginfo signal_{};
  asio::steady_timer patience_{main_};
  std::optional<std::uint64_t> memory_limit_said_;
  bool stopping_ = false;
};

}  // namespace karmad
