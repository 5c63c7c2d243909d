#include "agent/stats/stats_writer.hpp"

#include <algorithm>

namespace karmad {

void StatsRecorder::put(const Stat& stat, const StatValue& value, std::span<const Label> labels) {
  if (stats_.empty()) stats_.reserve(512);  // a process has about 400
  auto& recorded = stats_.emplace_back(RecordedStat{stat, value});
  assert(labels.size() <= recorded.labels.size());
  std::ranges::copy(labels, recorded.labels.begin());
}

void write(StatsWriter& out, std::span<const RecordedStat> stats) {
  for (const auto& [stat, value, labels] : stats) {
    if (labels[0].name.empty())
      out.add(stat, value);
    else if (labels[1].name.empty())
      out.add(stat, value, {labels[0]});
    else
      out.add(stat, value, {labels[0], labels[1]});
  }
}

}  // namespace karmad
