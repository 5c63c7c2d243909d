#pragma once

#include <sys/signalfd.h>
#include <sysexits.h>

#include <atomic>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "balancer/core/query.hpp"
#include "balancer/handover/inherited_sockets.hpp"
#include "balancer/handover/learned.hpp"
#include "balancer/handover/takeover_service.hpp"
#include "balancer/mirror_finder.hpp"
#include "balancer/operate/admin_call.hpp"
#include "balancer/operate/configuration.hpp"
#include "balancer/systemd.hpp"
#include "balancer/trace/line_writer.hpp"
#include "balancer/watch/mirror_watch.hpp"
#include "balancer/worker_fleet.hpp"

namespace karmad {

/// The reason why a server cannot start, and the exit code of the process.
struct StartFailure {
  int exit_code = 1;
  std::string why;
};

/// Extensions of an application that links karmad; none by default.
struct Hooks {
  Selector selector;                       ///< further restricts the acceptable mirrors (SS-020)
  std::vector<UserHandle> handles;         ///< run in this order, before a request is routed
  Dialects dialects = karmad::dialects();  ///< the dialects of tables; must outlive the server
  std::function<void(LogLevel, LogFormat)> configure_log;  ///< at the start, too
  std::vector<std::string> command;  ///< starts a successor (USR2); empty: USR2 has no effect
};

/// The process: turns signals, calls of the operator and news of mirrors into configurations, and
/// these into topologies for the workers; starts, ends, and is replaced by a successor. Handles the
/// signals to stop (TERM, INT), to reload the configuration (HUP), to reopen the access log (USR1)
/// and to start a successor (USR2).
class Server final : private AdminApi {
 public:
  /// `log`: for lines on standard error that are not spdlog's.
  Server(std::string config_path, Settings settings, std::shared_ptr<LineWriter> log,
         Hooks hooks = {});
  ~Server();

  /// Makes open() take over the sockets and the knowledge of the process that runs (`--takeover`).
  /// `forced`: also if this process can serve less than that one.
  void take_over_running(bool forced) {
    takes_over_ = true;
    forced_ = forced;
  }
  /// Opens everything that can fail. Adds problems of the configuration that only this library can
  /// find to `problems`.
  std::optional<StartFailure> open(Problems& problems);

  /// Serves until a signal stops it and the last answer was sent; returns the exit code.
  int run();

 private:
  // Start and signals.
  std::optional<StartFailure> build_first_topology(Problems& problems);
  std::optional<StartFailure> open_access_log();
  std::optional<StartFailure> listen();
  void wait_for_signal();
  void on_signal(int number);
  // Calls of the operator.
  void call(AdminCall call, std::string who, Done done) override;
  void describe(Done done) override;
  void operate(const AdminCall& call, const std::string& who, Done done);
  bool works(const std::string& address) const;
  void reset_karma(const AdminCall& call, const std::string& who, Done done);
  std::string state_text() const;
  std::string save_state();
  void read_state();
  void find_state(const std::string& path);
  void use_state(const std::string& text, const std::string& source);
  // Changes of the configuration.
  /// `done`: gets what changed; may be empty.
  void reload(Done done = {});
  Problems adopt_file(Settings file, const std::shared_ptr<Done>& reply);
  void reload_failed(const Problems& problems);
  void adopt_mirrors();
  Problems check_where_it_listens(Settings settings) const;
  /// Why this cannot be used.
  std::optional<std::string> judge(const FoundMirrors& found);
  /// What is told about a change of settings when every worker uses them.
  struct Adoption {
    OperatorEvent::Kind kind = OperatorEvent::Kind::reloaded;
    std::string message;
    std::function<void()> done = [] {};  ///< called by the last worker
  };
  /// Makes this configuration the current one. Sets of mirrors that it leaves equal, and the
  /// numbers of mirrors that stay, are kept; no query is lost. Returns the problems; then nothing
  /// has changed. The caller holds configuration_mutex_.
  Problems adopt(Configuration::Next next, Adoption how);
  std::shared_ptr<const Topology> destroyed_here(std::shared_ptr<const Topology> topology);
  /// Applies the levels and the format of the logs.
  void configure_logs() const;
  /// Logs what the operator has to know of it.
  void report(const Configuration::Next& next);
  /// Applies these rates to the limiters; called only after a reload can no longer fail.
  void adopt_rates(const Topology& topology);
  /// Sets and logs the limit of memory (`memory_limit`).
  void limit_memory();
  const Settings& settings() const { return configuration_.settings(); }
  Topology::Environment environment() {
    return {.registry = *registry_,
            .workers = static_cast<unsigned>(fleet_.size()),
            .loops = fleet_.loops(),
            .selector = hooks_.selector,
            .dialects = hooks_.dialects};
  }
  void add_event(OperatorEvent::Kind kind, std::string message);
  void report(LogLevel severity, OperatorEvent::Kind kind, std::string message);
  /// Reads certificates again that have changed, now and from time to time, and warns of those that
  /// expire.
  void follow_certificates();
  // The end.
  void stop(int signal);
  void close_down();
  // Takeovers and systemd: server_takeover.cpp.
  std::optional<StartFailure> inherit();
  std::optional<StartFailure> ask_running_process();
  std::expected<SharedSockets, std::string> sockets_of(std::size_t line, Address& address,
                                                       bool admin);
  void restore_from_former();
  std::optional<StartFailure> refuse_to_serve_less() const;
  void take_over_changes(const std::string& text);
  void reload_if_files_changed();
  void begin_serving();
  bool finish_takeover();
  void adapt_socket_access() const;
  void serve_successors();
  std::expected<TakeoverOffer, std::string> offer();
  std::string release(Successor successor);
  void after_release();
  void upgrade();
  void report_failed_successors();
  void store_sockets();
  void tell_service(std::string_view message) const;
  void tell_service_ready(bool as_successor = false) const;

