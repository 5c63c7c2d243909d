#pragma once

#include <string>

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

}  // namespace karmad
