#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "strategies/candidates.hpp"
#include "strategies/random_source.hpp"
#include "strategies/read_preference.hpp"
#include "strategies/strategy.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Why a selection avoids or excludes a mirror.
enum class AvoidReason : std::uint8_t {
  tried,             ///< asked by this query before
  not_preferred,     ///< the query prefers other mirrors as long as one is suitable
  refuses_connects,  ///< refused the last connection
  ping_unanswered,   ///< its last ping found no connection
  outdated,          ///< lacks data that the client has seen
  unavailable,       ///< reported that it takes no requests
  breaker_open,      ///< its breaker is open
  ejected,           ///< an outlier of its set (`outlier`)
  starting,          ///< in slow start, with as many attempts in flight as that allows
  zone_left,         ///< in a zone whose mirrors have failed
  primary_last,      ///< the primary, asked last
  full,              ///< its limit of attempts is reached
  removed,           ///< reported that it has left the set
  not_probed,        ///< the attempt probes another mirror
  drained,           ///< taken out by the operator (`state`)
  maint,             ///< likewise
  level_fails,       ///< as all mirrors of its level of the preference do; a later one works
  unpaid,            ///< not known to work, so a retry there needs the budget, which is used up
  silent,            ///< a search timed out there, and none was answered since
};
inline constexpr std::array<std::string_view, 19> kAvoidReasonTexts{
    "tried by this request",
    "other mirrors are preferred",
    "refused the last connection",
    "no connection at its last ping",
    "lacks data that the client has seen",
    "reported that it takes no requests",
    "its breaker is open",
    "ejected as an outlier",
    "in slow start, with as many attempts in flight as that allows",
    "its zone has failed",
    "the primary is asked last",
    "full (max_in_flight)",
    "excluded by this request: asked or avoided by another attempt, or found unreachable",
    "the attempt probes another mirror",
    "taken out by the operator (drain)",
    "taken out by the operator (maint)",
    "all mirrors of its level of the read preference fail, those of a later level do not",
    "not known to work, so a retry there needs the retry budget",
    "its last search timed out, and it has answered none since",
};
inline constexpr std::size_t kAvoidReasons = kAvoidReasonTexts.size();

/// The mirrors with each objection.
class AvoidReasons {
 public:
  Candidates& operator[](AvoidReason objection) { return of_[static_cast<std::size_t>(objection)]; }
  Candidates operator[](AvoidReason objection) const {
    return of_[static_cast<std::size_t>(objection)];
  }

 private:
  std::array<Candidates, kAvoidReasons> of_{};
};

/// The random numbers of one pick; further ones than kKept are only counted.
class Draws {
 public:
  static constexpr std::size_t kKept = 4;
  struct Draw {
    std::size_t below;  ///< an integer below this; 0: a number in [0, 1)
    double value;
  };

  Draws() {}  // NOLINT: only the first `count_` of them are read
  void add(std::size_t below, double value) {
    if (count_ < kKept) kept_[count_] = {below, value};
    ++count_;
  }
  std::size_t count() const { return count_; }
  /// `i` is below count() and kKept.
  const Draw& operator[](std::size_t i) const { return kept_[i]; }

 private:
  std::array<Draw, kKept> kept_;
  std::size_t count_ = 0;
};

/// Passes on the numbers of another source, and records them.
class RecordedRandom final : public RandomSource {
 public:
  RecordedRandom(RandomSource& source, Draws& draws) : source_(source), draws_(draws) {}
  std::size_t below(std::size_t n) override {
    const auto value = source_.below(n);
    draws_.add(n, static_cast<double>(value));
    return value;
  }
  double uniform() override {
    const auto value = source_.uniform();
    draws_.add(0, value);
    return value;
  }

 private:
  RandomSource& source_;
  Draws& draws_;
};

/// The steps of one selection, for explanations: the mirrors that were left after each.
struct PickSteps {
  PickSteps() {}  // NOLINT: with `= default` it would be filled with zeros first

  bool any_mirror = false;  ///< no requirements for a mirror
  std::optional<std::uint8_t> chosen;
  std::optional<Micros> window;
  Candidates excluded;  ///< never chosen
  Candidates avoided;   ///< left out as long as another mirror is suitable
  Candidates suitable;  ///< of those not excluded
  Candidates fresh;     ///< of these, without the avoided ones if others are left
  Candidates accepted;  ///< by the strategy
  Candidates selected;  ///< by the application's selector
  Candidates near;      ///< within the window of round trips: the candidates
  Draws draws;

  /// The mirrors with this objection, all of which are avoided or excluded.
  Candidates with(AvoidReason objection) const {
    return objections_ ? (*objections_)[objection] : Candidates();
  }
  void objections(const AvoidReasons& all) { objections_ = all; }

 private:
  std::optional<AvoidReasons> objections_;  ///< rarely used, so it stays out of the cache
};

/// An application's own restriction: gets the suitable mirrors that the strategy accepts, at least
/// one, and returns those it accepts, possibly none (SS-020, SS-123). Any worker calls it.
using Selector = std::function<Candidates(const SetDescription&, Candidates)>;

/// The input of a selection.
struct SelectionCriteria {
  const Need* need = nullptr;    ///< null: any mirror will do
  Candidates avoided;            ///< tried by this query; excluded first (SS-122)
  Candidates excluded;           ///< found to be unreachable or removed; never chosen
  std::optional<Micros> window;  ///< for round trips; none: unlimited (X-5)
  const Selector* selector = nullptr;
  bool takes_turn = true;   ///< in `roundrobin`; false for retries, hedges and probes
  TimePoint now{};          ///< for the age of attempts in flight; the epoch: ages do not count
  AvoidReasons objections;  ///< why mirrors are avoided or excluded; only for explanations
};

/// A chosen mirror, and the candidates at that moment.
struct Pick {
  std::size_t mirror = 0;
  Candidates suitable;    ///< suit the criteria, avoided ones included
  Candidates acceptable;  ///< those of them that the strategy chose from
  bool operator==(const Pick&) const = default;
};

/// Picks the mirror for the next attempt. Steps: suitable mirrors outside `avoided`, or if there
/// are none all suitable ones; of these those with a weight, if there are any; those accepted by
/// the strategy, the application's selector and the latency window; the strategy's choice. Nothing
/// if no mirror is left. Allocates nothing; any thread, each with its own RandomSource. Unless
/// `steps` is null, it gets what the selection saw and decided.
std::optional<Pick> select(const SelectionCriteria& criteria, const SetDescription& picture,
                           MirrorViews mirrors, const Strategy& strategy, RandomSource& random,
                           PickSteps* steps = nullptr);

/// The mirrors that select() would choose from. For status, waits and tests.
Candidates acceptable(const SelectionCriteria& criteria, const SetDescription& picture,
                      MirrorViews mirrors, const Strategy& strategy, PickSteps* steps = nullptr);

}  // namespace karmad
