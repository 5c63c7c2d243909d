#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "balancer/client/commands.hpp"
#include "balancer/endpoints/endpoints.hpp"
#include "balancer/server.hpp"
#include "balancer/trace/process_log.hpp"
#include "config/dump.hpp"
#include "config/load.hpp"

/// Settings of jemalloc: memory of a burst is released within about a second; ordinary requests
/// never reach that. MALLOC_CONF in the environment overrides them.
extern "C" {
const char* malloc_conf = "dirty_decay_ms:1000,muzzy_decay_ms:0";
}

namespace {

using namespace karmad;

constexpr int kUsage = 2;
constexpr int kConfig = 78;  // EX_CONFIG

int report(const Problems& problems) {
  for (const auto& problem : problems) std::cerr << text(problem) << '\n';
  std::cerr << problems.size() << (problems.size() == 1 ? " problem" : " problems")
            << " in the configuration\n";
  return kConfig;
}

/// The commands that ask a running karmad.
class Commands {
 public:
  explicit Commands(CLI::App& app) {
    app.require_subcommand(0, 1);
    top_ = app.add_subcommand(
        "top", "shows the mirrors of a running karmad, those in trouble first, once a second");
    add_address(*top_, top_options_.address);
    top_->add_option("--table", top_options_.table, "only the mirrors of this table");
    top_->add_option("--interval", top_options_.interval, "seconds between two refreshes")
        ->check([](const std::string& text) {
          const auto seconds = std::strtod(text.c_str(), nullptr);
          return seconds >= 0.1 && seconds <= 3600 ? "" : "give 0.1 to 3600 seconds";
        })
        ->capture_default_str();
    top_->add_flag("--once", top_options_.once, "print once, with averages since the start");
    top_->add_flag("--json", top_options_.json, "one JSON document per refresh, in one line");
    top_->footer("q, INT or TERM ends it. Exit codes: 0, 1 no answer from karmad, 2 usage.");
    explain_ = app.add_subcommand(
        "explain", "shows which mirrors a request saw and why it went where it went");
    auto* const id = explain_->add_option("ID", explain_options_.id,
                                          "the X-Request-Id of one of the last requests");
    auto* const table = explain_->add_option("--table", explain_options_.table,
                                             "what a request to this table would see now");
    table->excludes(id);
    explain_
        ->add_option("--read-preference", explain_options_.read_preference,
                     "of that request, such as secondaryPreferred")
        ->needs(table);
    explain_->add_option("--address", explain_options_.address, kAddressHelp);
    explain_->add_flag("--json", explain_options_.json, "the JSON of GET /explain");
    explain_->footer("Exit codes: 0, 1 no answer or an unknown request, 2 usage.");
  }
  /// The exit code of the command; none: there is none.
  std::optional<int> run() const {
    if (top_->parsed()) return run_top(top_options_);
    if (!explain_->parsed()) return std::nullopt;
    if (explain_options_.id.empty() && explain_options_.table.empty()) {
      std::cerr << "karmad explain: give the ID of a request, or --table\n";
      return kUsage;
    }
    return run_explain(explain_options_);
  }

 private:
  static constexpr auto kAddressHelp =
      "where karmad listens: host:port, http://host:port or the path of a socket; "
      "127.0.0.1:9308 if not given";
  static void add_address(CLI::App& to, std::string& address) {
    to.add_option("ADDRESS", address, kAddressHelp);
  }

  CLI::App* top_;
  CLI::App* explain_;
  TopOptions top_options_;
  ExplainOptions explain_options_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "karmad: sends each search query to one mirror of every shard and merges the answers.\n"
      "Reads a sphinx-style configuration; runs in the foreground and logs to standard error."};
  app.footer(
      "karmad top shows a running karmad in the terminal, karmad explain why a request went "
      "where;\n"
      "each has its own --help.\n"
      "Signals: TERM and INT end it gracefully within shutdown_timeout, a second one at once;\n"
      "HUP reads the configuration again (one with errors changes nothing); USR1 reopens the\n"
      "access log; USR2 has no effect.\n"
      "Exit codes: 0 clean, 1 runtime error, 2 usage, 71 operating system (a port in use), 78\n"
      "configuration.\n"
      "Example: karmad --config demo/karmad.conf, then\n"
      "  curl -s localhost:9308/search -d '{\"table\":\"products\",\"query\":{\"match_all\":{}}}'");
  std::string path;
  bool check = false;
  bool dump_config = false;
  const auto* const config = app.add_option("-c,--config", path, "the configuration file");
  app.add_flag("--check", check, "check the configuration, print all problems, and exit");
  app.add_flag("--dump-config", dump_config,
               "print the effective configuration, with the place each value came from, and exit");
  const Commands commands(app);
  app.set_version_flag("-V,--version", "karmad " KARMAD_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (const auto code = commands.run()) return *code;
  if (config->count() == 0) {
    std::cerr << "--config is required: the configuration file\nRun with --help for more "
                 "information.\n";
    return kUsage;
  }
  // These are handled later or not at all; an early one must not end the process.
  for (const int number : {SIGPIPE, SIGUSR1, SIGUSR2}) std::signal(number, SIG_IGN);

  auto loaded = load(path, real_environment(), FileKind::any, judge);
  if (!loaded.settings) return report(loaded.problems);
  if (check) {
    for (const auto& notice : loaded.settings->notices) std::cerr << text(notice) << '\n';
    std::cout << path << ": no problems\n";
    return 0;
  }
  if (dump_config) {
    std::cout << dump(*loaded.settings);
    return 0;
  }
  const auto& searchd = loaded.settings->searchd;
  ProcessLog log(searchd.log_level.value, searchd.log_format.value);
  const auto configure_log = [&log](LogLevel level, LogFormat format) {
    log.configure(level, format);
  };
  Server server(path, *std::move(loaded.settings), log.lines(), {.configure_log = configure_log});
  Problems problems;
  if (const auto failure = server.open(problems)) {
    if (!problems.empty()) return report(problems);
    std::cerr << "karmad: " << failure->why << '\n';
    return failure->exit_code;
  }
  return server.run();
}
