#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "agent/stats/recent_answers.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// How much longer the last answers of a mirror took than those of its peers at the same time.
struct Slowness {
  std::size_t answers = 0;  ///< of the mirror, that were compared
  Micros mean{};
  Micros peers_mean{};
  std::optional<Micros> p95;  ///< with at least twenty answers of both sides; so is the next
  std::optional<Micros> peers_p95;
  Micros age{};  ///< of its newest answer
};

/// A mirror is slow if the mean or the median of its last answers is above twice that of its peers
/// and 5 ms longer, and if an equal mirror would be so slow at most once in a million comparisons.
/// It stays slow above 1.5 times, while an equal mirror would be so slow once in a hundred, and
/// ends to be slow when it has not answered for a minute.
inline constexpr double kSlowFactor = 2;
inline constexpr double kStillSlowFactor = 1.5;
inline constexpr Micros kSlowLead = std::chrono::milliseconds(5);
inline constexpr double kFalseAlarm = 1e-6;
inline constexpr double kStillSlowChance = 0.01;
inline constexpr Micros kPastSlowness = std::chrono::minutes(1);
/// The answers of the last four or ten seconds are compared, or the last 3, 5 or 8 over at least
/// two seconds: a pause of a moment is not slowness.
inline constexpr Micros kComparedTime = std::chrono::seconds(4);
inline constexpr Micros kLongTime = std::chrono::seconds(10);
inline constexpr Micros kLeastTime = std::chrono::seconds(2);
/// How far back the answers of peers show what is usual.
inline constexpr Micros kUsualTime = std::chrono::minutes(5);

/// The chance, or a little more, that `own` are so long if they come from the same distribution as
/// `usual`, whatever it is: 0 to 1. Pure; sorts `usual`.
///
/// Each answer has the part of `usual` that took at least as long. Of an equal mirror these parts
/// are spread evenly over 0 to 1, so the product of n of them has a known distribution (R. A.
/// Fisher, Statistical Methods for Research Workers, 1925, section 21.1), and so has the sum of a
/// few (P. Hall, J. O. Irwin, Biometrika 19, 1927). The smaller chance counts, twice, because two
/// were tried. `usual` is a sample as well: the logarithm is divided by 1 + n / m, by which it
/// makes the variance of the sum larger.
double chance_of_equal(std::span<const Micros> own, std::vector<Micros>& usual);

/// What the last answers of a mirror take.
struct TypicalTime {
  Micros mean{};
  Micros median{};
};

/// Of the answers of kComparedTime, and of eight at least if there are so many; the newest first.
/// Nothing without answers.
std::optional<TypicalTime> typical_time(std::span<const RecentAnswer> answers);

/// The lower median of the mean times of mirrors.
std::optional<Micros> usual_time(std::span<const TypicalTime> mirrors);

/// A quick look, because slowness() takes long in a large set: false if slowness() of a mirror that
/// was not slow is hardly possible.
bool may_be_slow(const TypicalTime& own, std::span<const TypicalTime> peers);

/// The slowness of a mirror with these answers, the newest first; nothing if it is not slow.
/// `peers`: the answers of each other mirror that works. `was`: it was slow until now. Pure.
std::optional<Slowness> slowness(std::span<const RecentAnswer> own,
                                 std::span<const std::span<const RecentAnswer>> peers, bool was);

}  // namespace karmad
