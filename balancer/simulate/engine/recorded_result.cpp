#include "balancer/simulate/engine/recorded_result.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

#include "balancer/simulate/replay/replay.hpp"
#include "balancer/simulate/scenario_report.hpp"
#include "balancer/simulate/world/recorder.hpp"

namespace karmad {
namespace {

struct MirrorTime {
  TimePoint at{};
  unsigned mirror = 0;
  auto operator<=>(const MirrorTime&) const = default;
};

/// Hands the attempts to the recorder in order of time.
void record_attempts(const Replay& replay, Recorder& recorder) {
  struct Cursor {
    unsigned mirror = 0;
    std::size_t next = 0;
  };
  std::priority_queue<MirrorTime, std::vector<MirrorTime>, std::greater<>> starts;
  std::priority_queue<MirrorTime, std::vector<MirrorTime>, std::greater<>> ends;
  std::vector<std::size_t> next(replay.mirrors.size());
  const auto plan = [&](unsigned mirror) {
    const auto attempts = replay.mirrors[mirror].recorded->attempts();
    if (next[mirror] < attempts.size())
      starts.push({TimePoint(attempts[next[mirror]].start), mirror});
  };
  const auto end_until = [&](TimePoint at) {
    for (; !ends.empty() && ends.top().at <= at; ends.pop()) {
      recorder.advance(ends.top().at);
      recorder.attempt_ended(ends.top().mirror);
    }
  };
  for (unsigned mirror = 0; mirror < next.size(); ++mirror) plan(mirror);
  while (!starts.empty()) {
    const auto [at, mirror] = starts.top();
    starts.pop();
    end_until(at);
    recorder.advance(at);
    recorder.attempt_sent(mirror, Recorder::Reason::initial, at);
    const auto& attempt = replay.mirrors[mirror].recorded->attempts()[next[mirror]++];
    ends.push({at + Micros(attempt.took_us), mirror});
    plan(mirror);
  }
  end_until(TimePoint::max());
}

}  // namespace

SimulationResult recorded_result(const Scenario& scenario) {
  const auto& replay = *scenario.replay;
  Recorder recorder(scenario, layout_of(scenario), TimePoint{});
  record_attempts(replay, recorder);
  // A sampled request stands for several; fractions are carried to the next one.
  double copies = 0;
  for (const auto& request : replay.trace.requests) {
    const TimePoint start(request.start);
    for (copies += request.weight; copies >= 0.5; --copies)
      recorder.request_ended(start, request.answered, start + Micros(request.took_us));
  }
  auto result = recorder.result();
  result.scenario = scenario.name;
  result.strategy = kRecordedName;
  const auto recorded = replay.trace.requests.size();
  result.retries = result.attempts - std::min<std::uint64_t>(result.attempts, recorded);
  result.extra = static_cast<double>(result.retries) / static_cast<double>(recorded);
  return result;
}

}  // namespace karmad
