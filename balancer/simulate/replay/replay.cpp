#include "balancer/simulate/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace karmad::simulate {
namespace {

constexpr Micros kShortestReplay = std::chrono::milliseconds(100);
/// Clients of a log wait for long answers too; `request_timeout` is usually shorter.
constexpr double kRecordedClientTimeout = 60'000;  // ms

/// Positions of the mirrors of a set that are replayed, in the order of the log: of too many those
/// with the most attempts.
std::vector<std::size_t> replayed_places(const RecordedSet& set) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < set.mirrors.size(); ++place)
    if (!set.mirrors[place].empty()) places.push_back(place);
  if (places.size() <= SetLayout::kMostInSet) return places;
  std::ranges::stable_sort(places, std::greater<>(),
                           [&](std::size_t place) { return set.mirrors[place].attempts().size(); });
  places.resize(SetLayout::kMostInSet);
  std::ranges::sort(places);
  return places;
}

void add_set(Replay& replay, unsigned number) {
  const auto& set = replay.trace.sets[number];
  auto& sets_of_table = replay.tables[set.table];
  if (sets_of_table.count++ == 0) sets_of_table.first = number;
  const auto places = replayed_places(set);
  replay.set_sizes.push_back(static_cast<unsigned>(places.size()));
  replay.left_out_mirrors += set.mirrors.size() - places.size();
  const bool is_only = replay.trace.sets.size() == 1;
  for (const auto place : places) {
    const auto& address = set.addresses[place];
    replay.mirrors.push_back(
        {is_only ? address
                 : fmt::format("{}/{} {}", replay.trace.tables[set.table], set.shard, address),
         &set.mirrors[place]});
  }
}

std::optional<std::string> excess_of(const Replay& replay) {
  if (replay.mirrors.size() > kMostMirrors)
    return fmt::format("the access log has {} mirrors of all shards; at most {} can be replayed",
                       replay.mirrors.size(), kMostMirrors);
  if (replay.length > kLongestReplay)
    return fmt::format("the access log covers {:.1f} days; at most {} can be replayed",
                       static_cast<double>(replay.length.count()) / 86'400e6,
                       std::chrono::duration_cast<std::chrono::days>(kLongestReplay).count());
  return std::nullopt;
}

}  // namespace

std::expected<std::shared_ptr<const Replay>, std::string> make_replay(AccessTrace trace,
                                                                      std::uint64_t seed) {
  auto replay = std::make_shared<Replay>();
  replay->trace = std::move(trace);
  auto random = random_stream(seed, RandomStream::recorded_arrivals, 0);
  auto arrivals = restore_arrivals(replay->trace, random);
  if (!arrivals) return std::unexpected(std::move(arrivals.error()));
  replay->arrivals = *std::move(arrivals);
  replay->trace.arrivals = {};
  replay->tables.resize(replay->trace.tables.size());
  for (unsigned set = 0; set < replay->trace.sets.size(); ++set) add_set(*replay, set);
  for (auto& arrival : replay->arrivals) {
    arrival.shards = std::min(arrival.shards, replay->tables[arrival.table].count);
    replay->requests += arrival.shards;
  }
  replay->length = std::max(kShortestReplay, replay->arrivals.back().at + Micros{1});
  for (const auto& mirror : replay->mirrors)
    replay->length = std::max(replay->length, mirror.recorded->attempts().back().start + Micros{1});
  if (auto excess = excess_of(*replay)) return std::unexpected(*std::move(excess));
  return replay;
}

Scenario replay_scenario(std::string name, std::shared_ptr<const Replay> replay) {
  Scenario scenario;
  scenario.name = std::move(name);
  scenario.about = fmt::format("{} recorded searches in {} shard{}", replay->arrivals.size(),
                               replay->set_sizes.size(), replay->set_sizes.size() == 1 ? "" : "s");
  scenario.mirrors = static_cast<unsigned>(replay->mirrors.size());
  scenario.duration = static_cast<double>(replay->length.count()) / 1e6;
  scenario.rate = static_cast<double>(replay->requests) / scenario.duration;
  scenario.warmup = 0;
  scenario.timeout = kRecordedClientTimeout;
  scenario.profile = {{"net", "0"}};
  scenario.set_sizes = replay->set_sizes;
  for (const auto& mirror : replay->mirrors) scenario.mirror_names.push_back(mirror.name);
  scenario.replay = std::move(replay);
  return scenario;
}

}  // namespace karmad::simulate
