#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Parameters of throughput probing (AC-020 … AC-027).
struct ProbeParameters {
  /// Of all probed pools together; 0: twice the cores.
  unsigned initial = kDefaultSettings.throughput_probing_initial_concurrency.value;
  unsigned least = kDefaultSettings.throughput_probing_min_concurrency.value;  ///< 1 … most
  unsigned most = kDefaultSettings.throughput_probing_max_concurrency.value;   ///< per pool
  /// Of the tickets, where both pools are probed; 0 … 1.
  double read_share = kDefaultSettings.throughput_probing_read_write_ratio.value;
  /// Of what was found last; more than 0, up to 1.
  double average_weight =
      kDefaultSettings.throughput_probing_concurrency_moving_average_weight.value;
  /// How far a probe goes; 0.01 … 0.5.
  double step = kDefaultSettings.throughput_probing_step_multiple.value;
  /// Answers that decide; 0: the rules of AC-022 … AC-025 as they are. Else (docs/decisions/011)
  /// looks in turn at the size there is and at another, until the other has brought so many answers
  /// more than it must, or so many fewer, and takes what won as it is: no step, no average_weight.
  unsigned evidence = 0;
  /// Least change of size that is tried so; more than 0, up to 1.
  double evidence_step = kDefaultSettings.throughput_probing_evidence_step.value;
  /// Of a change of size must be there as throughput; 0 … 1.
  double evidence_gain = kDefaultSettings.throughput_probing_evidence_gain.value;
  bool reads = true;  ///< the pool is probed; else its size is none of our business
  bool writes = true;

  bool operator==(const ProbeParameters&) const = default;
};

/// What is known of a pool when the probe runs.
struct PoolReading {
  std::uint32_t size = 0;
  std::uint32_t peak = 0;      ///< most tickets that were out at a time since the last run
  std::uint64_t finished = 0;  ///< tickets given back since the start
  std::uint64_t waited = 0;    ///< found no ticket free since the start: queued or refused
};
struct ProbeReadings {
  PoolReading reads;
  PoolReading writes;
};

struct PoolSizes {
  std::uint32_t reads = 0;
  std::uint32_t writes = 0;
  bool operator==(const PoolSizes&) const = default;
};

enum class ProbeState : std::uint8_t { stable, up, down };
std::string_view name(ProbeState state);

/// AC-027.
struct ProbeCounters {
  std::uint64_t times_increased = 0;
  std::uint64_t times_decreased = 0;
  std::uint64_t total_amount_increased = 0;  ///< whole tickets
  std::uint64_t total_amount_decreased = 0;
  std::uint64_t times_probed_stable = 0;
  std::uint64_t times_probed_up = 0;
  std::uint64_t times_probed_down = 0;
};

/// What a run did.
struct ProbeDecision {
  ProbeState from = ProbeState::stable;
  ProbeState to = ProbeState::stable;
  bool kept = false;       ///< what was tried is better, and the sizes follow it
  double throughput = 0;   ///< measured, tickets per second
  double compared_to = 0;  ///< the one that counts as stable
  PoolSizes before;
  PoolSizes after;
};
/// `better than 1100/s with 35/35: 1200/s, now 33/33`.
std::string text(const ProbeDecision& decision);

/// Finds out how many tickets bring the most answers: tries more or fewer, and follows what brought
/// more (AC-020 … AC-027), or with `evidence` the fewest that bring about as many. Reads no clock
/// and changes no pool; one thread uses it.
class ThroughputProbe {
 public:
  ThroughputProbe(const ProbeParameters& parameters, unsigned cores);

  /// Goes on with others. Starts anew when other pools are probed, or from another beginning.
  void parameters(const ProbeParameters& parameters);
  const ProbeParameters& parameters() const { return parameters_; }

  /// What the pools' sizes should be; 0 for one that is not probed.
  PoolSizes sizes() const { return sizes_; }

  /// One look. The first only takes the readings to compare with, and so does one at no later time
  /// than the last: they decide nothing. With `evidence` neither do those of which too few tickets
  /// have come back since; the look lasts longer then. To be called at each adjustment interval.
  std::optional<ProbeDecision> run(const ProbeReadings& readings, TimePoint now);
  /// The readings to compare with from now on, after a resize that took its time (AC-026).
  void compare_with(const ProbeReadings& readings, TimePoint now);

  ProbeState state() const { return state_; }
  double stable_concurrency() const { return stable_concurrency_; }
  double stable_throughput() const { return stable_throughput_; }
  const ProbeCounters& counters() const { return counters_; }

 private:
  void start();
  /// What was seen since the readings to compare with.
  struct Look {
    bool exhausted = false;    ///< more tickets may help (AC-025)
    bool above_least = false;  ///< fewer are possible
    bool overloaded = false;   ///< hardly any request finds a ticket free
    std::uint64_t finished = 0;
    double seconds = 0;
    double size = 0;  ///< of the probed pools together

    double throughput() const { return static_cast<double>(finished) / seconds; }
  };

  PoolSizes sized(double concurrency) const;
  bool exhausted(const ProbeReadings& readings) const;
  bool above_least(const ProbeReadings& readings) const;
  double total(const ProbeReadings& readings) const;
  bool weighs() const { return parameters_.evidence > 0; }
  int direction(const Look& look);
  void look_around(const ProbeReadings& readings, const Look& look);
  bool weigh(const Look& look);
  bool judge(const Look& look);

  ProbeParameters parameters_;
  unsigned cores_;
  ProbeState state_ = ProbeState::stable;
  double stable_concurrency_ = 0;
  double stable_throughput_ = 0;
  PoolSizes sizes_;
  ProbeCounters counters_;
  std::optional<TimePoint> last_run_;
  std::uint64_t last_finished_ = 0;
  std::uint64_t last_waited_ = 0;
  Look look_;  ///< the one under way

  // With `evidence`:
  Look stable_look_;
  int direction_ = 1;
  double step_ = 0;    ///< longer while it finds what is better
  double excess_ = 0;  ///< answers of what is tried beyond those it must bring, so far
};

}  // namespace karmad
