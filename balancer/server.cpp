#include "balancer/server.hpp"

#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <latch>
#include <limits>
#include <random>

#include "agent/transport/loop/run_detached.hpp"
#include "balancer/core/memory.hpp"
#include "balancer/discovery/with_found.hpp"
#include "balancer/endpoints/endpoints.hpp"
#include "balancer/selection/selection_log.hpp"
#include "balancer/topology/outlier_signs.hpp"
#include "config/load.hpp"
#include "config/settings/units.hpp"

namespace karmad {
namespace {

constexpr int kSystem = 71;  // EX_OSERR
constexpr Micros kUpkeep = 100ms;
constexpr unsigned kMemoryRounds = 5;  // upkeep rounds between two calls
constexpr Micros kDrainInterval = 10ms;

unsigned cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

/// Raises the limit of open descriptors to the highest allowed value, and returns it.
rlim_t raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

/// The most client connections: a quarter of the descriptors is reserved for other uses.
std::uint32_t most_clients(unsigned wanted, rlim_t files) {
  const auto possible = static_cast<std::uint32_t>(
      std::min<rlim_t>(files - files / 4, std::numeric_limits<std::int32_t>::max()));
  return wanted == 0 ? possible : std::min<std::uint32_t>(wanted, possible);
}

/// The descriptors of a process that serves at least some clients. Each worker has three for its
/// loop and one for every listen line, and needs some for connections to clients and mirrors.
rlim_t descriptors_needed(unsigned workers, std::size_t listen_lines) {
  constexpr rlim_t kOfProcess = 24;  // logs, signals, the main loop, names, the takeover
  constexpr rlim_t kOfWorker = 3 + 8;
  return kOfProcess + workers * (kOfWorker + listen_lines);
}

/// How many descriptors are open; 0: unknown.
std::size_t open_descriptors() {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
       !error && entry != end; entry.increment(error))
    ++count;
  return count;
}

/// The pings of a mirror. Two mirrors at one agent share a pinger if these are equal.
PingSettings ping_settings(const InstanceSettings& settings, const ShardPings& pings,
                           const Mirror& mirror) {
  const auto interval = settings.ha_ping_interval.value;
  return {.interval = interval,
          .timeout = settings.ping_timeout ? settings.ping_timeout->value
                                           : std::max(interval, Micros(500ms)),
          .kind = pings.kind,
          .path = pings.path,
          .table = pings.kind->about_table ? mirror.tables.front() : std::string()};
}

/// The signals of the server as a descriptor. Threads started later inherit the blocked signals.
int open_signals() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) ::sigaddset(&wanted, number);
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  return ::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
}

std::expected<std::unique_ptr<LineWriter>, std::string> open_access_log(const std::string& path) {
  LineWriter::Options options;
  options.on_failure = [path](const std::string& why) {
    spdlog::warn("access_log {}: {}", path, why);
  };
  options.on_recovery = [path](std::uint64_t dropped) {
    spdlog::warn("access_log {}: can be written again; {} lines were dropped", path, dropped);
    return std::string();
  };
  return LineWriter::open(path, std::move(options));
}

}  // namespace

Server::Server(std::string config_path, Settings settings, std::shared_ptr<LineWriter> log,
               Hooks hooks)
    : config_path_(std::move(config_path)),
      file_settings_(std::move(settings)),
      configured_(file_settings_),
      settings_(configured_),
      worker_count_(settings_.searchd.workers.value == 0 ? cores()
                                                         : settings_.searchd.workers.value),
      registry_(std::make_unique<AgentRegistry>(worker_count_,
                                                settings_.searchd.ha_period_karma.value, dns())),
      hooks_(std::move(hooks)),
      log_(std::move(log)) {
  shared_.monitoring.log = log_.get();
  shared_.monitoring.events = &events_;
  shared_.monitoring.watch = &mirror_watch_;
  shared_.monitoring.desk = this;
  shared_.monitoring.sources = &sources_;
  shared_.process.user_handles = hooks_.handles;
}

