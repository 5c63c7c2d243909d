#include "balancer/server.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <limits>

#include "balancer/core/memory.hpp"
#include "balancer/discovery/found.hpp"
#include "balancer/discovery/source_json.hpp"
#include "balancer/endpoints/endpoints.hpp"
#include "balancer/operate/secrets.hpp"
#include "balancer/operate/state_file.hpp"
#include "balancer/selection/selection_log.hpp"
#include "balancer/status/status_json.hpp"
#include "config/check.hpp"
#include "config/effective.hpp"
#include "config/load.hpp"
#include "config/settings/units.hpp"
#include "config/settings/words.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

constexpr auto kStart = std::chrono::seconds(1);  // until then something of the start may go on

/// Raises the limit of open descriptors to the highest allowed value, and returns it.
rlim_t raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

/// The most client connections: of the descriptors beyond those that are `needed` anyway a quarter
/// is reserved for mirrors. Each worker may have a few in any case.
std::uint32_t most_clients(unsigned wanted, rlim_t files, rlim_t needed, unsigned workers) {
  const auto beyond = files - needed;
  const auto possible = static_cast<std::uint32_t>(std::clamp<rlim_t>(
      beyond - beyond / 4, rlim_t{4} * workers, std::numeric_limits<std::int32_t>::max()));
  return wanted == 0 ? possible : std::min<std::uint32_t>(wanted, possible);
}

/// The descriptors of a process that serves at least some clients. Each worker has three for its
/// loop and one for every listen line, and needs some for connections to clients and mirrors.
rlim_t descriptors_needed(unsigned workers, std::size_t listen_lines) {
  constexpr rlim_t kOfProcess = 24;  // logs, signals, the main loop, names, the takeover
  constexpr rlim_t kOfWorker = 3 + 8;
  return kOfProcess + workers * (kOfWorker + listen_lines);
}

/// The signals of the server as a descriptor. Threads started later inherit the blocked signals.
int open_signals() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD})
    ::sigaddset(&wanted, number);
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  return ::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
}

LineWriter::Options access_log_options(const std::string& path) {
  LineWriter::Options options;
  options.on_failure = [path](const std::string& why) {
    spdlog::warn("access_log {}: {}", path, why);
  };
  options.on_recovery = [path](std::uint64_t dropped) {
    spdlog::warn("access_log {}: can be written again; {} dropped", path,
                 counted_noun(dropped, "line"));
    return std::string();
  };
  return options;
}

void log_notices(const Settings& settings) {
  for (const auto& notice : settings.notices)
    spdlog::log(
        notice.severity == Problem::Severity::warning ? spdlog::level::warn : spdlog::level::info,
        "{}", text({notice.at, notice.message}));
}

constexpr std::string_view kTakenOver =
    "another process takes over from this one; repeat the call, which it will get";

constexpr std::string_view kListenersStay =
    " (listen takes effect at the next start; until then its former lines count)";

/// A call in a few words, for the log and the event.
std::string text(const AdminCall& call) {
  std::string text(kAdminVerbs[call.verb]);
  if (call.mirror) text += ' ' + *call.mirror;
  if (call.table) text += " of table " + *call.table;
  if (call.weight) text += fmt::format(": {}", *call.weight);
  if (call.strategy) text += ": " + *call.strategy;
  if (call.on) text += *call.on ? ": on" : ": off";
  if (call.level) text += fmt::format(": {}", kWords<LogLevel>[*call.level]);
  if (call.force) text += " (force)";
  return text;
}

/// The call with its operator, for the log and the event.
std::string text(const AdminCall& call, const std::string& who) {
  return fmt::format("operator ({}): {}", who, text(call));
}

/// Answers a call that is not done, and logs why.
void refuse(const AdminCall& call, const std::string& who, AdminApi::Done& done, int status,
            std::string_view reason, const Problems& problems = {}) {
  spdlog::warn("{} is refused: {}", text(call, who),
               problems.empty() ? reason : problems.front().message);
  done(admin_error(status, reason, problems));
}

