// The server as the successor of a running process, as its predecessor, and as a service of
// systemd.
#include <fmt/format.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <ranges>
#include <utility>

#include "balancer/core/listening_socket.hpp"
#include "balancer/endpoints/endpoints.hpp"
#include "balancer/handover/learned.hpp"
#include "balancer/operate/secrets.hpp"
#include "balancer/server.hpp"
#include "balancer/systemd.hpp"
#include "config/effective.hpp"
#include "config/load.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

constexpr auto kCollecting = std::chrono::seconds(2);

std::expected<std::vector<PassedDescriptor>, std::string> descriptors_of_systemd() {
  auto passed = passed_descriptors(
      {std::getenv("LISTEN_PID"), std::getenv("LISTEN_FDS"), std::getenv("LISTEN_FDNAMES")},
      ::getpid());
  for (const auto* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  return passed;
}

}  // namespace

std::optional<StartFailure> Server::inherit() {
  if (auto failure = ask_running_process()) return failure;
  auto passed = descriptors_of_systemd();
  if (!passed) return StartFailure{EX_OSERR, passed.error()};
  for (const auto& [fd, name] : *passed) {
    const auto bound = bound_address(fd);
    restarts_ = restarts_ || (bound && name == stored_name(text(*bound)));
    if (const auto added = inherited_.add(Descriptor(fd)); !added)
      spdlog::warn("descriptor {} ({}) of systemd is not used: {}", fd, name, added.error());
  }
  if (inherited_.empty()) return std::nullopt;
  unused_ = inherited_.match(settings().searchd.listen);
  for (const auto& address : unused_)
    spdlog::warn("the socket at {}, opened by {}, has no listen line and is not used", address,
                 former_ ? fmt::format("process {}", former_->former_pid()) : "systemd");
  return std::nullopt;
}

std::optional<StartFailure> Server::ask_running_process() {
  const auto& setting = settings().searchd.takeover_socket;
  if (!setting) {
    if (!takes_over_) return std::nullopt;
    return StartFailure{EX_CONFIG,
                        "--takeover needs the setting takeover_socket, which is not set"};
  }
  const auto& path = setting->value;
  if (is_other_file(path))
    return StartFailure{EX_OSERR, fmt::format("cannot use {} (takeover_socket, {}): {}", path,
                                              text(setting->at), kOtherFile)};
  if (!takes_over_) {
    if (!Channel::connect(path)) return std::nullopt;
    return StartFailure{
        EX_OSERR,
        fmt::format("a running process listens at {} (takeover_socket, {}); start with --takeover "
                    "to replace it",
                    path, text(setting->at))};
  }
  auto former = SuccessorChannel::begin(path);
  if (!former)
    return StartFailure{EX_OSERR,
                        fmt::format("takeover: {}; the running process goes on", former.error())};
  former_ = *std::move(former);
  if (!former_) {
    spdlog::info("takeover: no process listens at {}: starting without one", path);
    return std::nullopt;
  }
  for (auto& socket : former_->sockets())
    if (const auto added = inherited_.add(std::move(socket)); !added)
      spdlog::warn("takeover: a socket of process {} is not used: {}", former_->former_pid(),
                   added.error());
  if (!former_->ended().empty()) {
    spdlog::warn(
        "takeover: process {} ended while it handed over: {}; this process goes on with "
        "{} of its sockets",
        former_->former_pid(), former_->ended(), former_->sockets().size());
  } else if (auto learned = parse_learned(former_->learned())) {
    learned_ = *std::move(learned);
  } else {
    spdlog::warn("takeover: what process {} has learned is not used: {}", former_->former_pid(),
                 learned.error());
  }
  return std::nullopt;
}

std::expected<SharedSockets, std::string> Server::sockets_of(std::size_t line, Address& address,
                                                             bool admin) {
  const auto backlog = static_cast<int>(settings().searchd.listen_backlog.value);
  auto sockets = inherited_.take(line, address, static_cast<unsigned>(fleet_.size()), backlog);
  if (!sockets || !sockets->empty()) return sockets;
  const auto opened = open_listeners(address, static_cast<unsigned>(fleet_.size()), backlog,
                                     socket_access(settings().searchd, admin));
  if (!opened) return std::unexpected(opened.error());
  for (const auto& one : *opened) sockets->push_back({one});
  return sockets;
}

/// A process that runs is not replaced by one that answers fewer searches.
std::optional<StartFailure> Server::refuse_to_serve_less() const {
  if (!learned_) return std::nullopt;
  const auto lost = shards_lost(*learned_, *topology_, configuration_.configured());
  if (lost.empty()) return std::nullopt;
  const auto what = fmt::format("this process can serve less than process {}: {}",
                                former_->former_pid(), fmt::join(lost, "; "));
  if (!forced_)
    return StartFailure{EX_OSERR,
                        fmt::format("takeover: {}; the running process goes on (--force takes over "
                                    "nevertheless)",
                                    what)};
  spdlog::warn("takeover: {}; it takes over because of --force", what);
  return std::nullopt;
}