Server::~Server() {
  door_->close();
}

void Server::limit_memory() {
  const auto setting = settings_.searchd.memory_limit;
  const auto limit = memory_limit_of(setting.value, memory_available());
  if (limit == std::exchange(logged_memory_limit_, limit)) return;
  shared_.limits.memory.limit(limit);
  if (limit == 0) {
    spdlog::info("memory_limit = {}: no limit", memory_text(setting.value));
  } else {
    spdlog::info("memory_limit = {}: {} MB", memory_text(setting.value), limit >> 20);
  }
}

void Server::adopt_rates(const Topology& topology) {
  const auto now = Loop::now();
  shared_.limits.rates.adopt(topology.settings, now);
  for (const auto& table : topology.tables)
    if (table->requests) table->requests->change(table->request_rule, 0, now);
}

std::optional<StartFailure> Server::open(Problems& problems) {
  const int signals = open_signals();
  if (signals < 0) return StartFailure{kSystem, "cannot open a descriptor for signals"};
  signals_.assign(signals);
  const auto files = raise_file_limit();
  const auto lines = settings_.searchd.listen.size();
  if (const auto needed = descriptors_needed(worker_count_, lines); files < needed)
    return StartFailure{
        kSystem, fmt::format("only {} descriptors may be open (ulimit -n, LimitNOFILE), and {} "
                             "workers with {} listen lines need at least {}",
                             files, worker_count_, lines, needed)};
  shared_.connections.most = most_clients(settings_.searchd.max_connections.value, files);
  log_notices(settings_);
  problems = read_secrets(file_settings_.searchd);
  Problems notices;
  Topology::judge(file_settings_, hooks_.dialects, problems, notices);
  if (!problems.empty()) return StartFailure{78, "the configuration has errors"};
  if (auto failure = inherit()) return failure;
  read_state();
  find_mirrors();
  configured_ = with_mirrors(file_settings_, discovery_->pictures());
  forget_overrides();
  settings_ = with_overrides(configured_, overrides_);
  topology_ = Topology::build(settings_, environment(), nullptr, problems);
  if (!topology_) {  // wrong names or sources do not prevent a start
    for (const auto& problem : std::exchange(problems, {}))
      spdlog::error("the mirrors that were found cannot be used: {}", problem.message);
    configured_ = with_pictures(file_settings_, {});
    settings_ = with_overrides(configured_, overrides_);
    topology_ = Topology::build(settings_, environment(), nullptr, problems);
  }
  if (!topology_) return StartFailure{78, "the configuration has errors"};
  topology_->apply_limits(Loop::now());
  limit_memory();
  name_agents(topology_);
  if (auto failure = refuse_to_serve_less()) return failure;
  adopt_rates(*topology_);

  selection_log_ = std::make_shared<SelectionLog>(log_);
  selection_log_->level(settings_.searchd.selection_log_level.value);
  shared_.process.selection_log = selection_log_;
  shared_.monitoring.started = Loop::now();
  shared_.monitoring.started_at = std::chrono::system_clock::now();
  shared_.monitoring.reloads.started(shared_.monitoring.started_at);
  if (const auto& access_log = settings_.searchd.access_log) {
    auto log = open_access_log(access_log->value);
    if (!log)
      return StartFailure{kSystem,
                          fmt::format("cannot write {} (access_log, {}): {}", access_log->value,
                                      text(access_log->at), log.error())};
    access_log_ = *std::move(log);
    shared_.process.access_log = access_log_.get();
  }
  admission_ = std::make_unique<Admission>(worker_count_, loops_, shared_.connections.most,
                                           settings_.searchd, Loop::now());
  shared_.limits.admission = admission_.get();
  const auto threads = settings_.searchd.long_work_threads.value;
  helpers_ = std::make_unique<HelperPool>(threads == 0 ? worker_count_ : threads,
                                          settings_.searchd.long_work_queue.value);
  shared_.process.helpers = helpers_.get();
  const auto seed = std::random_device{}();
  spdlog::info("karmad {}, {} workers, seed {}", KARMAD_VERSION, worker_count_, seed);
  add_event(OperatorEvent::Kind::started,
            fmt::format("karmad {} has started with {} workers", KARMAD_VERSION, worker_count_));
  shared_.process.document_ids.set_process(
      SeededRandom(seed).below(std::size_t{1} << DocumentIds::kProcessBits));
  workers_.resize(worker_count_);
  for (unsigned i = 0; i < worker_count_; ++i)
    workers_[i] = std::make_unique<Worker>(i, seed + i, shared_, topology_,
                                           std::span<const std::unique_ptr<Worker>>(workers_));
  for (const auto& worker : workers_) loops_.of.push_back(&worker->loop);
  acceptors_.resize(worker_count_);
  restore_from_former();
  for (std::size_t line = 0; line < settings_.searchd.listen.size(); ++line) {
    const auto& listen = settings_.searchd.listen[line];
    auto address = listen.address;
    auto opened = sockets_of(line, address, listen.admin);
    if (!opened)
      return StartFailure{kSystem, fmt::format("cannot listen on {} (listen, {}): {}",
                                               text(address), text(listen.at), opened.error())};
    for (unsigned i = 0; i < worker_count_; ++i)
      for (auto& socket : (*opened)[i]) {
        socket.admin = listen.admin;
        socket.mysql = listen.mysql;
        socket.read_only = listen.read_only;
        acceptors_[i].push_back(std::make_unique<Acceptor>(*workers_[i], socket));
      }
    auto bound = listen;
    bound.address = address;
    spdlog::info("listening on {}", text(bound));
    bound_.push_back({address, listen.at});
  }
  constexpr std::size_t kForConnections = 8;
  if (const auto open = open_descriptors(); open + kForConnections * worker_count_ > files)
    return StartFailure{kSystem,
                        fmt::format("{} of {} descriptors (ulimit -n, LimitNOFILE) are open "
                                    "before the first connection; that leaves too few to serve",
                                    open, files)};
  return std::nullopt;
}

