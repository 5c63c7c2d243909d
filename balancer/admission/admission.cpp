#include "balancer/admission/admission.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "config/text/source_text.hpp"

namespace karmad {
namespace {

constexpr double kLoggedChange = 0.25;  // relative change of the tickets that is logged

/// Interval of checks while a resize waits for tickets; no measurement starts before its end.
constexpr Micros kResizeInterval = std::chrono::milliseconds(5);
constexpr Micros kIdleInterval = std::chrono::milliseconds(500);  // while no request ends

bool is_auto(const Located<TicketCount>& tickets) {
  return tickets.value.kind == TicketCount::Kind::automatic;
}

ProbeParameters probe_parameters(const ProbingSettings& s, const TicketSettings& tickets) {
  return {.initial = s.throughput_probing_initial_concurrency.value,
          .least = s.throughput_probing_min_concurrency.value,
          .most = s.throughput_probing_max_concurrency.value,
          .read_share = s.throughput_probing_read_write_ratio.value,
          .average_weight = s.throughput_probing_concurrency_moving_average_weight.value,
          .step = s.throughput_probing_step_multiple.value,
          .evidence = s.throughput_probing_evidence.value,
          .evidence_step = s.throughput_probing_evidence_step.value,
          .evidence_gain = s.throughput_probing_evidence_gain.value,
          .reads = is_auto(tickets.search_tickets),
          .writes = is_auto(tickets.update_tickets)};
}

/// The settings of a pool with that many tickets; none: unlimited.
PoolSettings pool_settings(const TicketSettings& s, std::optional<std::uint32_t> size,
                           bool counted) {
  PoolSettings settings{.size = size,
                        .counted = counted,
                        .enforced = s.admission.value == AdmissionMode::enforce,
                        .line = {.discipline = {.order = s.ticket_queue_discipline.value,
                                                .target = s.ticket_queue_target.value,
                                                .interval = s.ticket_queue_interval.value}},
                        .resize = s.ticket_resize.value,
                        .stalled_after = s.throughput_probing_stall_detection_timeout.value,
                        .delinquent_after = s.ticket_delinquent_after.value};
  if (s.ticket_queue_depth) settings.queue_depth = s.ticket_queue_depth->value;
  return settings;
}

}  // namespace

Probing::Probing(TicketPool& reads, TicketPool& writes, unsigned cores)
    : reads_(reads), writes_(writes), probe_({.reads = false, .writes = false}, cores) {}

void Probing::parameters(const ProbeParameters& parameters) {
  probe_.parameters(parameters);
  resizing_since_.reset();
  const std::scoped_lock lock(mutex_);
  status_.reads = parameters.reads;
  status_.writes = parameters.writes;
  static_cast<ProbeStatus&>(status_) = probe_.status();
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
  const auto stable = probe_.status().stable_concurrency;
  if (std::abs(stable - logged_concurrency_) > kLoggedChange * logged_concurrency_) {
    spdlog::info("tickets of searches/updates: {}", description);
    logged_concurrency_ = stable;
  }
  const std::scoped_lock lock(mutex_);
  static_cast<ProbeStatus&>(status_) = probe_.status();
  status_.last_decision = std::move(description);
}

ProbingStatus Probing::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

void write(StatsWriter& out, const ProbingStatus& probing) {
  using enum StatKind;
  const auto& counters = probing.counters;
  out.add("probing_stable_concurrency", "number of tickets that probing considers best",
          "stableConcurrency", probing.stable_concurrency, gauge);
  out.add("probing_stable_throughput", "answers per second with the best number of tickets",
          "stableThroughput", probing.stable_throughput, gauge);
  out.add("probing_search_tickets", "tickets for searches", "searchTickets", probing.sizes.reads,
          gauge);
  out.add("probing_update_tickets", "tickets for updates", "updateTickets", probing.sizes.writes,
          gauge);
  out.add("probing_decreased", "times that probing reduced the number of tickets", "timesDecreased",
          counters.times_decreased);
  out.add("probing_increased", "times that probing raised the number of tickets", "timesIncreased",
          counters.times_increased);
  out.add("probing_decreased_by", "tickets removed by probing in total", "totalAmountDecreased",
          counters.total_amount_decreased);
  out.add("probing_increased_by", "tickets added by probing in total", "totalAmountIncreased",
          counters.total_amount_increased);
  out.add("probing_resize_time", "total time until resized pools had their size",
          "resizeDurationMicros", probing.resize_duration_us, counter, Unit::microseconds);
  out.add("probing_stable", "times that probing kept the number of tickets", "timesProbedStable",
          counters.times_probed_stable);
  out.add("probing_up", "times that probing tried more tickets", "timesProbedUp",
          counters.times_probed_up);
  out.add("probing_down", "times that probing tried fewer tickets", "timesProbedDown",
          counters.times_probed_down);
}

Admission::Admission(unsigned workers, const Loops& loops, std::uint32_t most_requests,
                     const InstanceSettings& settings, TimePoint now)
    : ingress(workers, loops, {}),
      searches(workers, loops, {}),
      updates(workers, loops, {}),
      low_searches(workers, loops, {}),
      low_updates(workers, loops, {}),
      most_requests_(most_requests),
      probing_(searches, updates, workers) {
  this->settings(settings, now);
}

void Admission::settings(const InstanceSettings& settings, TimePoint now) {
  mode_.store(settings.admission.value, std::memory_order_relaxed);
  low_priority_.store(settings.low_priority.value, std::memory_order_relaxed);
  const auto& timeout = settings.ticket_queue_timeout;
  queue_timeout_.store(timeout ? timeout->value.count() : 0, std::memory_order_relaxed);
  interval_ = settings.throughput_probing_concurrency_adjustment_interval.value;
  probing_.parameters(probe_parameters(settings, settings));
  const auto apply = [&](TicketPool& pool, TicketCount tickets, std::uint32_t probed) {
    using enum TicketCount::Kind;
    std::optional<std::uint32_t> size;
    if (tickets.kind == fixed) size = tickets.count;
    if (tickets.kind == automatic) size = probed;
    const bool counted = tickets.kind == automatic || (size && *size < most_requests_);
    pool.settings(pool_settings(settings, size, counted), now);
  };
  // The default has no practical effect and is never counted, even with unlimited open files.
  const auto& all = settings.ingress_tickets;
  const bool counted =
      all.value < most_requests_ && all.value != kDefaultSettings.ingress_tickets.value;
  ingress.settings(pool_settings(settings, all.value, counted), now);
  const auto sizes = probing_.sizes();
  apply(searches, settings.search_tickets.value, sizes.reads);
  apply(updates, settings.update_tickets.value, sizes.writes);
  const auto few = settings.low_priority_tickets.value;
  auto low = pool_settings(settings, few, few < most_requests_);
  low.line.fewest_admissions = true;
  low_searches.settings(low, now);
  low_updates.settings(low, now);
}

void Admission::sample(TimePoint now) {
  const std::array all{std::pair("all requests", &ingress), std::pair("searches", &searches),
                       std::pair("updates", &updates),
                       std::pair("searches of low priority", &low_searches),
                       std::pair("updates of low priority", &low_updates)};
  for (const auto& [what, pool] : all) {
    if (pool->end_stalled_resize(now))
      spdlog::warn("tickets of {} did not come back in time: the resizing ends with {}", what,
                   counted_noun(pool->size(), "ticket"));
    pool->measure(now);
  }
  probing_.sample(now);
}

Task<void> Admission::watch(Loop& loop) {
  stop_.emplace(loop);
  std::uint64_t finished = 0;
  while (!stop_->requested()) {
    const auto now = Loop::now();
    sample(now);
    const auto before = std::exchange(finished, ingress.finished());
    const auto interval = finished == before ? std::max(interval_, kIdleInterval) : interval_;
    const auto pause = probing_.resizing() ? std::min(interval_, kResizeInterval) : interval;
    co_await sleep(loop, now + pause, *stop_);
  }
}

void Admission::stop() {
  if (stop_) stop_->request(StopReason::cancelled);
}

}  // namespace karmad
