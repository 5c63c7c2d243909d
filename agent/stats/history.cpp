#include "agent/stats/history.hpp"

#include <algorithm>
#include <cassert>

namespace karmad {
namespace {

bool has_latency(const Event& event) {
  return event.counter == Counter::succeeded_queries && !event.ping;
}

}  // namespace

std::optional<Micros> mean_query_time(const Totals& totals) {
  return mean_time(totals.query_time, totals.queries);
}

void write(StatsWriter& out, const Totals& totals, Over over) {
  using enum StatKind;
  const bool life = over == Over::life;
  for (const auto& [counter, stat] : kCounterStats) out.add(stat, totals.count(counter));
  out.add({"queries", "answers without error or warning; pings do not count", counter, Unit::count,
           kHidden},
          totals.queries);
  if (life)
    out.add({"query_time", "total time of answers without error or warning; pings do not count",
             counter, Unit::milliseconds, "total_query_time", kHidden},
            totals.query_time);
  out.add({"mean_query_time", "mean time of answers without error or warning; pings do not count",
           gauge, Unit::milliseconds, life ? kHidden : "msecsperquery", "query_ms_mean"},
          mean_query_time(totals));
  out.add({"connects", "connections established", counter, Unit::count, "connect_count",
           "connect_count"},
          totals.connects);
  out.add({"mean_connect_time", "mean time to connect", gauge, Unit::milliseconds, "connect_avg",
           "connect_ms_mean", 3, true},
          mean_time(totals.connect_time, totals.connects));
  out.add({"longest_connect_time", "longest time to connect", gauge, Unit::milliseconds,
           "connect_max", "connect_ms_max", 3, true},
          totals.connects > 0 ? std::optional(totals.connect_max) : std::nullopt);
}

void write(StatsWriter& out, const Quantiles& quantiles) {
  const auto row = [&](std::string_view member, std::string_view quantile, const auto& value) {
    out.add(
        {"latency", "quantiles of the time of answers without error or warning in the last period",
         StatKind::gauge, Unit::milliseconds, kHidden, member},
        value, {{"quantile", quantile}});
  };
  row("p50", "0.5", quantiles.p50);
  row("p95", "0.95", quantiles.p95);
  row("p99", "0.99", quantiles.p99);
}

ErrorSums error_sums(const Totals& totals) {
  ErrorSums sums{.successes = totals.count(Counter::succeeded_queries),
                 .warnings = totals.count(Counter::warnings)};
  for (std::size_t i = 0; i < static_cast<std::size_t>(Counter::warnings); ++i)
    sums.critical += totals.counts[i];
  return sums;
}

void OwnedTotals::add(const Event& event) noexcept {
  if (event.counter != Counter::none) counts_[static_cast<std::size_t>(event.counter)].add(1);
  if (has_latency(event)) {
    queries_.add(1);
    query_time_.add(event.took.count());
  }
  if (event.connect) {
    connects_.add(1);
    connect_time_.add(event.connect->count());
    connect_max_.set(std::max(connect_max_.get(), event.connect->count()));
  }
}

void OwnedTotals::clear() noexcept {
  for (auto& count : counts_) count.set(0);
  queries_.set(0);
  query_time_.set(0);
  connects_.set(0);
  connect_time_.set(0);
  connect_max_.set(0);
}

void OwnedTotals::add_to(Totals& totals) const {
  for (std::size_t i = 0; i < kCounters; ++i) totals.counts[i] += counts_[i].get();
  totals.queries += queries_.get();
  totals.query_time += Micros{query_time_.get()};
  totals.connects += connects_.get();
  totals.connect_time += Micros{connect_time_.get()};
  totals.connect_max = std::max(totals.connect_max, Micros{connect_max_.get()});
}

Totals Tally::totals() const {
  Totals sum;
  for (const auto& cell : cells_) cell.totals.add_to(sum);
  return sum;
}

std::uint64_t Tally::attempts() const {
  std::uint64_t sum = 0;
  for (const auto& cell : cells_) sum += cell.attempts.get();
  return sum;
}

void History::Latencies::clear() noexcept {
  for (auto& count : counts) count.set(0);
}

void History::add(unsigned worker, TimePoint now, const Event& event) noexcept {
  assert(worker < cells_.size());
  Cell& cell = cells_[worker];
  cell.since_start.add(event);
  const auto number = cell.block_of_now.at(now, period_);
  if (auto* block = cell.blocks.claim(number)) block->add(event);
  if (!has_latency(event)) return;
  if (auto* latencies = cell.latencies.claim(number))
    latencies->counts[latency_bucket(event.took)].add(1);
}

Totals History::over(unsigned periods, TimePoint now) const {
  const auto current = block_of(now, period_);
  const auto blocks = std::min(periods + (is_young(now, period_) ? 1U : 0U), kStoredPeriods);
  Totals sum;
  for (const auto& cell : cells_)
    for (BlockNumber number = current; number > current - BlockNumber{blocks}; --number)
      if (const auto* block = cell.blocks.find(number)) block->add_to(sum);
  return sum;
}

Quantiles History::quantiles(TimePoint now) const {
  const auto current = block_of(now, period_);
  const auto oldest = is_young(now, period_) ? current - 1 : current;
  std::array<std::uint64_t, kLatencyBuckets> sum{};
  for (const auto& cell : cells_)
    for (BlockNumber number = oldest; number <= current; ++number)
      if (const auto* latencies = cell.latencies.find(number))
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += latencies->counts[i].get();
  return {quantile(sum, 0.50), quantile(sum, 0.95), quantile(sum, 0.99)};
}

Totals History::since_start() const {
  Totals sum;
  for (const auto& cell : cells_) cell.since_start.add_to(sum);
  return sum;
}

}  // namespace karmad