/// The sets with mirrors at these names, and their positions there.
std::vector<std::pair<std::shared_ptr<MirrorSet>, Candidates>> sets_with(
    const Topology& topology, const std::vector<MirrorName>& names) {
  std::vector<std::pair<std::shared_ptr<MirrorSet>, Candidates>> found;
  for (const auto& table : topology.tables)
    for (const auto& shard : table->shards) {
      const auto& set = *shard->mirrors;
      Candidates mirrors;
      for (std::size_t i = 0; i < set.size(); ++i)
        if (std::ranges::find(names, MirrorName{table->name, set[i].agent->name}) != names.end())
          mirrors.insert(i);
      if (!mirrors.empty()) found.emplace_back(shard->mirrors, mirrors);
    }
  return found;
}

void add_karma(const MirrorSet& set, Candidates mirrors, std::vector<std::string>& to) {
  for (const auto i : mirrors)
    to.push_back(
        fmt::format(R"({{"mirror":"{}","karma":{:.4f}}})", set[i].agent->name, set[i].karma()));
}

/// Whether one of these names stands for mirrors of the table.
bool has_name(const TableSettings& table, const NameAnswers& names) {
  const auto is_of = [&](const ShardSettings& line) {
    return std::ranges::any_of(line.mirrors, [&](const MirrorSettings& mirror) {
      const auto& host = mirror.address.host;
      return names.contains({host, false}) || names.contains({host, true});
    });
  };
  return std::ranges::any_of(table.shards, is_of) || std::ranges::any_of(table.blackholes, is_of);
}

constexpr Micros kCertificateInterval = 5s;

constexpr int kEndedAtOnce = 1;

[[noreturn]] void end_at_once() {
  spdlog::default_logger()->flush();
  std::_Exit(kEndedAtOnce);
}

}  // namespace

Server::Server(std::string config_path, Settings settings, std::shared_ptr<LineWriter> log,
               Hooks hooks)
    : config_path_(std::move(config_path)),
      configuration_(std::move(settings)),
      hooks_(std::move(hooks)),
      log_(std::move(log)),
      fleet_(this->settings().searchd.workers.value == 0 ? usable_cores()
                                                         : this->settings().searchd.workers.value,
             shared_, mirror_watch_) {
  const auto& searchd = this->settings().searchd;
  registry_ = std::make_unique<AgentRegistry>(static_cast<unsigned>(fleet_.size()),
                                              searchd.ha_period_karma.value, dns_settings(searchd));
  mirrors_ = std::make_unique<MirrorFinder>(
      main_, dns_settings(searchd), sources_,
      MirrorFinder::Hooks{.judge = [this](const FoundMirrors& found) { return judge(found); },
                          .changed =
                              [this] {
                                adopt_mirrors();
                                if (!stopping_ && fleet_.created()) save_state();
                              }});
  shared_.monitoring.log = log_.get();
  shared_.monitoring.events = &events_;
  shared_.monitoring.watch = &mirror_watch_;
  shared_.monitoring.desk = this;
  shared_.monitoring.sources = &sources_;
  shared_.process.user_handles = hooks_.handles;
}

Server::~Server() {
  mirrors_->end();
}

void Server::limit_memory() {
  const auto setting = settings().searchd.memory_limit;
  const auto limit = memory_limit_of(setting.value, memory_available());
  if (limit == std::exchange(logged_memory_limit_, limit)) return;
  shared_.limits.memory.limit(limit);
  if (limit == 0) {
    spdlog::info("memory_limit = {}: no limit", text(setting.value));
  } else {
    spdlog::info("memory_limit = {}: {} MB", text(setting.value), limit >> 20);
  }
}

void Server::adopt_rates(const Topology& topology) {
  const auto now = Loop::now();
  shared_.limits.rates.adopt(topology.settings, now);
  const auto& settings = topology.settings;
  shared_.limits.auth_failures.change(
      rule_of(settings.auth_failure_rate.value, settings.auth_failure_burst.value),
      settings.client_request_remembered.value, now);
  for (const auto& table : topology.tables)
    if (table->requests) table->requests->change(table->request_rule, 0, now);
}

