// The server as the successor of a running process, as its predecessor, and as a service of
// systemd.
#include <fmt/format.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <ranges>

#include "balancer/handover/learned_state.hpp"
#include "balancer/server.hpp"
#include "balancer/systemd/listen_fds.hpp"

namespace karmad {
namespace {

constexpr int kSystemError = 71;         // EX_OSERR
constexpr int kConfigurationError = 78;  // EX_CONFIG
constexpr auto kCollecting = std::chrono::seconds(2);

std::expected<std::vector<PassedDescriptor>, std::string> descriptors_of_systemd() {
  auto passed = passed_descriptors(
      {std::getenv("LISTEN_PID"), std::getenv("LISTEN_FDS"), std::getenv("LISTEN_FDNAMES")},
      ::getpid());
  for (const auto* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  return passed;
}

Micros monotonic_now() {
  return std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

std::optional<StartFailure> Server::inherit() {
  if (auto failure = ask_running_process()) return failure;
  auto passed = descriptors_of_systemd();
  if (!passed) return StartFailure{kSystemError, passed.error()};
  for (const auto& [fd, name] : *passed)
    if (const auto added = inherited_.add(Descriptor(fd)); !added)
      spdlog::warn("descriptor {} ({}) of systemd is not used: {}", fd, name, added.error());
  if (inherited_.empty()) return std::nullopt;
  unused_ = inherited_.match(settings_.searchd.listen);
  for (const auto& address : unused_)
    spdlog::warn("the socket at {}, opened by {}, has no listen line and is not used", address,
                 former_ ? fmt::format("process {}", former_->former_pid()) : "systemd");
  return std::nullopt;
}

std::optional<StartFailure> Server::ask_running_process() {
  const auto& setting = settings_.searchd.takeover_socket;
  if (!setting) {
    if (!takes_over_) return std::nullopt;
    return StartFailure{kConfigurationError,
                        "--takeover needs the setting takeover_socket, which is not set"};
  }
  const auto& path = setting->value;
  if (!takes_over_) {
    if (!Channel::connect(path)) return std::nullopt;
    return StartFailure{
        kSystemError,
        fmt::format("a running process listens at {} (takeover_socket, {}); start with --takeover "
                    "to replace it",
                    path, text(setting->at))};
  }
  auto former = SuccessorChannel::begin(path);
  if (!former)
    return StartFailure{kSystemError,
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
  if (auto learned = parse_learned(former_->learned())) {
    learned_ = *std::move(learned);
  } else {
    spdlog::warn("takeover: what process {} has learned is not used: {}", former_->former_pid(),
                 learned.error());
  }
  return std::nullopt;
}

std::expected<SharedSockets, std::string> Server::sockets_of(std::size_t line, Address& address,
                                                             bool admin) {
  const auto backlog = static_cast<int>(settings_.searchd.listen_backlog.value);
  auto sockets = inherited_.take(line, address, worker_count_, backlog);
  if (!sockets || !sockets->empty()) return sockets;
  const auto opened =
      open_listeners(address, worker_count_, backlog, socket_access(settings_.searchd, admin));
  if (!opened) return std::unexpected(opened.error());
  for (const auto& one : *opened) sockets->push_back({one});
  return sockets;
}

/// Continues with what the operator has changed in the running process. False: nothing is known of
/// that.
bool Server::take_over_overrides() {
  if (!learned_ || learned_->overrides.empty()) return false;
  auto read = parse_overrides(learned_->overrides);
  if (!read) {
    spdlog::warn("takeover: what was changed at run time is not taken over: {}", read.error());
    return false;
  }
  overrides_ = *std::move(read);
  return true;
}

void Server::restore_from_former() {
  if (!learned_) return;
  const auto mirrors = restore_learned(*learned_, *topology_, *admission_, Loop::now());
  spdlog::info("takeover: {} mirrors continue with what process {} has learned", mirrors,
               former_->former_pid());
  learned_.reset();
}

/// Called on the main thread once every worker accepts connections.
void Server::begin_serving() {
  const auto former = former_ ? former_->former_pid() : 0;
  for (const auto& acceptors : acceptors_)
    for (const auto& acceptor : acceptors) listening_.push_back(acceptor->descriptor());
  if (former_ && !finish_takeover()) return;
  former_.reset();
  serve_successors();
  const auto interval = watchdog_interval(std::getenv("WATCHDOG_USEC"), std::getenv("WATCHDOG_PID"),
                                          ::getpid(), former);
  if (interval && service_.active()) {
    watchdog_.emplace(
        main_, *interval, workers_.size(),
        [this](std::size_t worker, Inbox::Job job) { workers_[worker]->post(std::move(job)); },
        [this] { tell_service("WATCHDOG=1\n"); });
    watchdog_->start();
  }
  tell_service_ready(former != 0);
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
      return true;
    case unconfirmed:
      spdlog::error(
          "takeover: process {} has not confirmed that it accepts no more connections "
          "({}); this process goes on",
          pid, ending.why);
      return true;
    case not_told:
      break;
  }
  spdlog::error("takeover: process {} goes on, this one ends: {}", pid, ending.why);
  exit_code_ = kSystemError;
  handed_over_ = true;  // the sockets belong to the other process
  after_release();
  return false;
}

void Server::serve_successors() {
  const auto& setting = settings_.searchd.takeover_socket;
  if (!setting) return;
  auto service = TakeoverService::open(
      setting->value, {.offer = [this] { return offer(); },
                       .release = [this](Successor successor) { release(std::move(successor)); }});
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
  asio::post(main_, [this, result] {
    workers_.front()->post([this, result, overrides = overrides_json(overrides_)] {
      auto all = collect_learned(*workers_.front()->topology(), *admission_, Loop::now());
      all.overrides = overrides;
      result->set_value(to_json(all));
    });
  });
  if (learned.wait_for(kCollecting) != std::future_status::ready)
    return std::unexpected("the main thread or worker 0 did not answer in time");
  return TakeoverOffer{listening_, learned.get()};
}

/// On the thread of the service.
void Server::release(Successor successor) {
  tell_service(main_pid_text(successor.pid));
  successor_ = std::move(successor);
  handed_over_ = true;
  asio::post(main_, [this] { after_release(); });
}

/// Ends as after a signal, but leaves the shared sockets as they are: another process accepts from
/// them. `/readyz` does not say 503, because the answer would be taken for one of that process.
void Server::after_release() {
  if (std::exchange(stopping_, true)) return;
  if (watchdog_) watchdog_->stop();
  if (successor_.pid != 0)
    spdlog::info("takeover: process {} accepts the connections from now on", successor_.pid);
  for (const auto& acceptors : acceptors_)
    for (const auto& acceptor : acceptors) {
      const auto bound = bound_address(acceptor->descriptor());
      const bool unused =
          bound && std::ranges::find(successor_.unused, text(*bound)) != successor_.unused.end();
      if (!unused) acceptor->hand_over();
    }
  close_down();
}

void Server::upgrade() {
  if (!settings_.searchd.takeover_socket || hooks_.command.empty()) {
    spdlog::info("USR2: this signal has no effect without takeover_socket");
    return;
  }
  if (stopping_) return spdlog::info("USR2: no successor is started, as this process ends");
  auto command = hooks_.command;
  if (std::ranges::find(command, "--takeover") == command.end()) command.push_back("--takeover");
  std::vector<char*> arguments;
  for (auto& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  std::signal(SIGCHLD, SIG_IGN);  // the exit code of a successor is not read
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
  }
}

void Server::tell_service(std::string_view message) const {
  if (!handed_over_) service_.send(message);
}

void Server::tell_service_ready(bool as_successor) const {
  if (!service_.active()) return;
  auto addresses = settings_.searchd.listen |
                   std::views::transform([](const Listen& one) { return text(one.address); });
  ServiceReady ready{.status = fmt::format("serving {} tables at {}", topology_->tables.size(),
                                           fmt::join(addresses, ", ")),
                     .main_pid = std::nullopt};
  if (as_successor) ready.main_pid = ::getpid();
  tell_service(text(ready));
}

void Server::tell_service_reloading() const {
  tell_service(reloading_text(monotonic_now()));
}

void Server::tell_service_reload_failed() const {
  tell_service(text(ServiceReady{"the configuration has errors; the old one stays in use", {}}));
}

}  // namespace karmad
