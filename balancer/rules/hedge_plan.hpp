#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "agent/stats/mirror_latency.hpp"
#include "agent/stats/outcome.hpp"
#include "config/settings/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Most hedges of one shard request; the upper bound of the configuration.
inline constexpr unsigned kMostHedges = 8;

/// When a search is also sent to a second mirror: never, after a fixed time, or after a quantile of
/// the set's recent latencies.
struct HedgeSetting {
  enum class Kind : std::uint8_t { off, after, p95, p99 };
  Kind kind = Kind::off;
  Micros after{};  ///< of Kind::after, more than 0
  bool operator==(const HedgeSetting&) const = default;
};

/// `off`, `50ms` (a bare number: ms; up to 1 h), `p95`, `p99`, in any case; otherwise an error.
std::expected<HedgeSetting, std::string> parse_hedge(std::string_view text);
/// The text that parse_hedge() reads as this value.
std::string text(const HedgeSetting& setting);

/// The settings of hedging at each level. Empty: not set.
struct HedgeWords {
  bool disabled = false;                ///< `hedge_disabled`, switches hedging off for all
  std::optional<HedgeSetting> request;  ///< of the request itself
  std::optional<bool> preference;       ///< hedge.enabled of its read preference (SS-070)
  std::optional<HedgeSetting> table;
  HedgeSetting instance;
  std::optional<Micros> step;  ///< `hedge_step` of table or instance
};

/// The effective settings.
struct Hedging {
  HedgeSetting setting;
  std::optional<Micros> step;  ///< empty: equal to the threshold
  bool operator==(const Hedging&) const = default;
};

/// Precedence: kill switch, request, read preference, table, instance (CO-085). A read preference
/// that enables hedging where neither table nor instance do gets the defaults of CO-085: after
/// min(1 s, half of the request's time), then every 500 ms.
Hedging hedging_in_force(const HedgeWords& words, Micros request_timeout);

/// Samples needed for a quantile: of a hundred answers five are slower than p95.
inline constexpr std::uint64_t kEnoughSamples = 100;

/// How one shard request is hedged.
struct HedgeRules {
  Micros threshold{};  ///< time without a final answer until the second mirror is asked
  Micros step{};       ///< time until each further one is asked
  unsigned extra = 1;  ///< most attempts besides the first
};

/// The inputs that decide whether and how one shard request is hedged.
struct HedgeChance {
  Hedging hedging;
  unsigned max = kDefaultSettings.hedge_max.value;
  std::size_t mirrors = 0;   ///< suitable mirrors, the first one included
  bool read = true;          ///< updates are never hedged (CO-084)
  RecentLatency measured{};  ///< of the set
};
/// Nothing: the request is not hedged.
std::optional<HedgeRules> hedge_rules(const HedgeChance& chance);

/// `t:100ms, s:50ms, w:False` (CO-086).
std::string text(const HedgeRules& rules);

/// How an attempt ended, after its retries.
enum class RaceEnd : std::uint8_t {
  final,      ///< a definite answer; other mirrors are not needed
  not_final,  ///< an answer, but another mirror may have a better one
  nothing,    ///< no answer
};

/// CO-081: statuses below 400; 400, 401, 405, 409, 412, 413; 404 with sub-status 0 or none.
bool is_final_status(unsigned status, unsigned sub_status);

/// The same for a judged answer. An error that the dialect blames on the agent is never final; a
/// client's mistake always is, also with a 5xx status, as some engines send it.
RaceEnd race_end(Outcome outcome, unsigned status, unsigned sub_status);

/// The hedges of one shard request: when the next mirror is asked, and which answer counts (CO-080
/// … CO-082). A value without a clock; attempts are numbered from 0 in order of sending. Without
/// rules there is one attempt.
class HedgePlan {
 public:
  explicit HedgePlan(std::optional<HedgeRules> rules) : rules_(rules) {}

  /// An attempt was sent.
  void sent(TimePoint now);

  /// When the next attempt is due (it may be past). Nothing: no more attempts.
  std::optional<TimePoint> next_at() const;

  /// Stops further attempts; those in flight go on. For a near deadline.
  void no_more() { rules_.reset(); }

  /// The attempt that is due cannot be made now, because the budget is spent, the set loaded or no
  /// mirror free: tries again after a step.
  void postpone(TimePoint now);

  /// An attempt ended; ignored after the end of the race. An end without a final answer makes the
  /// next attempt due at once, so do not call it for a cancelled request.
  void ended(std::size_t attempt, RaceEnd end, TimePoint now);

  /// True if no attempt needs to be awaited; the others are then cancelled.
  bool is_over() const;

  /// The attempt whose end is the request's: the first final answer, else the last answer, else the
  /// last end without an answer (CO-082). Nothing before the first end.
  std::optional<std::size_t> winner() const { return winner_; }

  std::size_t attempts() const { return sent_; }
  bool is_out(std::size_t attempt) const { return attempt < sent_ && out_[attempt]; }

 private:
  std::optional<HedgeRules> rules_;
  std::size_t sent_ = 0;
  std::array<bool, kMostHedges + 1> out_{};
  std::size_t still_out_ = 0;
  TimePoint next_{};
  std::optional<std::size_t> winner_;
  RaceEnd best_ = RaceEnd::nothing;
};

/// Whether a set has so much load that hedges would worsen it (`hedge_max_load_percent`).
///
/// `median` is the current load of the set's median mirror, `usual` its slow average
/// (agent/stats/load_baseline.hpp). The median, not the sum: a single stalled mirror collects
/// queries, and hedging is for just that case, while overload appears on most mirrors. Hedging
/// stops above `percent` of `usual`, but never below kQuiet, where a few queries make no
/// difference. A lasting load becomes usual; then only the retry budget limits hedges. False
/// without a usual load or with 0 percent.
constexpr bool overloaded_for_hedging(std::uint32_t median, std::optional<double> usual,
                                      unsigned percent) {
  constexpr std::uint32_t kQuiet = 4;
  if (percent == 0 || !usual || median <= kQuiet) return false;
  return static_cast<double>(median) * 100 > *usual * percent;
}

}  // namespace karmad