std::optional<StartFailure> Server::open(Problems& problems) {
  const int signals = open_signals();
  if (signals < 0) return StartFailure{EX_OSERR, "cannot open a descriptor for signals"};
  signals_.assign(signals);
  const auto workers = static_cast<unsigned>(fleet_.size());
  const auto files = raise_file_limit();
  const auto lines = settings().searchd.listen.size();
  const auto needed = descriptors_needed(workers, lines);
  if (files < needed)
    return StartFailure{
        EX_OSERR, fmt::format("only {} descriptors may be open (ulimit -n, LimitNOFILE), and {} "
                              "workers with {} listen lines need at least {}",
                              files, workers, lines, needed)};
  shared_.connections.most =
      most_clients(settings().searchd.max_connections.value, files, needed, workers);
  auto file = configuration_.file();
  problems = read_secrets(file);
  log_notices(file);
  Problems notices;
  Topology::judge(file, hooks_.dialects, problems, notices);
  if (!problems.empty()) return StartFailure{EX_CONFIG, "the configuration has errors"};
  configuration_ = Configuration(std::move(file));
  if (auto failure = inherit()) return failure;
  if (auto failure = build_first_topology(problems)) return failure;
  if (auto failure = refuse_to_serve_less()) return failure;
  adopt_rates(*topology_);

  selection_log_ = std::make_shared<SelectionLog>(log_);
  configure_logs();  // the operator may have changed the level in a former process
  shared_.process.selection_log = selection_log_;
  shared_.monitoring.started = Loop::now();
  shared_.monitoring.started_at = std::chrono::system_clock::now();
  shared_.monitoring.reloads.started(shared_.monitoring.started_at);
  if (auto failure = open_access_log()) return failure;
  const auto seed = std::random_device{}();
  const auto threads = counted_noun(workers, "worker");
  spdlog::info("karmad {}, {}, seed {}", KARMAD_VERSION, threads, seed);
  add_event(OperatorEvent::Kind::started,
            fmt::format("karmad {} has started with {}", KARMAD_VERSION, threads));
  shared_.process.document_ids.set_process(
      SeededRandom(seed).below(std::size_t{1} << DocumentIds::kProcessBits));
  fleet_.create(topology_, seed);
  restore_from_former();
  if (auto failure = listen()) return failure;
  constexpr std::size_t kForConnections = 8;
  if (const auto open = process_numbers().open_fds.value_or(0);
      open + kForConnections * workers > files)
    return StartFailure{EX_OSERR,
                        fmt::format("{} of {} descriptors (ulimit -n, LimitNOFILE) are open "
                                    "before the first connection; that leaves too few to serve",
                                    open, files)};
  return std::nullopt;
}

std::optional<StartFailure> Server::build_first_topology(Problems& problems) {
  read_state();
  // A start drops shards that a source has no more, as a reload does; a takeover keeps them.
  mirrors_->start(configuration_.file(), std::move(last_found_), learned_.has_value());
  const auto build = [&](const FoundMirrors& found) {
    auto next = configuration_.on_mirrors(found);
    problems = check_where_it_listens(next.configuration.configured());
    report(next);
    configuration_ = std::move(next.configuration);
    if (!problems.empty()) return;
    topology_ = destroyed_here(Topology::build(settings(), environment(), nullptr, problems));
  };
  build(mirrors_->found());
  if (!topology_) {  // wrong names or sources do not prevent a start
    for (const auto& problem : std::exchange(problems, {}))
      spdlog::error("the mirrors that were found cannot be used: {}", problem.message);
    build({});
  }
  if (!topology_) return StartFailure{EX_CONFIG, "the configuration has errors"};
  topology_->apply_limits(Loop::now());
  limit_memory();
  mirrors_->name_agents(topology_, /*at_start=*/true);
  return std::nullopt;
}

std::optional<StartFailure> Server::open_access_log() {
  const auto& setting = settings().searchd.access_log;
  if (!setting) return std::nullopt;
  auto log = LineWriter::open(setting->value, access_log_options(setting->value));
  if (!log)
    return StartFailure{EX_OSERR, fmt::format("cannot write {} (access_log, {}): {}",
                                              setting->value, text(setting->at), log.error())};
  access_log_ = *std::move(log);
  shared_.process.access_log = access_log_.get();
  return std::nullopt;
}

