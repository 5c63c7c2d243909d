#include "balancer/simulate/replay/access_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace karmad::simulate {
namespace {

/// Arrivals before and after a sampled one that give the rate around it: 16 intervals make an
/// estimate within a quarter.
constexpr std::size_t kRateNeighbours = 8;

struct Span {
  Micros from{};
  Micros to{};
};

/// The time around `arrivals[place]` that has kRateNeighbours on each side, as far as there are.
Span span_around(const std::vector<Micros>& arrivals, std::size_t place) {
  return {arrivals[place - std::min(place, kRateNeighbours)],
          arrivals[std::min(arrivals.size() - 1, place + kRateNeighbours)]};
}

/// `weight` - 1, rounded at random so that the mean is exact.
std::size_t further_arrivals(double weight, RandomSource& random) {
  const auto whole = static_cast<std::size_t>(weight);
  const bool one_more = random.uniform() < weight - static_cast<double>(whole);
  return whole - 1 + (one_more ? 1 : 0);
}

}  // namespace

std::vector<std::string> notes_on(const AccessTraceCounts& counts) {
  std::vector<std::string> notes;
  const auto note = [&](std::uint64_t count, std::string_view text) {
    if (count > 0) notes.push_back(fmt::format("{} {}", count, text));
  };
  note(counts.other_lines, "lines are not JSON of an access log; they were skipped");
  note(counts.long_lines, "lines are longer than 64 KiB; they were skipped");
  note(counts.without_attempts, "requests have no table or no complete attempt; they were skipped");
  note(counts.updates, "requests change data; they are not replayed");
  note(counts.duplicates, "lines are of requests that were read before; they were skipped");
  note(counts.unusable_attempts, "attempts have no end, or none that tells something of a mirror");
  note(counts.attempts_over_limit, "attempts are of too many tables, shards or mirrors");
  note(counts.sampled,
       "requests are a sample (access_log_sample); those that were left out are estimated");
  note(counts.backward_steps,
       "times the clock of the log goes back by more than a second; the lines were sorted by time");
  if (counts.cut)
    notes.push_back(
        fmt::format("only the first {} attempts of the log were read", kMostRecordedAttempts));
  return notes;
}

std::expected<std::vector<RecordedArrival>, std::string> restore_arrivals(const AccessTrace& trace,
                                                                          RandomSource& random) {
  double sum = 0;
  std::vector<std::vector<Micros>> times(trace.tables.size());
  for (const auto& arrival : trace.arrivals) {
    sum += arrival.weight;
    times[arrival.table].push_back(arrival.at);
  }
  if (sum > static_cast<double>(kMostRestoredArrivals))
    return std::unexpected(
        fmt::format("the log is a sample of {:.0f} requests; at most {} can be "
                    "replayed",
                    sum, kMostRestoredArrivals));
  std::vector<RecordedArrival> all;
  std::vector<std::size_t> places(trace.tables.size());
  for (auto arrival : trace.arrivals) {
    const auto [from, to] = span_around(times[arrival.table], places[arrival.table]++);
    const auto further = further_arrivals(std::exchange(arrival.weight, 1), random);
    all.push_back(arrival);
    for (std::size_t i = 0; i < further; ++i) {
      const auto offset = random.uniform() * static_cast<double>((to - from).count());
      arrival.at = from + Micros(static_cast<std::int64_t>(offset));
      all.push_back(arrival);
    }
  }
  std::ranges::stable_sort(all, {}, &RecordedArrival::at);
  return all;
}

}  // namespace karmad::simulate