  const std::string config_path_;
  std::mutex configuration_mutex_;  ///< to write configuration_ and handed_over_
  Configuration configuration_;     ///< the one in use; written by the main thread
  SharedState shared_;
  std::unique_ptr<AgentRegistry> registry_;
  const Hooks hooks_;
  std::shared_ptr<SelectionLog> selection_log_;
  const std::shared_ptr<LineWriter> log_;
  std::unique_ptr<LineWriter> access_log_;
  std::shared_ptr<const Topology> topology_;
  EventLog events_;
  OperatorLog operator_log_{events_};
  MirrorWatch mirror_watch_{operator_log_};
  WorkerFleet fleet_;
  SourceStatus sources_{events_};
  static constexpr std::size_t kKeptBuffer = 64 << 10;
  Loop main_{0, kKeptBuffer, std::random_device{}()};
  std::unique_ptr<MirrorFinder> mirrors_;
  std::vector<Listen> bound_;    ///< those in use, with the ports that were chosen
  std::string refused_mirrors_;  ///< the last error of adopt_mirrors()
  /// Signals are blocked in all threads and read here as data, so none interrupts other code.
  asio::posix::stream_descriptor signals_{main_.io};
  signalfd_siginfo signal_{};
  asio::steady_timer shutdown_timer_{main_.io};
  asio::steady_timer certificate_timer_{main_.io};
  std::string certificate_warning_;  ///< the last one
  std::optional<std::uint64_t> logged_memory_limit_;
  bool stopping_ = false;
  bool signalled_ = false;  ///< to stop
  int exit_code_ = 0;

  LastFound last_found_;            ///< by a former process; for the start
  std::string state_path_;          ///< of the state file that the next two are about
  std::string saved_state_;         ///< its content, as far as it is a state
  bool keeps_state_aside_ = false;  ///< it has something else, which the next save must not lose
  bool takes_over_ = false;
  bool forced_ = false;
  std::optional<SuccessorChannel> former_;  ///< the process that is taken over, until it has ended
  std::optional<Learned> learned_;          ///< by that process
  InheritedSockets inherited_;
  bool restarts_ = false;            ///< with sockets that systemd has held for a former process
  std::vector<std::string> unused_;  ///< addresses of sockets that have no listen line
  std::vector<int> listening_;       ///< the descriptors of all acceptors
  std::set<int> stored_;             ///< those of them that systemd holds, too
  std::atomic<bool> handed_over_{false};  ///< the sockets belong to another process
  Successor successor_;
  std::vector<pid_t> started_successors_;  ///< by USR2, and not known to have ended
  const ServiceNotifier service_{std::getenv("NOTIFY_SOCKET") ? std::getenv("NOTIFY_SOCKET") : ""};
  std::optional<Watchdog> watchdog_;
  std::unique_ptr<TakeoverService> takeover_service_;  ///< its thread uses the members above
};

}  // namespace karmad