std::optional<StartFailure> Server::listen() {
  for (std::size_t line = 0; line < settings().searchd.listen.size(); ++line) {
    const auto& listen = settings().searchd.listen[line];
    auto address = listen.address;
    auto opened = sockets_of(line, address, listen.admin);
    if (!opened)
      return StartFailure{EX_OSERR, fmt::format("cannot listen on {} (listen, {}): {}",
                                                text(address), text(listen.at), opened.error())};
    for (auto& sockets : *opened)
      for (auto& socket : sockets) socket.kind = listen;
    fleet_.listen(*opened);
    auto bound = listen;
    bound.address = address;
    spdlog::info("listening on {}", text(bound));
    bound_.push_back(std::move(bound));
  }
  return std::nullopt;
}

int Server::run() {
  fleet_.start();
  begin_serving();
  follow_certificates();
  asio::steady_timer started(main_.io, kStart);
  started.async_wait([](error_code) { release_memory_of_start(); });
  wait_for_signal();
  auto waiter = fleet_.await_end([this] { main_.post([this] { main_.io.stop(); }); });
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
    if (access_log_) access_log_->reopen();
  } else if (number == SIGUSR2) {
    upgrade();
  } else if (number == SIGCHLD) {
    report_failed_successors();
  } else {
    stop(number);
  }
}

void Server::add_event(OperatorEvent::Kind kind, std::string message) {
  using enum OperatorEvent::Kind;
  const auto severity = kind == reload_failed ? LogLevel::error : LogLevel::info;
  events_.add({.severity = severity, .kind = kind, .message = std::move(message)},
              std::chrono::system_clock::now());
}

void Server::report(LogLevel severity, OperatorEvent::Kind kind, std::string message) {
  events_.add_and_log({.severity = severity, .kind = kind, .message = std::move(message)},
                      std::chrono::system_clock::now());
}

void Server::follow_certificates() {
  if (!topology_->client_tls || stopping_) return;
  auto& certificates = *topology_->client_tls;
  if (certificates.reread() == TlsServer::Reread::changed)
    report(LogLevel::info, OperatorEvent::Kind::certificates,
           "the changed certificates (tls_certificate) are in use");
  auto warning = certificate_warning(certificates, std::chrono::system_clock::now());
  if (warning != certificate_warning_ && !warning.empty())
    report(LogLevel::warning, OperatorEvent::Kind::certificates, warning);
  certificate_warning_ = std::move(warning);
  certificate_timer_.expires_after(kCertificateInterval);
  certificate_timer_.async_wait([this](error_code error) {
    if (!error) follow_certificates();
  });
}

void Server::call(AdminCall call, std::string who, Done done) {
  main_.post([this, call = std::move(call), who = std::move(who),
              done = std::move(done)]() mutable { operate(call, who, std::move(done)); });
}

void Server::describe(Done done) {
  main_.post(
      [this, done = std::move(done)]() mutable { done(admin_config(settings(), state_text())); });
}

void Server::operate(const AdminCall& call, const std::string& who, Done done) {
  if (stopping_) return refuse(call, who, done, 503, "karmad is stopping");
  if (call.verb == AdminVerb::reload) {
    spdlog::info("{}", text(call, who));
    return reload(std::move(done));
  }
  if (call.verb == AdminVerb::reset_karma) return reset_karma(call, who, std::move(done));
  const std::scoped_lock lock(configuration_mutex_);
  if (handed_over_) return refuse(call, who, done, 503, kTakenOver);
  auto next = configuration_.on_call(call);
  if (!next) return refuse(call, who, done, next.error().status, next.error().reason);
  const auto before = subjects(call, settings());
  if (!call.force)
    if (const auto shards =
            shards_without_mirrors(settings(), next->configuration.settings(),
                                   [this](const std::string& address) { return works(address); });
        !shards.empty())
      return refuse(call, who, done, 409, last_mirror_text(shards));
  const auto after = subjects(call, next->configuration.settings());
  const auto reply = std::make_shared<Done>(std::move(done));
  const auto not_saved = std::make_shared<std::string>();
  const auto problems =
      adopt(*std::move(next),
            {.kind = OperatorEvent::Kind::admin,
             .message = text(call, who),
             .done = [this, reply, before, after, not_saved, verb = call.verb] {
               main_.post([=] { (*reply)(admin_changed(verb, before, after, *not_saved)); });
             }});
  if (!problems.empty())
    return refuse(call, who, *reply, 400, "the change is not possible; nothing was changed",
                  problems);
  *not_saved = save_state();
}

