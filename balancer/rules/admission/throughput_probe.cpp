#include "balancer/rules/admission/throughput_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/text/enum_names.hpp"

namespace karmad {
namespace {

constexpr double kLongestStep = 1;   // twice as many, or half
constexpr double kReturns = 4;       // of each ticket, in one measurement with evidence
constexpr double kOverloaded = 0.5;  // waiting requests per served one
constexpr double kFlooded = 2;       // likewise: less than half of them can be served

/// A step changes every pool (AC-024), and never to 0.
std::uint32_t changed(std::uint32_t wanted, std::uint32_t present, int by) {
  if (wanted != present) return wanted;
  return by > 0 ? present + 1 : std::max<std::uint32_t>(present, 2) - 1;
}

std::uint64_t finished(const ProbeReadings& readings) {
  return readings.reads.finished + readings.writes.finished;
}

std::uint64_t waited(const ProbeReadings& readings) {
  return readings.reads.waited + readings.writes.waited;
}

}  // namespace

std::string_view name(ProbeState state) {
  static constexpr auto kNames = enumerators<ProbeState>();
  return kNames[state];
}

std::string text(const ProbeDecision& decision) {
  const auto sizes = [](PoolSizes of) { return fmt::format("{}/{}", of.reads, of.writes); };
  if (decision.from != ProbeState::stable)
    return fmt::format("{:.0f} answers/s with {}: {} than {:.0f}/s, now {}", decision.throughput,
                       sizes(decision.before), decision.kept ? "better" : "not better",
                       decision.compared_to, sizes(decision.after));
  if (decision.to == ProbeState::stable)
    return fmt::format("{:.0f} answers/s with {}: no probe is possible", decision.throughput,
                       sizes(decision.before));
  return fmt::format("{:.0f} answers/s with {}, now probing {}", decision.throughput,
                     sizes(decision.before), sizes(decision.after));
}

ThroughputProbe::ThroughputProbe(const ProbeParameters& parameters, unsigned cores)
    : parameters_(parameters), cores_(cores) {
  start();
}

void ThroughputProbe::search_anew() {
  direction_ = 1;
  step_ = kLongestStep;
  excess_ = 0;
}

void ThroughputProbe::restore(double stable_concurrency, double stable_throughput) {
  const auto pools = static_cast<unsigned>(parameters_.reads) + (parameters_.writes ? 1u : 0u);
  status_.stable_concurrency =
      std::clamp<double>(stable_concurrency, pools * parameters_.least, pools * parameters_.most);
  status_.stable_throughput = stable_throughput;
  status_.state = ProbeState::stable;
  search_anew();
  last_run_.reset();
  status_.sizes = sized(status_.stable_concurrency);
}

void ThroughputProbe::parameters(const ProbeParameters& parameters) {
  const bool same = parameters.reads == parameters_.reads &&
                    parameters.writes == parameters_.writes &&
                    parameters.initial == parameters_.initial;
  parameters_ = parameters;
  if (!same) start();
}

/// AC-020.
PoolSizes ThroughputProbe::sized(double concurrency) const {
  const auto share = [&](bool probed, double of) {
    if (!probed) return std::uint32_t{0};
    const auto wanted = std::round(concurrency * of);  // half away from zero
    return static_cast<std::uint32_t>(
        std::clamp<double>(wanted, parameters_.least, parameters_.most));
  };
  const bool both = parameters_.reads && parameters_.writes;
  return {share(parameters_.reads, both ? parameters_.read_share : 1),
          share(parameters_.writes, both ? 1 - parameters_.read_share : 1)};
}

/// AC-025.
bool ThroughputProbe::exhausted(const ProbeReadings& readings) const {
  const auto is = [&](bool probed, const PoolReading& pool) {
    return probed && pool.size < parameters_.most && pool.peak >= pool.size;
  };
  return is(parameters_.reads, readings.reads) || is(parameters_.writes, readings.writes);
}

bool ThroughputProbe::above_least(const ProbeReadings& readings) const {
  return (parameters_.reads && readings.reads.peak > parameters_.least) ||
         (parameters_.writes && readings.writes.peak > parameters_.least);
}

double ThroughputProbe::total(const ProbeReadings& readings) const {
  return (parameters_.reads ? readings.reads.size : 0.0) +
         (parameters_.writes ? readings.writes.size : 0.0);
}

void ThroughputProbe::compare_with(const ProbeReadings& readings, TimePoint now) {
  last_run_ = now;
  last_finished_ = finished(readings);
  last_waited_ = waited(readings);
  sample_ = {};
}

std::optional<ProbeDecision> ThroughputProbe::run(const ProbeReadings& readings, TimePoint now) {
  if (!last_run_) {
    compare_with(readings, now);
    return std::nullopt;
  }
  if (now <= *last_run_) return std::nullopt;
  auto& sample = sample_;
  sample.seconds = std::chrono::duration<double>(now - *last_run_).count();
  sample.finished = finished(readings) - last_finished_;
  const auto waiting = static_cast<double>(waited(readings) - last_waited_);
  const auto served = static_cast<double>(sample.finished);
  sample.overloaded = waiting > 0 && waiting >= kOverloaded * served;
  sample.flooded = waiting > 0 && waiting >= kFlooded * served;
  sample.size = total(readings);
  sample.exhausted |= exhausted(readings);
  sample.above_least |= above_least(readings);
  if (weighs() && sample.overloaded &&
      static_cast<double>(sample.finished) < kReturns * sample.size)
    return std::nullopt;
  ProbeDecision decision{.from = status_.state,
                         .throughput = sample.throughput(),
                         .compared_to = status_.stable_throughput,
                         .before = {readings.reads.size, readings.writes.size}};
  if (status_.state == ProbeState::stable) {
    choose_probe(readings, sample);
  } else {
    decision.kept = judge(sample);
  }
  decision.to = status_.state;
  decision.after = status_.sizes;
  compare_with(readings, now);
  return decision;
}

/// AC-022, AC-025: 1 for more, -1 for fewer, 0 for neither. With evidence both are tried in turn
/// during overload, because a pool that is always exhausted may also be too large.
int ThroughputProbe::direction(const Sample& sample) {
  const int wanted = sample.exhausted ? 1 : sample.above_least ? -1 : 0;
  if (!weighs() || wanted == 0) return wanted;
  if (!sample.overloaded) {
    step_ = parameters_.evidence_step;
  } else if (sample.flooded && !stable_sample_.overloaded) {
    search_anew();
  }
  const bool both_ways = sample.overloaded && sample.exhausted && sample.above_least;
  if (!both_ways && std::exchange(direction_, wanted) != wanted) excess_ = 0;
  return direction_;
}

/// AC-022, AC-024.
void ThroughputProbe::choose_probe(const ProbeReadings& readings, const Sample& sample) {
  ++status_.counters.times_probed_stable;
  status_.stable_throughput = sample.throughput();
  const int by = direction(sample);
  stable_sample_ = sample;
  if (by == 0) return;
  status_.state = by > 0 ? ProbeState::up : ProbeState::down;
  if (weighs())
    status_.sizes = sized(by > 0 ? status_.stable_concurrency * (1 + step_)
                                 : status_.stable_concurrency / (1 + step_));
  else
    status_.sizes = sized(status_.stable_concurrency * (1 + by * parameters_.step));
  if (parameters_.reads)
    status_.sizes.reads = changed(status_.sizes.reads, readings.reads.size, by);
  if (parameters_.writes)
    status_.sizes.writes = changed(status_.sizes.writes, readings.writes.size, by);
}

/// docs/decisions/011: without overload the load decides the number of tickets. Otherwise the tried
/// size must bring a part of its cost: 3 % more answers with 20 % more tickets, at most 3 % fewer
/// with 20 % fewer. A sequential test: the wrong size wins by chance with a probability of 1 / (1 +
/// exp(evidence × that part)).
bool ThroughputProbe::weigh(const Sample& sample) {
  if (!sample.overloaded || !stable_sample_.overloaded) {
    excess_ = 0;
    return status_.state == ProbeState::up ? !sample.overloaded : !sample.exhausted;
  }
  const auto change = sample.size / stable_sample_.size - 1;
  const auto due =
      status_.stable_throughput * sample.seconds * (1 + parameters_.evidence_gain * change);
  excess_ += static_cast<double>(sample.finished) - due;
  if (std::abs(excess_) <= parameters_.evidence) return false;
  const bool better = std::exchange(excess_, 0) > 0;
  if (!better) direction_ = -direction_;
  step_ = std::clamp(better ? 2 * step_ : step_ / 2, parameters_.evidence_step, kLongestStep);
  return better;
}

/// AC-023. True if the tried size is better.
bool ThroughputProbe::judge(const Sample& sample) {
  const bool up = status_.state == ProbeState::up;
  ++(up ? status_.counters.times_probed_up : status_.counters.times_probed_down);
  const bool better = weighs() ? weigh(sample) : sample.throughput() > status_.stable_throughput;
  const auto before = status_.stable_concurrency;
  if (better) {
    const auto weight = weighs() ? 1 : parameters_.average_weight;
    status_.stable_concurrency = weight * sample.size + (1 - weight) * status_.stable_concurrency;
    status_.stable_throughput = sample.throughput();
  }
  status_.sizes = sized(status_.stable_concurrency);
  status_.state = ProbeState::stable;
  if (!better) return false;
  const double after = status_.sizes.reads + status_.sizes.writes;
  const auto amount =
      static_cast<std::uint64_t>(std::max(0.0, up ? after - before : before - after));
  ++(up ? status_.counters.times_increased : status_.counters.times_decreased);
  (up ? status_.counters.total_amount_increased : status_.counters.total_amount_decreased) +=
      amount;
  return true;
}

}  // namespace karmad
