#include "balancer/client/commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

#include "balancer/simulate/scenario/scenario.hpp"

namespace karmad {
namespace {

constexpr int kUsage = 2;
constexpr auto kTokenHelp = "file with the token of admin_token_file, if the server wants it";
constexpr auto kAddressHelp =
    "where karmad listens: host:port, port, http://host:port or the path of a socket; "
    "127.0.0.1:9308 if not given";

/// Refuses an empty text, as of a variable that is not set. `otherwise`: what counts without it.
auto is_not_empty(std::string_view otherwise) {
  return [otherwise](const std::string& text) {
    return text.empty() ? fmt::format("it is empty; leave it out for {}", otherwise) : "";
  };
}

void add_address(CLI::App& to, const std::string& name, std::string& address) {
  to.add_option(name, address, kAddressHelp)->check(is_not_empty("127.0.0.1:9308"));
}

/// A check that also refuses nan and inf.
auto number_from(double least, double most) {
  return [least, most](const std::string& text) {
    return simulate::parse_number(text, least, most)
               ? std::string()
               : fmt::format("give a number from {} to {}", least, most);
  };
}

}  // namespace

CommandLine::CommandLine(CLI::App& app) {
  app.require_subcommand(0, 1);
  add_top(app);
  add_explain(app);
  add_ctl(app);
  add_simulate(app);
  add_diff(app);
}

void CommandLine::add_top(CLI::App& app) {
  top_ = app.add_subcommand(
      "top", "shows the mirrors of a running karmad, those in trouble first, once a second");
  add_address(*top_, "ADDRESS", top_options_.address);
  top_->add_option("--table", top_options_.table, "only the mirrors of this table")
      ->check(is_not_empty("all"));
  top_->add_option("--interval", top_options_.interval, "seconds between two refreshes")
      ->check([](const std::string& text) {
        const auto seconds = std::strtod(text.c_str(), nullptr);
        return seconds >= 0.1 && seconds <= 3600 ? "" : "give 0.1 to 3600 seconds";
      })
      ->capture_default_str();
  top_->add_option("--token-file", top_options_.token_file, kTokenHelp)->type_name("FILE");
  top_->add_flag("--once", top_options_.once, "print once, with averages since the start");
  top_->add_flag("--json", top_options_.json, "one JSON document per refresh, in one line");
  top_->footer("q, INT or TERM ends it. Exit codes: 0, 1 no answer from karmad, 2 usage.");
}

void CommandLine::add_explain(CLI::App& app) {
  explain_ = app.add_subcommand("explain",
                                "shows which mirrors a request saw and why it went where it went");
  auto* const id = explain_->add_option("ID", explain_options_.id,
                                        "the X-Request-Id of one of the last requests");
  auto* const table = explain_->add_option("--table", explain_options_.table,
                                           "what a request to this table would see now");
  table->excludes(id);
  explain_
      ->add_option("--read-preference", explain_options_.read_preference,
                   "of that request, such as secondaryPreferred")
      ->needs(table);
  add_address(*explain_, "--address", explain_options_.address);
  explain_->add_option("--token-file", explain_options_.token_file, kTokenHelp)->type_name("FILE");
  explain_->add_flag("--json", explain_options_.json, "the JSON of GET /explain");
  explain_->footer("Exit codes: 0, 1 no answer or an unknown request, 2 usage.");
}

void CommandLine::add_ctl(CLI::App& app) {
  auto& options = ctl_options_;
  ctl_ = app.add_subcommand("ctl", "changes a running karmad, at a listener with :admin");
  ctl_->add_option("CALL", options.verb,
                   "ready, drain or maint MIRROR; weight MIRROR N; strategy TABLE NAME; hedging "
                   "on|off; log_level LEVEL; reset_karma; restore; reload; show")
      ->required();
  ctl_->add_option("ARGUMENT", options.arguments, "of the call, as listed above");
  ctl_->add_option("--table", options.table,
                   "only of this table (ready, drain, maint, weight, hedging, reset_karma, "
                   "restore)")
      ->check(is_not_empty("all"));
  ctl_->add_option("--mirror", options.mirror, "only this mirror (reset_karma, restore)")
      ->check(is_not_empty("all"));
  ctl_->add_flag("--force", options.force,
                 "also if a shard is left without a mirror that can serve (drain, maint, restore)");
  ctl_->add_option("--address", options.address,
                   "host:port, port, http://host:port or the path of a socket; 127.0.0.1:9309 if "
                   "not given")
      ->check(is_not_empty("127.0.0.1:9309"));
  ctl_->add_option("--token-file", options.token_file, kTokenHelp)->type_name("FILE");
  ctl_->add_flag("--json", options.json, "the JSON of the answer");
  ctl_->footer(
      "MIRROR is an address as in the configuration, such as 10.0.0.1:9308.\n"
      "  drain: it gets no new searches; maint: it gets nothing, not even pings; ready: it is "
      "back.\n"
      "  restore: what was changed here becomes as configured; show: the effective settings.\n"
      "Exit codes: 0, 1 refused or no answer, 2 usage.\n"
      "Example: karmad ctl drain 10.0.0.1:9308");
}

void CommandLine::add_diff(CLI::App& app) {
  app.add_option("--diff", diff_,
                 "print what differs between two configuration files, OLD NEW, with the expected "
                 "shares of the mirrors, and exit (1 if something differs)")
      ->type_name("FILE")
      ->expected(2);
  auto* const running =
      app.add_option("--diff-running", diff_running_,
                     "the same between a running karmad (the address of its listener with :admin, "
                     "127.0.0.1:9309 if not given) and --config")
          ->expected(0, 1)
          ->default_str("");
  app.add_option("--token-file", running_.token_file, kTokenHelp)
      ->type_name("FILE")
      ->needs(running);
}

void CommandLine::add_simulate(CLI::App& app) {
  auto& options = simulate_options_;
  simulate_ = app.add_subcommand(
      "simulate", "compares strategies in simulated scenarios, with the balancing of this program");
  simulate_->add_flag("--list", options.list, "print the scenarios of the library");
  simulate_
      ->add_option("--strategy", options.strategies,
                   "comma-separated; all strategies if not given. The oracle is always added, "
                   "with --trace a row with what was recorded")
      ->delimiter(',');
  add_what_to_simulate();
  simulate_
      ->add_option("--seed", options.seed,
                   "of all random numbers: the same seed gives the "
                   "same result")
      ->check(number_from(0, 1e18))
      ->capture_default_str();
  simulate_
      ->add_option("--set", options.settings,
                   "a setting of searchd, such as 'hedge = p95'; may be repeated")
      ->take_all();
  auto* const json = simulate_->add_flag("--json", options.json, "print all numbers as JSON");
  simulate_->add_flag("--csv", options.csv, "print a line for each result")->excludes(json);
  simulate_->add_option("--html", options.html, "write a report with charts to this file")
      ->type_name("FILE");
  simulate_->footer(
      "Exit codes: 0, 1 no output, 2 usage.\n"
      "Example: karmad simulate --scenario slow10,die --strategy nodeads,leastops\n"
      "         karmad simulate --trace access.log --set 'hedge = p95'");
}

/// The scenarios and what replaces their values, or an access log.
void CommandLine::add_what_to_simulate() {
  auto& options = simulate_options_;
  auto* const trace =
      simulate_
          ->add_option("--trace", options.trace,
                       "replay this access log (access_log_format = json): its searches, and "
                       "the recorded behaviour of each mirror")
          ->type_name("FILE");
  simulate_
      ->add_option("--scenario", options.scenarios,
                   "names of the library, files (with a dot or a slash), or all; comma-separated")
      ->delimiter(',')
      ->excludes(trace);
  simulate_->add_option("--rate", options.rate, "requests per second of all masters together")
      ->check(number_from(0.001, 1e8))
      ->excludes(trace);
  simulate_->add_option("--duration", options.duration, "seconds that are measured")
      ->check(number_from(0.1, 86'400))
      ->excludes(trace);
  simulate_->add_option("--mirrors", options.mirrors, "number of mirrors, 1 to 1000")
      ->check(number_from(1, simulate::kMostMirrors))
      ->excludes(trace);
  simulate_->add_option("--masters", options.masters, "number of karmads, 1 to 100")
      ->check(number_from(1, simulate::kMostMasters))
      ->excludes(trace);
}

std::optional<int> CommandLine::run(const std::string& config) const {
  if (!diff_.empty()) return run_diff(diff_[0], diff_[1]);
  if (diff_running_) {
    if (config.empty()) {
      std::cerr << "karmad: --diff-running needs --config: the file to compare with\n";
      return kUsage;
    }
    auto running = running_;
    running.address = *diff_running_;
    return run_diff_running(running, config);
  }
  if (ctl_->parsed()) return run_ctl(ctl_options_);
  if (top_->parsed()) return run_top(top_options_);
  if (simulate_->parsed()) return run_simulate(simulate_options_);
  if (!explain_->parsed()) return std::nullopt;
  if (explain_options_.id.empty() && explain_options_.table.empty()) {
    std::cerr << "karmad explain: give the ID of a request, or --table\n";
    return kUsage;
  }
  return run_explain(explain_options_);
}

}  // namespace karmad