/// Whether the agent at this address is neither dead nor without an address.
bool Server::works(const std::string& address) const {
  const auto found = std::ranges::find(topology_->agents, address, &Agent::name);
  if (found == topology_->agents.end()) return false;
  const auto& agent = **found;
  return !(agent.named() && agent.unresolved()) &&
         !is_down(agent, topology_->settings.dead_after.value);
}

std::string Server::state_text() const {
  const auto found = mirrors_->last_found();
  return overrides_json(configuration_.overrides(),
                        found == LastFound() ? "" : last_found_json(found));
}

/// Returns why the state could not be saved; empty: it was, or need not be.
std::string Server::save_state() {
  const auto& file = settings().searchd.state_file;
  if (!file) return {};
  if (file->value != state_path_) find_state(file->value);  // a reload has changed it
  auto text = state_text();
  const bool nothing = saved_state_.empty() && text == overrides_json({});
  if (nothing || text == saved_state_) return {};
  const auto failed = [&](const std::string& reason) {
    auto why = fmt::format("state_file {}: {}", file->value, reason);
    spdlog::error("{}; what was changed or found at run time is lost at the end", why);
    return why;
  };
  if (keeps_state_aside_) {
    const auto kept = keep_aside(file->value);
    if (!kept) return failed(kept.error());
    if (!kept->empty())
      spdlog::warn("state_file {}: what was there is kept as {}", file->value, *kept);
    keeps_state_aside_ = false;
  }
  if (const auto written = write_state_file(file->value, text); !written)
    return failed(written.error());
  saved_state_ = std::move(text);
  return {};
}

/// Reads what the former process has handed over, or else the state file, at the start. What it
/// cannot use is told and left out: a wrong file must not prevent a start.
void Server::read_state() {
  const auto& file = settings().searchd.state_file;
  if (file) find_state(file->value);
  if (learned_ && !learned_->overrides.empty())
    return use_state(learned_->overrides, "what the former process has sent");
  if (file) use_state(saved_state_, "state_file " + file->value);
}

/// Looks at the state file that the configuration names from now on.
void Server::find_state(const std::string& path) {
  const auto content = read_state_file(path);
  state_path_ = path;
  saved_state_ = content.value_or("");
  keeps_state_aside_ = !content;
  if (content) return;
  const auto message = fmt::format("state_file {} is not used: {}", path, content.error());
  spdlog::error("{}", message);
  add_event(OperatorEvent::Kind::admin, message);
}

void Server::use_state(const std::string& text, const std::string& source) {
  if (text.empty()) return;
  auto read = parse_overrides(text);
  auto found = last_found_in(text);
  if (!read || !found) {
    const auto message =
        fmt::format("{} is not used: {}", source, read ? found.error() : read.error());
    spdlog::error("{}", message);
    return add_event(OperatorEvent::Kind::admin, message);
  }
  configuration_.restore(*std::move(read));
  last_found_ = *std::move(found);
}

void Server::reset_karma(const AdminCall& call, const std::string& who, Done done) {
  if (handed_over_ || (takeover_service_ && takeover_service_->offering()))
    return refuse(call, who, done, 503, kTakenOver);
  const auto names = mirrors_of(call, configuration_.configured());
  if (!names) return refuse(call, who, done, names.error().status, names.error().reason);
  spdlog::info("{}", text(call, who));
  add_event(OperatorEvent::Kind::admin, text(call, who));
  fleet_.post(0, [sets = sets_with(*topology_, *names), done = std::move(done)]() mutable {
    std::vector<std::string> before;
    std::vector<std::string> after;
    for (const auto& [set, mirrors] : sets) {
      add_karma(*set, mirrors, before);
      set->reset_karma(mirrors);
      add_karma(*set, mirrors, after);
    }
    done(admin_changed(AdminVerb::reset_karma, before, after, {}));
  });
}

