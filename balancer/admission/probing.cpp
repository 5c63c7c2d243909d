#include "balancer/admission/probing.hpp"

#include <spdlog/spdlog.h>

#include <cmath>

namespace karmad {
namespace {

constexpr double kLoggedChange = 0.25;  // relative change of the tickets that is logged

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

void Probing::restore(double stable_concurrency, double stable_throughput) {
  probe_.restore(stable_concurrency, stable_throughput);
  logged_concurrency_ = stable_concurrency;
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

void Probing::sample(TimePoint now) {
  if (!probes()) return;
  if (resizing_since_) {
    if (reads_.resizing() || writes_.resizing()) return;
    const auto duration = now - *std::exchange(resizing_since_, std::nullopt);
    probe_.compare_with(readings(), now);
    const std::scoped_lock lock(mutex_);
    status_.resize_duration_us += static_cast<std::uint64_t>(std::max(duration, Micros{0}).count());
    return;
  }
  const auto decision = probe_.run(readings(), now);
  if (!decision) return;
  resize(decision->after, now);
  publish(*decision);
}

void Probing::resize(PoolSizes sizes, TimePoint now) {
  const auto& parameters = probe_.parameters();
  if (parameters.reads && reads_.size() != sizes.reads) reads_.resize(sizes.reads, now);
  if (parameters.writes && writes_.size() != sizes.writes) writes_.resize(sizes.writes, now);
  if (reads_.resizing() || writes_.resizing()) resizing_since_ = now;
}

void Probing::publish(const ProbeDecision& decision) {
  auto description = text(decision);
  if (decision.from != decision.to || decision.kept)
    spdlog::debug("tickets of searches/updates: {}", description);
  const auto stable = probe_.stable_concurrency();
  if (std::abs(stable - logged_concurrency_) > kLoggedChange * logged_concurrency_) {
    spdlog::info("tickets of searches/updates: {}", description);
    logged_concurrency_ = stable;
  }
  const std::scoped_lock lock(mutex_);
  status_.state = probe_.state();
  status_.stable_concurrency = stable;
  status_.stable_throughput = probe_.stable_throughput();
  status_.sizes = probe_.sizes();
  status_.counters = probe_.counters();
  status_.last_decision = std::move(description);
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
  add("probing_stable_concurrency", "number of tickets that probing considers best",
      "stableConcurrency", probing.stable_concurrency, gauge);
  add("probing_stable_throughput", "answers per second with the best number of tickets",
      "stableThroughput", probing.stable_throughput, gauge);
  add("probing_search_tickets", "tickets for searches", "searchTickets", probing.sizes.reads,
      gauge);
  add("probing_update_tickets", "tickets for updates", "updateTickets", probing.sizes.writes,
      gauge);
  add("probing_decreased", "times that probing reduced the number of tickets", "timesDecreased",
      counters.times_decreased);
  add("probing_increased", "times that probing raised the number of tickets", "timesIncreased",
      counters.times_increased);
  add("probing_decreased_by", "tickets removed by probing in total", "totalAmountDecreased",
      counters.total_amount_decreased);
  add("probing_increased_by", "tickets added by probing in total", "totalAmountIncreased",
      counters.total_amount_increased);
  add("probing_resize_time", "total time until resized pools had their size",
      "resizeDurationMicros", probing.resize_duration_us, counter, Unit::microseconds);
  add("probing_stable", "times that probing kept the number of tickets", "timesProbedStable",
      counters.times_probed_stable);
  add("probing_up", "times that probing tried more tickets", "timesProbedUp",
      counters.times_probed_up);
  add("probing_down", "times that probing tried fewer tickets", "timesProbedDown",
      counters.times_probed_down);
}

}  // namespace karmad
