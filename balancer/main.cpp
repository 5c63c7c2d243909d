#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>

#include "balancer/client/commands.hpp"
#include "balancer/endpoints/endpoints.hpp"
#include "balancer/manual/manual.hpp"
#include "balancer/operate/secrets.hpp"
#include "balancer/operate/state_file.hpp"
#include "balancer/probe/probe.hpp"
#include "balancer/server.hpp"
#include "balancer/status/status_json.hpp"
#include "balancer/topology/topology.hpp"
#include "balancer/trace/process_log.hpp"
#include "config/effective.hpp"
#include "config/load.hpp"
#include "config/text/source_text.hpp"

/// Settings of jemalloc: memory of a burst is released within about a second; ordinary requests
/// never reach that. MALLOC_CONF in the environment overrides them.
extern "C" {
const char* malloc_conf = "dirty_decay_ms:1000,muzzy_decay_ms:0";
}

namespace karmad {
/// The commit of the sources, from a file that the build writes; empty: unknown.
extern const char kCommit[];
}  // namespace karmad

namespace {

using namespace karmad;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int report(const Problems& problems) {
  std::string told;  // lines of the log are written by another thread
  for (const auto& problem : problems) told += text(problem) + '\n';
  std::cerr << told + counted_noun(problems.size(), "problem") + " in the configuration\n";
  return EX_CONFIG;
}

int print_generated(const std::string& name, const CLI::App& app) {
  const auto text = generated_file(name, app);
  if (!text) {
    std::cerr << "--generate: " << name << " is not one of " << generated_file_names() << '\n';
    return kUsage;
  }
  std::cout << *text;
  return std::cout.flush() ? 0 : 1;
}

void warn_of_state_file(Settings& settings) {
  const auto& file = settings.searchd.state_file;
  if (!file) return;
  if (const auto state = read_state_file(file->value); !state)
    settings.notices.push_back({file->at,
                                "state_file " + file->value + " is not used: " + state.error(),
                                Problem::Severity::warning});
}

/// A running process tells it again every day.
void warn_of_certificates(Settings& settings) {
  Problems reported;  // by load()
  const auto certificates = read_client_tls(settings.searchd, nullptr, reported);
  if (!certificates) return;
  if (auto warning = certificate_warning(*certificates, std::chrono::system_clock::now());
      !warning.empty())
    settings.notices.push_back(
        {settings.searchd.tls_certificate->at, std::move(warning), Problem::Severity::warning});
}

int serve(const std::string& path, Settings settings, std::vector<std::string> command,
          bool takeover, bool forced) {
  ProcessLog log(settings.searchd.log_level.value, settings.searchd.log_format.value);
  const auto configure_log = [&log](LogLevel level, LogFormat format) {
    log.configure(level, format);
  };
  Server server(path, std::move(settings), log.lines(),
                {.configure_log = configure_log, .command = std::move(command)});
  if (takeover) server.take_over_running(forced);
  Problems problems;
  if (const auto failure = server.open(problems)) {
    if (!problems.empty()) return report(problems);
    std::cerr << "karmad: " << failure->why << '\n';
    return failure->exit_code;
  }
  return server.run();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "karmad: sends each search query to one mirror of every shard and merges the answers.\n"
      "Reads a sphinx-style configuration; runs in the foreground and logs to standard error."};
  app.footer(
      "karmad top shows a running karmad in the terminal, karmad ctl changes it (takes mirrors "
      "out,\n"
      "sets weights, reloads), karmad explain shows the choice of mirrors for a request, karmad\n"
      "simulate compares strategies; each has its own --help.\n"
      "Signals: TERM ends it gracefully: /readyz says 503 for drain_delay, then the sockets close\n"
      "and requests in progress may end within shutdown_timeout; INT does the same without the\n"
      "delay; a second one ends it at once. HUP reads the configuration again (a file with errors\n"
      "changes nothing); USR1 reopens the access log; with takeover_socket USR2 starts karmad\n"
      "anew with --takeover.\n"
      "Exit codes: 0 clean, 1 runtime error or a problem found by --probe, 2 usage, 71 operating\n"
      "system (a port in use), 78 configuration.\n"
      "Example: karmad --config demo/karmad.conf, then\n"
      "  curl -s localhost:9308/search -d '{\"table\":\"products\",\"query\":{\"match_all\":{}}}'");
  std::string path;
  bool check = false;
  bool takeover = false;
  bool probe_agents = false;
  bool dump_config = false;
  const auto* const config = app.add_option("-c,--config", path, "the configuration file");
  auto* const check_flag =
      app.add_flag("-t,--check", check, "check the configuration, print all problems, and exit");
  app.add_flag(
         "--probe", probe_agents,
         "with --check: ask every agent for its engine, tables, columns and clock, print what "
         "does not fit, and exit with 1 if anything does not; takes 5 seconds at most")
      ->needs(check_flag);
  auto* const dump_flag =
      app.add_flag(
             "--dump-config", dump_config,
             "print the effective configuration, with the place each value came from, and exit")
          ->excludes(check_flag);
  app.add_flag("--takeover", takeover,
               "take over the listening sockets and what was learned from the process that listens "
               "at takeover_socket, which then ends; without such a process start as usual")
      ->excludes(check_flag)
      ->excludes(dump_flag);
  bool forced = false;
  app.add_flag("--force", forced,
               "with --takeover: take over even if this process can serve less than the running "
               "one")
      ->needs("--takeover");
  const CommandLine commands(app);
  app.set_version_flag("-V,--version", version_text(kCommit));
  app.get_option("--config")->type_name("FILE");
  // Hidden, because only the build of a package needs it.
  std::string file;
  const auto* const generate = app.add_option("--generate", file)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (generate->count() != 0) return print_generated(file, app);
  if (const auto code = commands.run(path)) return *code;
  if (config->count() == 0) {
    std::cerr << "--config is required: the configuration file\nRun with --help for more "
                 "information.\n";
    return kUsage;
  }
  // The server handles them later; until then they must not end the process.
  for (const int number : {SIGPIPE, SIGUSR1, SIGUSR2}) std::signal(number, SIG_IGN);

  auto loaded = load(path, real_environment(), FileKind::any, judge);
  if (!loaded.settings) return report(loaded.problems);
  if (check) {
    if (const auto problems = read_secrets(*loaded.settings); !problems.empty())
      return report(problems);
    warn_of_state_file(*loaded.settings);
    warn_of_certificates(*loaded.settings);
    for (const auto& notice : loaded.settings->notices) std::cerr << text(notice) << '\n';
    std::cout << path << ": no problems\n";
    if (!probe_agents) return 0;
    const auto probed = probe(*loaded.settings, dialects());
    std::cout << probed.text;
    return probed.good ? 0 : kFailed;
  }
  if (dump_config) {
    std::cout << dump(*loaded.settings);
    return 0;
  }
  try {
    return serve(path, *std::move(loaded.settings), {argv, argv + argc}, takeover, forced);
  } catch (const std::exception& error) {  // no memory, threads or descriptors
    std::cerr << "karmad: the operating system gives too little to start: " << error.what() << '\n';
    return EX_OSERR;
  }
}
