#pragma once

#include <array>
#include <cstdint>

#include "agent/stats/outcome.hpp"
#include "agent/stats/single_writer.hpp"
#include "balancer/rules/attempt_reason.hpp"

namespace karmad {

/// The result of an attempt: the values of Outcome in four groups.
enum class AttemptEnd : std::uint8_t { answered, client_mistake, failed, cancelled };
inline constexpr std::size_t kAttemptEnds = 4;

AttemptEnd attempt_end(Outcome outcome);

/// Ended attempts by reason and result.
struct AttemptResultTotals {
  std::array<std::array<std::uint64_t, kAttemptEnds>, kAttemptReasons> counts{};
};
void write(StatsWriter& out, const AttemptResultTotals& totals);

/// The same counts of one worker: only that worker writes, any thread reads.
class AttemptResults {
 public:
  void add(AttemptReason reason, Outcome outcome) noexcept {
    counts_[static_cast<std::size_t>(reason)][static_cast<std::size_t>(attempt_end(outcome))].add(
        1);
  }
  void add_to(AttemptResultTotals& totals) const;

 private:
  std::array<std::array<SingleWriter<std::uint64_t>, kAttemptEnds>, kAttemptReasons> counts_;
};

}  // namespace karmad
