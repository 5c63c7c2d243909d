#pragma once

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/transport/resolve.hpp"
#include "balancer/discovery/discovery.hpp"
#include "balancer/discovery/found.hpp"
#include "balancer/discovery/source_status.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {

// Which mirrors an answer of a name server stands for. Pure; equal answers give equal results,
// whatever their order.

/// One per address, in order.
std::vector<NamedMirror> mirrors_at(std::vector<HostAddress> addresses);

/// One per address of each target. The targets with the lowest priority have their weights, at
/// least 1 and scaled if one is larger than karmad's highest; all others have 0, so that they are
/// asked only if no other mirror suits (RFC 2782). Priorities without any address do not count.
std::vector<NamedMirror> mirrors_of(const std::vector<SrvTarget>& targets);

/// Looks up the names of agents: at once when they are new, every `dns_refresh`, and after failed
/// connects at most once a second. A look-up that fails is repeated: without an answer yet, or with
/// `dns_refresh = 0`, once a second. The last good answer counts. Main thread only; look-ups run on
/// other threads.
class NameFinder {
 public:
  struct Hooks {
    /// Why the answer to a name cannot be used; nothing if it can.
    std::function<std::optional<std::string>(const NameAnswers&)> judge;
    std::function<void()> mirrors_changed;    ///< answers() is new
    std::function<void()> addresses_changed;  ///< an agent has other addresses
  };

  NameFinder(Loop& loop, DnsSettings dns, SourceStatus& board, Hooks hooks);

  /// The last answers of a former process: they count for new names until these have others.
  void remember(std::map<NameQuestion, FoundName> last) { remembered_ = std::move(last); }
  /// The last good answer of every name.
  std::map<NameQuestion, FoundName> known() const;
  /// From now on these are looked up. `expanding`: those of them that may stand for several
  /// mirrors. Waits up to `wait` for the answers to the new ones.
  void ask(const std::set<NameQuestion>& all, const std::set<NameQuestion>& expanding,
           Micros refresh, Micros wait);
  /// Gives the agents the addresses of their names, and the reason if there are none. Called before
  /// a worker uses this topology. `at_start`: connections to agents whose names have no answer yet
  /// fail until they have one; otherwise they wait for it.
  void adopt(std::shared_ptr<const Topology> topology, bool at_start);
  /// Looks all names up again now; one whose look-up is under way, a second after it began.
  void refresh();
  /// Of the expanding questions.
  const NameAnswers& answers() const { return answers_; }
  /// Ends everything, for good.
  void stop();

 private:
  using Result = std::expected<FoundName, std::string>;
  struct Name {
    bool expands = false;
    bool asking = false;
    bool again = false;  ///< a connect has failed, or a reload came during a look-up
    bool asked = false;  ///< has had a result
    TimePoint next{};    ///< when it is looked up again by `dns_refresh`
    TimePoint last{};    ///< when its last look-up began
    std::optional<FoundName> found;
    std::string why;  ///< of the last failure; empty once a look-up succeeds
  };
  struct Batch;
  static Result look_up(const NameQuestion& question, const DnsSettings& dns);
  void start(const NameQuestion& question, Name& name, std::shared_ptr<Batch> batch = nullptr);
  void answered(const NameQuestion& question, Result result);
  void tick();
  void note_failed_connects();
  bool give(Agent& agent, const Name& name, bool at_start) const;
  void start_ticking();

  Loop& loop_;
  const DnsSettings dns_;
  SourceStatus& board_;
  const Hooks hooks_;
  boost::asio::steady_timer timer_;
  std::map<NameQuestion, Name> names_;
  std::map<NameQuestion, FoundName> remembered_;
  NameAnswers answers_;
  std::shared_ptr<const Topology> topology_;
  Micros refresh_{};
  bool ticking_ = false;
  bool stopped_ = false;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// The name of a question among the sources (SourceStatus).
std::string source_name(const NameQuestion& question);

/// Finds mirrors while karmad runs: the names of agents, and the sources of tables with
/// `discovery`. Main thread only.
class MirrorFinder {
 public:
  struct Hooks {
    /// Why these cannot be used; called by start(), too.
    std::function<std::optional<std::string>(const FoundMirrors&)> judge;
    std::function<void()> changed;  ///< found() is new; changes that come together are one
  };

  /// `main`: the main thread's.
  MirrorFinder(Loop& main, DnsSettings dns, SourceStatus& board, Hooks hooks);

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
  /// Gives the agents of a topology that is not used yet the addresses of their names, and the
  /// reason to those that stand for mirrors that were not found.
  void name_agents(const std::shared_ptr<const Topology>& topology, bool at_start);
  /// Ends everything, for good.
  void stop();
  /// The same; turns the loop, which does not run any more, until all connections are closed.
  void end();

 private:
  void ask(const Settings& file, Micros wait);
  void on_change();
  void explain_missing_mirrors();

  Loop& main_;
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
