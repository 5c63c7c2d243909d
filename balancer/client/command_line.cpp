#include "balancer/client/command_line.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>

#include "balancer/simulate/scenario/scenario.hpp"

namespace karmad {
namespace {

constexpr int kUsage = 2;
constexpr auto kAddressHelp =
    "where karmad listens: host:port, http://host:port or the path of a socket; "
    "127.0.0.1:9308 if not given";

void add_address(CLI::App& to, std::string& address) {
  to.add_option("ADDRESS", address, kAddressHelp);
}

/// A check that also refuses nan and inf.
auto number_from(double least, double most) {
  return [least, most](const std::string& text) {
    return parse_number(text, least, most)
               ? std::string()
               : fmt::format("give a number from {} to {}", least, most);
  };
}

}  // namespace

CommandLine::CommandLine(CLI::App& app) {
  app.require_subcommand(0, 1);
  add_top(app);
  add_explain(app);
  add_simulate(app);
}

void CommandLine::add_top(CLI::App& app) {
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
  explain_->add_option("--address", explain_options_.address, kAddressHelp);
  explain_->add_flag("--json", explain_options_.json, "the JSON of GET /explain");
  explain_->footer("Exit codes: 0, 1 no answer or an unknown request, 2 usage.");
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
      ->capture_default_str();
  simulate_
      ->add_option("--set", options.settings,
                   "a setting of searchd, such as 'hedge = p95'; may be repeated")
      ->take_all();
  auto* const json = simulate_->add_flag("--json", options.json, "print all numbers as JSON");
  simulate_->add_flag("--csv", options.csv, "print a line for each result")->excludes(json);
  simulate_->add_option("--html", options.html, "write a report with charts to this file");
  simulate_->footer(
      "Exit codes: 0, 1 no output, 2 usage.\n"
      "Example: karmad simulate --scenario slow10,die --strategy nodeads,leastops\n"
      "         karmad simulate --trace access.log --set 'hedge = p95'");
}

/// The scenarios and what replaces their values, or an access log.
void CommandLine::add_what_to_simulate() {
  auto& options = simulate_options_;
  auto* const trace =
      simulate_->add_option("--trace", options.trace,
                            "replay this access log (access_log_format = json): its searches, and "
                            "the recorded behaviour of each mirror");
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
      ->check(number_from(1, kMostSimulatedMirrors))
      ->excludes(trace);
  simulate_->add_option("--masters", options.masters, "number of karmads, 1 to 100")
      ->check(number_from(1, kMostSimulatedMasters))
      ->excludes(trace);
}

std::optional<int> CommandLine::run() const {
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
