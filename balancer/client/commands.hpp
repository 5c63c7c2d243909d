#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace karmad {

/// Options of `karmad top`.
struct TopOptions {
  std::string address;  ///< see parse_server_address(); empty: 127.0.0.1:9308
  std::string table;    ///< empty: all
  double interval = 1;  ///< s between two refreshes
  bool once = false;
  bool json = false;
};

/// Shows the state of a running karmad until `q`, INT or TERM. Returns the exit code of the
/// program: 0, 1 if karmad cannot be reached or is not karmad, 2 for a wrong address.
int run_top(const TopOptions& options);

/// Prints the explanation of a request, or with `table` what a request would see now. Exit code as
/// run_top().
struct ExplainOptions {
  std::string address;
  std::string id;
  std::string table;
  std::string read_preference;
  bool json = false;
};
int run_explain(const ExplainOptions& options);

/// Options of `karmad simulate`.
struct SimulateOptions {
  std::vector<std::string> scenarios;   ///< names of the library, files, or `all`
  std::string trace;                    ///< access log to replay instead; empty: none
  std::vector<std::string> strategies;  ///< empty: all that the program has
  std::optional<double> rate;           ///< replaces the scenario's; likewise the next three
  std::optional<double> duration;
  std::optional<unsigned> mirrors;
  std::optional<unsigned> masters;
  std::vector<std::string> settings;  ///< `key = value` of searchd
  std::uint64_t seed = 1;
  std::string html;  ///< file for a report with charts; empty: none
  bool list = false;
  bool json = false;
  bool csv = false;
};

/// Simulates scenarios with the program's own balancing and prints the results. Exit codes: 0, 1 if
/// a file cannot be written, 2 for a wrong access log, wrong scenarios, strategies or settings.
int run_simulate(const SimulateOptions& options);

}  // namespace karmad
