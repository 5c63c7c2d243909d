#pragma once

#include <string>
#include <vector>

#include "tests/support/http_client.hpp"
#include "tests/support/process.hpp"

namespace karmad::test {

/// A demo agent as a real process, on a port of its own choosing, with a control port beside it.
class DemoAgent {
 public:
  /// `shard` as `0/2`. `port` 0: any; a given one serves to start it again where it was. `more`:
  /// further arguments.
  explicit DemoAgent(std::string shard, std::string name = "demo", int port = 0,
                     unsigned documents = 4000, const std::vector<std::string>& more = {});

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// Sets switches: `mode=blackhole&for=5`.
  void control(const std::string& switches) const;
  /// What GET /control has at this JSON pointer, `/requests/search`: a number.
  double number(const std::string& pointer) const;
  Process& process() { return process_; }

 private:
  Process process_;
  int port_ = 0;
  int control_port_ = 0;
};

/// An answer without the time it took, which no two answers have in common.
std::string without_took(std::string answer);

/// karmad as a real process with this configuration, whose `listen` is added.
class Master {
 public:
  /// `searchd`: lines of that section; `rest`: the tables.
  Master(const std::string& searchd, const std::string& rest);
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;
  /// Ends it gracefully, if the test did not end it; the test fails when it does not end well, or
  /// does not come to rest before: whatever became of the requests, nothing is left of them, no
  /// attempt, no wait, no share of a retry budget, no client's connection (SS-114).
  ~Master();

  int port() const { return port_; }
  Process& process() { return process_; }
  /// The requests that this class sends for itself have these fields from now on.
  void identify(std::string_view fields) { own_fields_ = fields; }
  /// Waits until /readyz says 200.
  bool ready();
  Response search(std::string_view body, std::string_view fields = {}) const;
  /// One counter of SHOW STATUS or SHOW AGENT STATUS, by its key.
  std::string status(const std::string& key, const std::string& statement = "SHOW STATUS") const;
  std::int64_t count(const std::string& key, const std::string& statement = "SHOW STATUS") const;
  /// What GET /agents has at this JSON pointer, `/tables/0/shards/0/mirrors/1/weight`: a number.
  double number(const std::string& pointer) const;
  /// The same for a string.
  std::string word(const std::string& pointer) const;
  /// Writes the configuration anew, sends SIGHUP and waits until it was taken, or refused.
  bool reload(const std::string& searchd, const std::string& rest);
  /// Writes the configuration anew (for SIGHUP).
  void write_config(const std::string& searchd, const std::string& rest);

 private:
  std::string unrest() const;

  TempDir dir_;
  std::string config_;
  Process process_;
  int port_ = 0;
  std::string own_fields_;
};

}  // namespace karmad::test
