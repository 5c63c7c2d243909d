#include "balancer/admission/probing.hpp"

#include <spdlog/spdlog.h>

#include <cmath>

namespace karmad {
namespace {

constexpr double kWorthSaying = 0.25;  // relative change of the tickets that is logged

}  // namespace

Probing::Probing(TicketPool& reads, TicketPool& writes, unsigned cores)
    : reads_(reads), writes_(writes), probe_({.reads = false, .writes = false}, cores) {}

void Probing::parameters(const ProbeParameters& parameters) {
  probe_.parameters(parameters);
  resizing_since_.reset();
  const std::scoped_lock lock(mutex_);
  status_.reads = parameters.reads;
  status_.writes = parameters.writes;
  status_.sizes = probe_.sizes();
  status_.stable_concurrency = probe_.stable_concurrency();
  status_.state = probe_.state();
}

ProbeReadings Probing::readings() {
  const auto read = [](TicketPool& pool) {
    return PoolReading{pool.size(), pool.take_peak(), pool.finished(), pool.waited()};
  };
  ProbeReadings readings;
  if (probe_.parameters().reads) readings.reads = read(reads_);
  if (probe_.parameters().writes) readings.writes = read(writes_);
  return readings;
}

void Probing::look(TimePoint now) {
  if (!probes()) return;
  if (resizing_since_) {
    if (reads_.resizing() || writes_.resizing()) return;
    const auto took = now - *std::exchange(resizing_since_, std::nullopt);
    probe_.compare_with(readings(), now);
    const std::scoped_lock lock(mutex_);
    status_.resize_duration_us += static_cast<std::uint64_t>(std::max(took, Micros{0}).count());
    return;
  }
  const auto decision = probe_.run(readings(), now);
  if (!decision) return;
  resize(decision->after, now);
  tell(*decision);
}

void Probing::resize(PoolSizes sizes, TimePoint now) {
  const auto& parameters = probe_.parameters();
  if (parameters.reads && reads_.size() != sizes.reads) reads_.resize(sizes.reads, now);
  if (parameters.writes && writes_.size() != sizes.writes) writes_.resize(sizes.writes, now);
  if (reads_.resizing() || writes_.resizing()) resizing_since_ = now;
}

void Probing::tell(const ProbeDecision& decision) {
  auto said = text(decision);
  if (decision.from != decision.to || decision.kept) spdlog::debug("tickets: {}", said);
  const auto stable = probe_.stable_concurrency();
  if (std::abs(stable - told_) > kWorthSaying * told_) {
    spdlog::info("tickets: {} (searches/updates)", said);
    told_ = stable;
  }
  const std::scoped_lock lock(mutex_);
  status_.state = probe_.state();
  status_.stable_concurrency = stable;
  status_.stable_throughput = probe_.stable_throughput();
  status_.sizes = probe_.sizes();
  status_.counters = probe_.counters();
  status_.last_decision = std::move(said);
}

ProbingStatus Probing::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

void write(StatsWriter& out, const ProbingStatus& probing) {
  using enum StatKind;
  const auto add = [&](std::string_view name, std::string_view help, std::string_view member,
                       StatValue value, StatKind kind = counter, Unit unit = Unit::count) {
    out.add({name, help, kind, unit, kHidden, member}, value);
  };
  const auto& counters = probing.counters;
  add("probing_stable_concurrency", "tickets that count as the best number", "stableConcurrency",
      probing.stable_concurrency, gauge);
  add("probing_stable_throughput", "answers per second with them", "stableThroughput",
      probing.stable_throughput, gauge);
  add("probing_search_tickets", "tickets of searches", "searchTickets", probing.sizes.reads, gauge);
  add("probing_update_tickets", "tickets of updates", "updateTickets", probing.sizes.writes, gauge);
  add("probing_decreased", "times there were fewer", "timesDecreased", counters.times_decreased);
  add("probing_increased", "times there were more", "timesIncreased", counters.times_increased);
  add("probing_decreased_by", "by how many in all", "totalAmountDecreased",
      counters.total_amount_decreased);
  add("probing_increased_by", "by how many in all", "totalAmountIncreased",
      counters.total_amount_increased);
  add("probing_resize_time", "time that resizing took", "resizeDurationMicros",
      probing.resize_duration_us, counter, Unit::microseconds);
  add("probing_stable", "times the number was left alone", "timesProbedStable",
      counters.times_probed_stable);
  add("probing_up", "times more were tried", "timesProbedUp", counters.times_probed_up);
  add("probing_down", "times fewer were tried", "timesProbedDown", counters.times_probed_down);
}

}  // namespace karmad
