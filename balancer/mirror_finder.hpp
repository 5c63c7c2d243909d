#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "balancer/discovery/discovery.hpp"
#include "balancer/name_finder.hpp"

namespace karmad {

/// Finds mirrors while karmad runs: the names of agents, and the sources of tables with
/// `discovery`. Main thread only.
class MirrorFinder {
 public:
  struct Hooks {
    Discovery::Judge judge;         ///< why pictures cannot be used; called by start(), too
    std::function<void()> changed;  ///< found() is new; changes that come together are one
  };

  MirrorFinder(boost::asio::io_context& main, std::shared_ptr<MainThreadExecutor> door,
               DnsSettings dns, SourceStatus& board, Hooks hooks);

  /// Follows the sources and names of the file, and waits up to half a second for the first
  /// answers. `last`: the answers of a former process. `keeps_gone`: also shards that a source has
  /// no more are kept. Before any worker runs.
  void start(const Settings& file, LastFound last, bool keeps_gone);
  /// From now on those of this file.
  void adopt(const Settings& file);
  /// Looks up the names of mirrors that sources have found since.
  void ask_names(const Settings& file);
  FoundMirrors found() const { return {discovery_.pictures(), finder_.answers()}; }
  /// What adopt(next) will find; waits up to half a second for new names. `now`: the file in use.
  FoundMirrors found_for(const Settings& now, const Settings& next);
  /// All that was found, for a next process.
  LastFound last_found() const { return {discovery_.pictures(), finder_.known()}; }
  const NameAnswers& names() const { return finder_.answers(); }
  /// Gives the agents of a topology that is not used yet the addresses of their names, and the
  /// reason to those that stand for mirrors that were not found.
  void name_agents(const std::shared_ptr<const Topology>& topology, bool at_start);
  /// Ends everything, for good.
  void stop();

 private:
  void ask(const Settings& file, Micros wait);
  void on_change();
  void explain_missing_mirrors();

  boost::asio::io_context& main_;
  const Hooks hooks_;
  Discovery discovery_;
  NameFinder finder_;
  std::shared_ptr<const Topology> topology_;  ///< the last one that got names
  boost::asio::steady_timer change_timer_;
  bool change_due_ = false;
  std::chrono::steady_clock::time_point next_change_{};
};

/// How names are looked up.
DnsSettings dns_settings(const NameSettings& names);

}  // namespace karmad