/// Periodic work: weights once a period, error rates and latency floors ten times a second.
Task<void> Server::upkeep() {
  auto& worker = *workers_.front();
  unsigned rounds = 0;
  while (!upkeep_->requested()) {
    for (const auto& agent : worker.topology()->agents) agent->slots.refresh(Loop::now());
    for (const auto& table : worker.topology()->tables)
      for (const auto& shard : table->shards) {
        shard->mirrors->refresh(Loop::now());
        watch_outliers(*shard, Loop::now(), worker.loop.random);
      }
    mirror_watch_.sample(*worker.topology(), Loop::now(), std::chrono::system_clock::now());
    // On another thread: after large answers this takes longer than a turn may.
    if (++rounds % kMemoryRounds == 0) run_detached(give_back_memory);
    co_await sleep(worker.loop, Loop::now() + kUpkeep, *upkeep_);
  }
  // During a drain, queries that wait for a suitable mirror need pings until the last query ends.
  while (shared_.connections.open.load(std::memory_order_relaxed) +
             shared_.connections.admin_open.load(std::memory_order_relaxed) >
         0) {
    Stop never(worker.loop);
    co_await sleep(worker.loop, Loop::now() + kDrainInterval, never);
  }
  for (auto& pinger : pingers_) pinger->stop();
}