/// Adopts what the operator has changed in the former process while this one opened.
void Server::take_over_changes(const std::string& text) {
  if (text.empty()) return;
  auto changes = parse_overrides(text);
  if (!changes)
    return spdlog::error("takeover: the last changes are not taken over: {}", changes.error());
  auto next = configuration_.on_overrides(*std::move(changes));
  if (next.configuration.overrides() == configuration_.overrides()) return;
  const std::scoped_lock lock(configuration_mutex_);
  const auto problems = adopt(
      std::move(next), {.kind = OperatorEvent::Kind::admin,
                        .message = "takeover: what the operator changed meanwhile counts here"});
  if (!problems.empty())
    spdlog::error("takeover: the last changes cannot be used: {}", problems.front().message);
}

/// A reload of the former process may have come after this process had read the files.
void Server::reload_if_files_changed() {
  auto now = load(config_path_, real_environment(), FileKind::regular, judge_with(hooks_.dialects));
  if (!now.settings) return reload();
  read_secrets(*now.settings);  // reload() says what is wrong with them
  const auto& file = configuration_.file();
  const bool same = difference(effective_settings(file), effective_settings(*now.settings)).empty();
  if (!same || !have_same_secrets(file, *now.settings)) reload();
}

void Server::restore_from_former() {
  if (!learned_) return;
  const auto mirrors = restore_learned(*learned_, *topology_, fleet_.admission(), Loop::now());
  spdlog::info("takeover: continues with what process {} has learned of {}", former_->former_pid(),
               counted_noun(mirrors, "mirror"));
  learned_.reset();
}

/// Called on the main thread once every worker accepts connections.
void Server::begin_serving() {
  const auto former = former_ ? former_->former_pid() : 0;
  listening_ = fleet_.listening();
  if (former_ && !finish_takeover()) return;
  if (former_ || restarts_) adapt_socket_access();
  if (std::exchange(former_, std::nullopt)) reload_if_files_changed();
  save_state();
  store_sockets();
  serve_successors();
  const auto interval = watchdog_interval(std::getenv("WATCHDOG_USEC"), std::getenv("WATCHDOG_PID"),
                                          ::getpid(), former);
  if (interval && service_.active()) {
    watchdog_.emplace(
        main_, *interval, fleet_.size(),
        [this](std::size_t worker, Inbox::Job job) { fleet_.post(worker, std::move(job)); },
        [this] { tell_service("WATCHDOG=1\n"); });
    watchdog_->start();
  }
  tell_service_ready(former != 0);
}

/// Gives copies of the listening sockets to systemd. It holds them while the service restarts, so
/// that connections wait for the next process, which gets the sockets as with socket activation.
void Server::store_sockets() {
  const auto room = service_.active() ? store_size(std::getenv("FDSTORE")) : 0;
  if (room == 0) return;
  for (const auto& address : unused_) tell_service(not_stored_text(stored_name(address)));
  std::map<std::string, std::vector<int>> by_name;
  for (const int socket : listening_) {
    const auto bound = bound_address(socket);
    if (bound && stored_.size() < room && stored_.insert(socket).second)
      by_name[stored_name(text(*bound))].push_back(socket);
  }
  for (const auto& [name, sockets] : by_name)
    for (std::span<const int> rest(sockets); !rest.empty();) {
      const auto part = rest.first(std::min(rest.size(), kMostSentAtOnce));
      rest = rest.subspan(part.size());
      if (service_.send(stored_text(name), part)) continue;
      spdlog::warn("systemd does not hold the sockets {}: {}", name, std::strerror(errno));
      for (const int socket : part) stored_.erase(socket);
    }
  if (stored_.size() < listening_.size())
    spdlog::warn("systemd holds {} of {} listening sockets (FileDescriptorStoreMax)",
                 stored_.size(), listening_.size());
}

/// False: the running process goes on, so this one ends.
bool Server::finish_takeover() {
  using enum SuccessorChannel::Release;
  const auto pid = former_->former_pid();
  const auto ending = former_->finish(unused_);
  switch (ending.release) {
    case confirmed:
      spdlog::info("takeover: process {} accepts no more connections", pid);
      add_event(OperatorEvent::Kind::started, fmt::format("karmad took over from process {}", pid));
      take_over_changes(ending.more);
      return true;
    case unconfirmed:
      spdlog::error(
          "takeover: process {} has not confirmed that it accepts no more connections ({}); this "
          "process goes on",
          pid, ending.why);
      return true;
    case not_told:
      break;
  }
  spdlog::error("takeover: process {} goes on, this one ends: {}", pid, ending.why);
  exit_code_ = EX_OSERR;
  handed_over_ = true;  // the sockets belong to the other process
  after_release();
  return false;
}

