#pragma once

#include <CLI/CLI.hpp>
#include <optional>

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
  std::optional<int> run() const;

 private:
  void add_top(CLI::App& app);
  void add_explain(CLI::App& app);
  void add_simulate(CLI::App& app);
  void add_what_to_simulate();

  CLI::App* top_ = nullptr;
  CLI::App* explain_ = nullptr;
  CLI::App* simulate_ = nullptr;
  TopOptions top_options_;
  ExplainOptions explain_options_;
  SimulateOptions simulate_options_;
};

}  // namespace karmad