void Server::reload(Done done) {
  if (access_log_) access_log_->reopen();
  if (stopping_) return spdlog::info("reload: karmad is stopping; the configuration in use stays");
  spdlog::info("reload: reading {}", config_path_);
  tell_service(reloading_text(
      std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now().time_since_epoch())));
  // A pipe could block this thread, and with it the signals that end the process.
  auto loaded =
      load(config_path_, real_environment(), FileKind::regular, judge_with(hooks_.dialects));
  if (loaded.settings) loaded.problems = read_secrets(*loaded.settings, settings().searchd.listen);
  const auto reply = std::make_shared<Done>(std::move(done));
  const auto before = effective_settings(settings());
  if (loaded.problems.empty()) loaded.problems = adopt_file(*std::move(loaded.settings), reply);
  if (!loaded.problems.empty()) {
    reload_failed(loaded.problems);
    if (*reply)
      (*reply)(admin_error(422, "the configuration has errors; the old one stays in use",
                           loaded.problems));
    return;
  }
  for (const auto& change : difference(before, effective_settings(settings())))
    spdlog::info("reload: {}", text(change));
  log_notices(settings());
  shared_.monitoring.reloads.succeeded(std::chrono::system_clock::now());
}

/// Makes what was read from the file the configuration.
Problems Server::adopt_file(Settings file, const std::shared_ptr<Done>& reply) {
  const auto found = mirrors_->found_for(configuration_.file(), file);
  auto next = configuration_.on_file(std::move(file), found);
  if (auto refused = check_where_it_listens(next.configuration.configured()); !refused.empty()) {
    mirrors_->ask_names(configuration_.file());  // no longer those of the other file
    if (std::ranges::find(next.fixed, "listen") != next.fixed.end())
      for (auto& problem : refused) problem.message += kListenersStay;
    return refused;
  }
  for (const auto name : next.fixed)
    spdlog::warn("reload: {} takes effect at the next start", name);
  const auto& changed = next.configuration.settings();
  auto result = admin_reloaded(
      difference(effective_settings(settings()), effective_settings(changed)), next.fixed);
  const auto message =
      fmt::format("reload: done, {}", counted_noun(changed.tables.size(), "table"));
  auto tell = [this, reply, result = std::move(result)] {
    main_.post([this, reply, result] {
      tell_service_ready();
      if (*reply) (*reply)(result);
    });
  };
  const std::scoped_lock lock(configuration_mutex_);
  auto problems = adopt(std::move(next), {.message = message, .done = std::move(tell)});
  if (!problems.empty()) return problems;
  mirrors_->adopt(configuration_.file());
  save_state();
  return problems;
}

void Server::reload_failed(const Problems& problems) {
  for (const auto& problem : problems) spdlog::error("{}", text(problem));
  spdlog::error("reload: the configuration has errors; the old configuration stays in use");
  shared_.monitoring.reloads.failed();
  tell_service(text(ServiceReady{"the configuration has errors; the old one stays in use", {}}));
  add_event(OperatorEvent::Kind::reload_failed,
            "the old configuration stays: " + text(problems.front()));
}

void Server::adopt_mirrors() {
  if (stopping_ || !fleet_.created()) return;
  mirrors_->ask_names(configuration_.file());
  auto next = configuration_.on_mirrors(mirrors_->found());
  const auto message = "mirrors: " + next.mirrors;
  auto problems = check_where_it_listens(next.configuration.configured());
  const std::scoped_lock lock(configuration_mutex_);
  if (problems.empty() && next.mirrors.empty()) {  // the workers need no other topology
    report(next);
    configuration_ = std::move(next.configuration);
    return;
  }
  if (problems.empty())
    problems =
        adopt(std::move(next), {.kind = OperatorEvent::Kind::mirrors_changed, .message = message});
  if (problems.empty()) {
    refused_mirrors_.clear();
    return;
  }
  auto refusal = fmt::format("the mirrors that were found cannot be used: {}; the last ones stay",
                             problems.front().message);
  if (refusal == std::exchange(refused_mirrors_, refusal)) return;
  report(LogLevel::error, OperatorEvent::Kind::source_failed, std::move(refusal));
}

/// What is wrong with these settings at the listeners of this process, which a reload keeps.
Problems Server::check_where_it_listens(Settings settings) const {
  if (!bound_.empty()) settings.searchd.listen = bound_;
  Problems problems;
  Problems notices;
  check(settings, real_environment().this_host(), problems, notices);
  return problems;
}

std::optional<std::string> Server::judge(const FoundMirrors& found) {
  const auto& file = configuration_.file();
  Settings settings;
  settings.searchd = file.searchd;
  std::ranges::copy_if(file.tables, std::back_inserter(settings.tables), [&](const auto& table) {
    return table.discovery || has_name(table, found.names);
  });
  std::vector<std::string> cuts;
  settings = with_found(std::move(settings), found, cuts);
  auto problems = check_where_it_listens(settings);
  Problems notices;
  Topology::judge(settings, hooks_.dialects, problems, notices);
  if (problems.empty()) return std::nullopt;
  return problems.front().message;
}

