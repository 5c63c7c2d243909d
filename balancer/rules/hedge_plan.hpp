#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "agent/stats/latency_quantiles.hpp"
#include "agent/stats/outcome.hpp"
#include "config/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Most hedges of one shard request; the configuration allows no more.
inline constexpr unsigned kMostHedges = 8;

/// When a search is sent to a second mirror: never, after a fixed time, or after the time in which
/// that share of the set's recent answers came.
struct HedgeSetting {
  enum class Kind : std::uint8_t { off, after, p95, p99 };
  Kind kind = Kind::off;
  Micros after{};  ///< of Kind::after, more than 0
  bool operator==(const HedgeSetting&) const = default;
};

/// `off`, `50ms` (a bare number: ms; up to 1 h), `p95`, `p99`, in any case. Else what is wrong.
std::expected<HedgeSetting, std::string> parse_hedge(std::string_view text);
/// The text that parse_hedge reads as this.
std::string text(const HedgeSetting& setting);

/// The settings of hedging, by where they are set. Empty: not set there.
struct HedgeWords {
  bool disabled = false;                ///< `hedge_disabled`, the operator's kill switch
  std::optional<HedgeSetting> request;  ///< of the request itself
  std::optional<bool> preference;       ///< hedge.enabled of its read preference (SS-070)
  std::optional<HedgeSetting> table;
  HedgeSetting instance;
  std::optional<Micros> step;  ///< `hedge_step` of table or instance
};

/// What came out of them.
struct Hedging {
  HedgeSetting setting;
  std::optional<Micros> step;  ///< empty: as the threshold
  bool operator==(const Hedging&) const = default;
};

/// Kill switch before request, read preference, table, instance (CO-085). A read preference that
/// asks for hedging where neither table nor instance hedge gets the defaults of CO-085: after
/// min(1 s, half of the request's time), then every 500 ms.
Hedging hedging_in_force(const HedgeWords& words, Micros request_timeout);

/// With fewer answers a measured quantile means nothing: five of a hundred are slower than p95.
inline constexpr std::uint64_t kEnoughSamples = 100;

/// How one shard request is hedged.
struct HedgeRules {
  Micros threshold{};  ///< without a final answer, until the second mirror is asked
  Micros step{};       ///< until each further one is
  unsigned extra = 1;  ///< most attempts besides the first
};

/// Whether this shard request may be hedged at all, and what it would do.
struct HedgeChance {
  Hedging hedging;
  unsigned max = kDefaultSettings.hedge_max.value;
  std::size_t mirrors = 0;   ///< that suit the request; one of them is asked first
  bool read = true;          ///< updates are never hedged (CO-084)
  bool loaded = false;       ///< the set is above the load at which hedges only add to it
  bool drained = false;      ///< the retry budget has nothing left
  RecentLatency measured{};  ///< of the set
};
/// Nothing: it is not hedged.
std::optional<HedgeRules> hedge_rules(const HedgeChance& chance);

/// `t:100ms, s:50ms, w:False` (CO-086).
std::string text(const HedgeRules& rules);

/// How an attempt, its own retries included, ended.
enum class RaceEnd : std::uint8_t {
  final,      ///< an answer that no other mirror would better
  not_final,  ///< an answer, but another mirror may know better
  nothing,    ///< no answer at all
};

/// CO-081: below 400, 400, 401, 405, 409, 412, 413, and 404 with sub-status 0. No sub-status: 0.
bool is_final_status(unsigned status, unsigned sub_status);

/// The same of an answer that the dialect judged: what it takes for the agent's own trouble is
/// never final, whatever its status; a mistake of the client in a 5xx (as some engines say it) is.
RaceEnd race_end(Outcome outcome, unsigned status, unsigned sub_status);

/// The race of one shard request: when the next mirror is asked, and whose answer counts
/// (CO-080 … CO-082). A value without a clock; attempts are numbered from 0 in the order they were
/// sent. Without rules it is a race of one.
class HedgePlan {
 public:
  explicit HedgePlan(std::optional<HedgeRules> rules) : rules_(rules) {}

  /// An attempt was sent.
  void sent(TimePoint now);

  /// The next attempt is to be sent then, or at once if that is past. Nothing: no more are.
  std::optional<TimePoint> next_at() const;

  /// There shall be no more, the race goes on with those that are out: the budget refused one, no
  /// mirror is left, the deadline is near.
  void no_more() { rules_.reset(); }

  /// An attempt ended; what a finished race hears is ignored. A non-final end makes the next one
  /// due at once: when the request itself was broken off, do not tell.
  void ended(std::size_t attempt, RaceEnd end, TimePoint now);

  /// No other attempt needs to be awaited; those still running are to be cancelled.
  bool is_over() const;

  /// Whose end is the request's: the first final answer, else the last answer received, else the
  /// last end without one (CO-082). Nothing before any ended.
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

}  // namespace karmad
