#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "balancer/client/commands.hpp"

namespace karmad {

/// The commands of the program besides the server itself.
class CommandLine {
 public:
  /// Adds them to the program's command line; `app` must outlive this object.
  explicit CommandLine(CLI::App& app);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// After parsing: the exit code of the command; none: there is none.
  /// `config`: the value of --config.
  std::optional<int> run(const std::string& config) const;

 private:
  void add_top(CLI::App& app);
  void add_explain(CLI::App& app);
  void add_ctl(CLI::App& app);
  void add_diff(CLI::App& app);
  void add_simulate(CLI::App& app);
  void add_what_to_simulate();

  CLI::App* top_ = nullptr;
  CLI::App* explain_ = nullptr;
  CLI::App* ctl_ = nullptr;
  CLI::App* simulate_ = nullptr;
  TopOptions top_options_;
  ExplainOptions explain_options_;
  CtlOptions ctl_options_;
  std::vector<std::string> diff_;            ///< two files; empty: not given
  std::optional<std::string> diff_running_;  ///< address of a running karmad
  CtlOptions running_;
  SimulateOptions simulate_options_;
};

}  // namespace karmad
