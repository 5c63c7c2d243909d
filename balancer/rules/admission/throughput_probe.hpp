#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/settings/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Parameters of throughput probing (AC-020 … AC-027).
struct ProbeParameters {
  /// Over all probed pools; 0: twice the cores.
  unsigned initial = kDefaultSettings.throughput_probing_initial_concurrency.value;
  unsigned least = kDefaultSettings.throughput_probing_min_concurrency.value;  ///< 1 … most
  unsigned most = kDefaultSettings.throughput_probing_max_concurrency.value;   ///< per pool
  /// Share of reads in the tickets if both pools are probed; 0 … 1.
  double read_share = kDefaultSettings.throughput_probing_read_write_ratio.value;
  /// Weight of the newest result; more than 0, up to 1.
  double average_weight =
      kDefaultSettings.throughput_probing_concurrency_moving_average_weight.value;
  /// Relative size of a probe; 0.01 … 0.5.
  double step = kDefaultSettings.throughput_probing_step_multiple.value;
  /// Answers needed for a decision; 0: the rules of AC-022 … AC-025. Otherwise (docs/decisions/011)
  /// measures the current and another size in turn until the other one has brought that many
  /// answers more than required, or fewer, and takes the better size without averaging (step and
  /// average_weight are not used).
  unsigned evidence = 0;
  /// Smallest relative change of size in that mode; more than 0, up to 1.
  double evidence_step = kDefaultSettings.throughput_probing_evidence_step.value;
  /// Share of a change of size that must appear as throughput; 0 … 1.
  double evidence_gain = kDefaultSettings.throughput_probing_evidence_gain.value;
  bool reads = true;  ///< this pool is probed; false: its size is not changed
  bool writes = true;

  bool operator==(const ProbeParameters&) const = default;
};

/// Readings of a pool when the probe runs.
struct PoolReading {
  std::uint32_t size = 0;
  std::uint32_t peak = 0;      ///< most tickets in use at the same time since the last run
  std::uint64_t finished = 0;  ///< tickets returned since the start
  std::uint64_t waited = 0;    ///< requests queued or refused since the start
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

/// Counters of AC-027.
struct ProbeCounters {
  std::uint64_t times_increased = 0;
  std::uint64_t times_decreased = 0;
  std::uint64_t total_amount_increased = 0;  ///< whole tickets
  std::uint64_t total_amount_decreased = 0;
  std::uint64_t times_probed_stable = 0;
  std::uint64_t times_probed_up = 0;
  std::uint64_t times_probed_down = 0;
};

/// What a probe has found.
struct ProbeStatus {
  ProbeState state = ProbeState::stable;
  double stable_concurrency = 0;
  double stable_throughput = 0;
  PoolSizes sizes;  ///< that the pools should have; 0 for a pool that is not probed
  ProbeCounters counters;
};

/// The result of a run.
struct ProbeDecision {
  ProbeState from = ProbeState::stable;
  ProbeState to = ProbeState::stable;
  bool kept = false;       ///< the tried size was better, and the sizes follow it
  double throughput = 0;   ///< measured, tickets per second
  double compared_to = 0;  ///< the throughput that counts as stable
  PoolSizes before;
  PoolSizes after;
};
/// `better than 1100/s with 35/35: 1200/s, now 33/33`.
std::string text(const ProbeDecision& decision);

/// Searches the number of tickets with the most answers: tries more or fewer and follows the better
/// one (AC-020 … AC-027); with `evidence`, the lowest number with about as many answers. Reads no
/// clock and changes no pool; one thread.
class ThroughputProbe {
 public:
  ThroughputProbe(const ProbeParameters& parameters, unsigned cores);

  /// Changes the parameters. Restarts if other pools are probed or the initial size changes.
  void parameters(const ProbeParameters& parameters);
  const ProbeParameters& parameters() const { return parameters_; }

  /// One step, at each adjustment interval. The first call, and calls without time passed, only
  /// store the readings to compare with. With `evidence`, calls before enough tickets have come
  /// back decide nothing; the measurement then lasts longer.
  std::optional<ProbeDecision> run(const ProbeReadings& readings, TimePoint now);
  /// Sets the readings to compare with, after a resize that took time (AC-026).
  void compare_with(const ProbeReadings& readings, TimePoint now);

  /// Continues with what a former process found, within the bounds.
  void restore(double stable_concurrency, double stable_throughput);

  const ProbeStatus& status() const { return status_; }

 private:
  void start() { restore(parameters_.initial == 0 ? 2 * cores_ : parameters_.initial, 0); }
  /// Begins with the longest step, up: the current size is that of another load.
  void search_anew();
  /// Measurements since the stored readings.
  struct Sample {
    bool exhausted = false;    ///< more tickets may help (AC-025)
    bool above_least = false;  ///< fewer are possible
    bool overloaded = false;   ///< almost no request finds a free ticket
    bool flooded = false;      ///< and less than half of them are served
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
  int direction(const Sample& sample);
  void choose_probe(const ProbeReadings& readings, const Sample& sample);
  bool weigh(const Sample& sample);
  bool judge(const Sample& sample);

  ProbeParameters parameters_;
  unsigned cores_;
  ProbeStatus status_;
  std::optional<TimePoint> last_run_;
  std::uint64_t last_finished_ = 0;
  std::uint64_t last_waited_ = 0;
  Sample sample_;  ///< the current one

  // With `evidence`:
  Sample stable_sample_;
  int direction_ = 1;
  double step_ = 0;    ///< grows while it finds better sizes
  double excess_ = 0;  ///< answers of the tried size beyond those required
};

}  // namespace karmad