/// The same topology, which the main thread destroys: with a thousand tables that takes
/// milliseconds, in which all requests of a worker would wait.
std::shared_ptr<const Topology> Server::destroyed_here(std::shared_ptr<const Topology> topology) {
  if (!topology) return nullptr;
  const auto* const same = topology.get();
  return {same, [door = main_.door(), topology = std::move(topology)](const Topology*) mutable {
            door->post([last = std::move(topology)] {});
          }};
}

Problems Server::adopt(Configuration::Next next, Adoption how) {
  Problems problems;
  auto built =
      Topology::build(next.configuration.settings(), environment(), topology_.get(), problems);
  if (!built) return problems;
  const auto topology = destroyed_here(std::move(built));
  report(next);
  configuration_ = std::move(next.configuration);
  configure_logs();
  mirrors_->name_agents(topology, /*at_start=*/false);
  adopt_rates(*topology);
  limit_memory();
  topology_ = topology;
  follow_certificates();
  fleet_.adopt(topology, [this, how = std::move(how)] {
    report(LogLevel::info, how.kind, how.message);
    how.done();
  });
  return problems;
}

void Server::configure_logs() const {
  const auto& searchd = settings().searchd;
  if (hooks_.configure_log) hooks_.configure_log(searchd.log_level.value, searchd.log_format.value);
  selection_log_->level(searchd.selection_log_level.value);
}

void Server::report(const Configuration::Next& next) {
  for (const auto& cut : next.cuts)
    report(LogLevel::warning, OperatorEvent::Kind::mirrors_changed, cut);
  for (const auto& what : next.ended)
    report(LogLevel::info, OperatorEvent::Kind::admin,
           fmt::format("the operator's change of {} ends: the configuration has changed it, too",
                       what));
}

void Server::stop(int signal) {
  if (std::exchange(signalled_, true)) {
    spdlog::warn("second signal to stop: the process exits now");
    end_at_once();
  }
  if (stopping_) return spdlog::info("the process is ending already: it was taken over");
  takeover_service_.reset();  // ends a takeover in progress, unless the successor is ready
  if (handed_over_) return after_release();
  stopping_ = true;
  certificate_timer_.cancel();
  mirrors_->stop();
  if (watchdog_) watchdog_->workers_end();
  tell_service(stopping_text("ending the requests in progress"));
  // Connections to these sockets wait for the next process.
  fleet_.hand_over([this](int socket) { return stored_.contains(socket); });
  shared_.monitoring.draining.store(true, std::memory_order_relaxed);
  const auto delay = topology_->settings.drain_delay.value;
  if (signal != SIGTERM || delay == Micros{0}) return close_down();
  spdlog::info(
      "TERM: /readyz answers 503; requests and connections are accepted for another {} ms "
      "(drain_delay)",
      delay.count() / 1000);
  add_event(OperatorEvent::Kind::stopping, "karmad stops after drain_delay");
  fleet_.retire();
  shutdown_timer_.expires_after(delay);
  shutdown_timer_.async_wait([this](error_code error) {
    if (!error) close_down();
  });
}

void Server::close_down() {
  const auto longest = topology_->settings.shutdown_timeout.value;
  spdlog::info("stopping; requests in progress have {} ms to end", longest.count() / 1000);
  add_event(OperatorEvent::Kind::stopping, "karmad stops after the requests in progress");
  const auto linger = std::min(topology_->settings.shutdown_linger.value, longest);
  fleet_.drain(linger);
  shutdown_timer_.expires_after(longest);
  shutdown_timer_.async_wait([this](error_code error) {
    if (error) return;
    spdlog::warn("shutdown_timeout is over: requests still in progress are cancelled");
    fleet_.abandon();
    shutdown_timer_.expires_after(1s);
    shutdown_timer_.async_wait([](error_code cancelled) {
      if (cancelled) return;
      spdlog::error("the shutdown did not complete: the process exits now");
      end_at_once();
    });
  });
}

}  // namespace karmad