void Server::adopt_pings(const Topology& topology) {
  std::erase_if(pingers_, [](const auto& pinger) { return pinger->stopped(); });
  for (auto& pinger : pingers_) pinger->stop();
  const auto old = static_cast<std::ptrdiff_t>(pingers_.size());
  const auto pinger_of = [&](const ShardPings& pings, const Mirror& mirror) {
    auto settings = ping_settings(topology.settings, pings, mirror);
    const auto same = std::find_if(pingers_.begin() + old, pingers_.end(), [&](const auto& pinger) {
      return pinger->asks(*mirror.agent, settings);
    });
    if (same != pingers_.end()) return *same;
    return pingers_.emplace_back(std::make_shared<Pinger>(workers_.front()->loop, mirror.agent,
                                                          std::move(settings),
                                                          topology.settings.hostname_lookup.value));
  };
  for (const auto& table : topology.tables)
    for (const auto& shard : table->shards)
      for (std::size_t i = 0; shard->pings.kind != nullptr && i < shard->mirrors->size(); ++i) {
        if (shard->mirrors->out_of_service().maint.contains(i)) continue;
        const auto pinger = pinger_of(shard->pings, (*shard->mirrors)[i]);
        pinger->subscribe(shard->mirrors, i, shard->pings.always);
        shard->mirrors->pinger(i, pinger);
      }
  for (auto pinger = pingers_.begin() + old; pinger != pingers_.end(); ++pinger) (*pinger)->start();
  // Closes the sets that were removed, which wakes their waiting queries.
  const auto before = std::exchange(sets_, {});
  for (const auto& table : topology.tables)
    for (const auto& shard : table->shards) sets_.push_back(shard->mirrors);
  for (const auto& set : before)
    if (std::ranges::find(sets_, set) == sets_.end()) set->close();
}

int Server::run() {
  auto& first = *workers_.front();
  upkeep_ = std::make_unique<Stop>(first.loop);
  for (unsigned i = 0; i < workers_.size(); ++i) {
    workers_[i]->on_drain = [this, i] {
      for (auto& acceptor : acceptors_[i]) acceptor->refuse_new();
    };
    workers_[i]->on_close = [this, i] {
      for (auto& acceptor : acceptors_[i]) acceptor->stop();
      if (i != 0) return;
      admission_->stop();
      upkeep_->request(StopReason::cancelled);
    };
  }
  std::latch accepting(static_cast<std::ptrdiff_t>(workers_.size()));
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < workers_.size(); ++i)
    threads.emplace_back([this, i, &accepting] {
      for (auto& acceptor : acceptors_[i]) acceptor->start();
      accepting.count_down();
      if (i == 0) {
        adopt_pings(*workers_.front()->topology());
        spawn(upkeep());
        spawn(admission_->watch(workers_.front()->loop));
      }
      workers_[i]->run();
    });
  accepting.wait();
  begin_serving();
  wait_for_signal();
  auto waiter = std::thread([this, &threads] {
    for (auto& thread : threads) thread.join();
    asio::post(main_, [this] { main_.stop(); });
  });
  main_.run();
  waiter.join();
  takeover_service_.reset();
  spdlog::info("stopped");
  return exit_code_;
}

void Server::wait_for_signal() {
  signals_.async_read_some(asio::buffer(&signal_, sizeof signal_),
                           [this](error_code error, std::size_t size) {
                             if (error) return;
                             if (size == sizeof signal_)
                               on_signal(static_cast<int>(signal_.ssi_signo));
                             wait_for_signal();
                           });
}

void Server::on_signal(int number) {
  if (number == SIGHUP) {
    reload();
  } else if (number == SIGUSR1) {
    spdlog::info("USR1: {}", access_log_ ? "reopening the access log" : "there is no access log");
    reopen_logs();
  } else if (number == SIGUSR2) {
    upgrade();
  } else {
    stop(number);
  }
}

void Server::add_event(OperatorEvent::Kind kind, std::string message) {
  using enum OperatorEvent::Kind;
  const auto severity =
      kind == reload_failed ? OperatorEvent::Severity::error : OperatorEvent::Severity::info;
  events_.add({.severity = severity, .kind = kind, .message = std::move(message)},
              std::chrono::system_clock::now());
}

}  // namespace karmad
