#include "balancer/admission/throughput_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace karmad {
namespace {

/// A step changes every pool (AC-024), and never to nothing.
std::uint32_t changed(std::uint32_t wanted, std::uint32_t present, int by) {
  if (wanted != present) return wanted;
  return by > 0 ? present + 1 : std::max<std::uint32_t>(present, 2) - 1;
}

std::uint64_t finished(const ProbeReadings& readings) {
  return readings.reads.finished + readings.writes.finished;
}

}  // namespace

std::string_view name(ProbeState state) {
  constexpr std::array<std::string_view, 3> names{"stable", "up", "down"};
  return names[static_cast<std::size_t>(state)];
}

std::string text(const ProbeDecision& decision) {
  const auto sizes = [](PoolSizes of) { return fmt::format("{}/{}", of.reads, of.writes); };
  if (decision.from != ProbeState::stable)
    return fmt::format("{} than {:.0f}/s with {}: {:.0f}/s, now {}",
                       decision.kept ? "more" : "not more", decision.compared_to,
                       sizes(decision.before), decision.throughput, sizes(decision.after));
  if (decision.to == ProbeState::stable)
    return fmt::format("{:.0f}/s, nothing to try with {}", decision.throughput,
                       sizes(decision.before));
  return fmt::format("{:.0f}/s with {}, trying {}", decision.throughput, sizes(decision.before),
                     sizes(decision.after));
}

ThroughputProbe::ThroughputProbe(const ProbeParameters& parameters, unsigned cores)
    : parameters_(parameters), cores_(cores) {
  start();
}

void ThroughputProbe::start() {
  const auto pools = static_cast<unsigned>(parameters_.reads) + (parameters_.writes ? 1u : 0u);
  const auto wanted = parameters_.initial == 0 ? 2 * cores_ : parameters_.initial;
  stable_concurrency_ = std::clamp(wanted, pools * parameters_.least, pools * parameters_.most);
  stable_throughput_ = 0;
  state_ = ProbeState::stable;
  last_run_.reset();
  sizes_ = sized(stable_concurrency_);
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

void ThroughputProbe::compare_with(const ProbeReadings& readings, TimePoint now) {
  last_run_ = now;
  last_finished_ = finished(readings);
}

std::optional<ProbeDecision> ThroughputProbe::run(const ProbeReadings& readings, TimePoint now) {
  if (!last_run_) {
    compare_with(readings, now);
    return std::nullopt;
  }
  if (now <= *last_run_) return std::nullopt;
  const auto seconds = std::chrono::duration<double>(now - *last_run_).count();
  ProbeDecision decision{
      .from = state_,
      .throughput = static_cast<double>(finished(readings) - last_finished_) / seconds,
      .compared_to = stable_throughput_,
      .before = {readings.reads.size, readings.writes.size}};
  if (state_ == ProbeState::stable) {
    look_around(readings, decision.throughput);
  } else {
    decision.kept = judge(readings, decision.throughput);
  }
  decision.to = state_;
  decision.after = sizes_;
  compare_with(readings, now);
  return decision;
}

/// AC-022, AC-024.
void ThroughputProbe::look_around(const ProbeReadings& readings, double throughput) {
  ++counters_.times_probed_stable;
  stable_throughput_ = throughput;
  int by = 0;
  if (exhausted(readings)) {
    state_ = ProbeState::up;
    by = 1;
  } else if (above_least(readings)) {
    state_ = ProbeState::down;
    by = -1;
  }
  if (by == 0) return;
  sizes_ = sized(stable_concurrency_ * (1 + by * parameters_.step));
  if (parameters_.reads) sizes_.reads = changed(sizes_.reads, readings.reads.size, by);
  if (parameters_.writes) sizes_.writes = changed(sizes_.writes, readings.writes.size, by);
}

/// AC-023. True when what was tried brought more.
bool ThroughputProbe::judge(const ProbeReadings& readings, double throughput) {
  const bool up = state_ == ProbeState::up;
  ++(up ? counters_.times_probed_up : counters_.times_probed_down);
  const bool more = throughput > stable_throughput_;
  const auto before = stable_concurrency_;
  if (more) {
    const auto present = (parameters_.reads ? readings.reads.size : 0) +
                         (parameters_.writes ? readings.writes.size : 0);
    stable_concurrency_ = parameters_.average_weight * present +
                          (1 - parameters_.average_weight) * stable_concurrency_;
    stable_throughput_ = throughput;
  }
  sizes_ = sized(stable_concurrency_);
  state_ = ProbeState::stable;
  if (!more) return false;
  const double after = sizes_.reads + sizes_.writes;
  const auto amount =
      static_cast<std::uint64_t>(std::max(0.0, up ? after - before : before - after));
  ++(up ? counters_.times_increased : counters_.times_decreased);
  (up ? counters_.total_amount_increased : counters_.total_amount_decreased) += amount;
  return true;
}

}  // namespace karmad