/// The files of unix sockets were made by the former process, with its mode and owner.
void Server::adapt_socket_access() const {
  const auto& searchd = settings().searchd;
  const bool is_set = searchd.listen_socket_mode.at.line != 0 || searchd.listen_socket_owner;
  for (const auto& listen : bound_) {
    const auto& path = listen.address.unix_path;
    // Those of others may be systemd's, with its own mode.
    if (path.empty() || (!is_set && !listen.admin)) continue;
    if (!set_access(path.c_str(), socket_access(searchd, listen.admin)))
      spdlog::error("the mode and owner of {} stay as they were: {}", path, std::strerror(errno));
  }
}

void Server::serve_successors() {
  const auto& setting = settings().searchd.takeover_socket;
  if (!setting) return;
  auto service = TakeoverService::open(
      setting->value,
      {.offer = [this] { return offer(); },
       .release = [this](Successor successor) { return release(std::move(successor)); }});
  if (!service) {
    spdlog::error("takeover_socket {}: {}; this process cannot be taken over", setting->value,
                  service.error());
    return;
  }
  takeover_service_ = *std::move(service);
  spdlog::info("takeover: a successor may connect to {}", setting->value);
}

std::expected<TakeoverOffer, std::string> Server::offer() {
  auto result = std::make_shared<std::promise<std::string>>();
  auto learned = result->get_future();
  main_.post([this, result] {
    fleet_.post(0, [this, result, overrides = state_text()] {
      auto all = collect_learned(*fleet_.topology(), fleet_.admission(), Loop::now());
      all.overrides = overrides;
      result->set_value(to_json(all));
    });
  });
  if (learned.wait_for(kCollecting) != std::future_status::ready)
    return std::unexpected("the main thread or worker 0 did not answer in time");
  return TakeoverOffer{listening_, learned.get()};
}

/// On the thread of the service. Returns the operator's changes, with those since the offer; after
/// it, calls are refused.
std::string Server::release(Successor successor) {
  tell_service(main_pid_text(successor.pid));
  successor_ = std::move(successor);
  const std::scoped_lock lock(configuration_mutex_);
  handed_over_ = true;
  main_.post([this] { after_release(); });
  return overrides_json(configuration_.overrides());
}

/// Ends as after a signal, but leaves the shared sockets as they are: another process accepts from
/// them. `/readyz` does not say 503, because the answer would be taken for one of that process.
void Server::after_release() {
  if (std::exchange(stopping_, true)) return;
  if (watchdog_) watchdog_->stop();
  if (successor_.pid != 0)
    spdlog::info("takeover: process {} accepts the connections from now on", successor_.pid);
  fleet_.hand_over([this](int socket) {
    const auto bound = bound_address(socket);
    return !bound || std::ranges::find(successor_.unused, text(*bound)) == successor_.unused.end();
  });
  close_down();
}

void Server::upgrade() {
  if (!settings().searchd.takeover_socket || hooks_.command.empty()) {
    spdlog::info("USR2: this signal has no effect without takeover_socket");
    return;
  }
  if (stopping_) return spdlog::info("USR2: no successor is started, as this process ends");
  auto command = hooks_.command;
  std::erase(command, "--force");  // it was meant for one takeover
  if (std::ranges::find(command, "--takeover") == command.end()) command.push_back("--takeover");
  std::vector<char*> arguments;
  for (auto& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  std::signal(SIGCHLD, SIG_DFL);  // an inherited SIG_IGN would hide how the successor has ended
  posix_spawnattr_t attributes;
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, arguments[0], nullptr, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    spdlog::error("USR2: cannot start {}: {}", command[0], std::strerror(error));
  } else {
    spdlog::info("USR2: process {} starts as the successor", pid);
    started_successors_.push_back(pid);
  }
}

/// Called after a child has ended. A successor that has taken over outlives this process.
void Server::report_failed_successors() {
  std::erase_if(started_successors_, [this](pid_t pid) {
    int status = 0;
    const auto ended = ::waitpid(pid, &status, WNOHANG);
    if (ended != pid) return ended != 0;
    const auto how = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                       : fmt::format("signal {}", WTERMSIG(status));
    if (!handed_over_)
      spdlog::error("USR2: the successor, process {}, has ended with {}; this process goes on", pid,
                    how);
    return true;
  });
}

void Server::tell_service(std::string_view message) const {
  if (!handed_over_) service_.send(message);
}

void Server::tell_service_ready(bool as_successor) const {
  if (!service_.active()) return;
  auto addresses = settings().searchd.listen |
                   std::views::transform([](const Listen& one) { return text(one.address); });
  ServiceReady ready{
      .status = fmt::format("serving {} at {}", counted_noun(topology_->tables.size(), "table"),
                            fmt::join(addresses, ", ")),
      .main_pid = std::nullopt};
  if (as_successor) ready.main_pid = ::getpid();
  tell_service(text(ready));
}

}  // namespace karmad
