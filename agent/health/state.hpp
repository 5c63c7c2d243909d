#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/health/error_hint.hpp"
#include "agent/health/former_places.hpp"
#include "agent/ping_kinds/description.hpp"
#include "strategies/candidates.hpp"
#include "strategies/set_picture.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Round trips of one mirror's pings: an exponential average (SS-152, SS-153, α = 0.2) and the
/// minimum of the last ten (SD-011). A value for one thread.
class RoundTrips {
 public:
  /// Adds a measurement; a negative one is refused and ignored (SS-154).
  bool add(Micros trip) {
    if (trip < Micros{0}) return false;
    const auto measured = static_cast<double>(trip.count());
    average_ = average_ ? kAlpha * measured + (1 - kAlpha) * *average_ : measured;
    last_[next_] = trip;
    next_ = (next_ + 1) % last_.size();
    count_ = std::min(count_ + 1, last_.size());
    return true;
  }
  /// The mirror became unavailable: drops all measurements (SS-151).
  void clear() { *this = {}; }
  /// The average in µs, exact; empty before the first measurement. 0 is a legal average.
  std::optional<double> average() const { return average_; }
  /// The average to the nearest µs.
  std::optional<Micros> smoothed() const {
    if (!average_) return std::nullopt;
    return Micros{std::llround(*average_)};
  }
  /// The minimum of the last ten; 0 with fewer than two (SD-011).
  Micros least() const {
    if (count_ < 2) return Micros{0};
    return *std::ranges::min_element(last_.begin(), last_.begin() + static_cast<long>(count_));
  }

 private:
  static constexpr double kAlpha = 0.2;  // SS-153
  std::optional<double> average_;
  std::array<Micros, 10> last_{};
  std::size_t next_ = 0;   // position of the next measurement
  std::size_t count_ = 0;  // number of measurements
};

/// When each generation of a mirror set's data was first seen, by karmad's clock. It replaces the
/// time of the last write for engines that only count updates. A mirror at the newest generation is
/// fresh at the moment of its ping; one at an older generation was fresh until a newer one was
/// first seen at any mirror. This assumes a set that is written to all the time; the ping interval
/// limits the precision.
///
/// Holds at most kMost moments. Beyond that, the two neighbours closest together for their age are
/// merged into the earlier moment. So a stale mirror never looks fresher than it is.
class Freshness {
 public:
  static constexpr std::size_t kMost = 1024;

  /// A mirror reported this generation.
  void seen(std::uint64_t generation, TimePoint at);
  /// Until when a mirror that reported this generation at `at` was fresh; never after `at`.
  TimePoint fresh_until(std::uint64_t generation, TimePoint at) const;
  /// Generations above this one are invalid: rolled back, or counting restarted.
  void forget_newer(std::uint64_t generation);
  std::size_t size() const { return firsts_.size(); }

 private:
  struct First {
    std::uint64_t generation = 0;  ///< the newest generation first seen at `at`
    TimePoint at{};
  };

  void merge_two(TimePoint now);

  // Ascending in generation and time: an older generation seen after a newer one is not entered.
  std::vector<First> firsts_;
};

/// Configured properties of a mirror; they override what its ping reports.
struct Member {
  std::string address;       ///< as the mirror reports its address in `me`
  std::optional<Role> role;  ///< replaces the role of a serving mirror; never hides an error
  std::optional<Tags> tags;  ///< replaces the tags
  bool operator==(const Member&) const = default;
};

struct SetSettings {
  SetKind kind = SetKind::unknown;  ///< the initial kind; `unknown` becomes the reported one
  std::optional<std::string> name;  ///< a mirror that reports another name is excluded (SD-016)
  Micros ping_interval{};
  bool pinged = true;  ///< false: every mirror counts as available
  bool tags_in_flat = false;
  bool operator==(const SetSettings&) const = default;
};

/// An error met while using a mirror (SD-020 … SD-024).
struct UseError {
  enum class When : std::uint8_t { connecting, in_use };
  enum class What : std::uint8_t {
    network,        ///< the connection broke
    timeout,        ///< too slow, but not known to be unreachable
    name_refused,   ///< the name does not resolve, or a certificate is refused
    not_primary,    ///< an error answer with that meaning
    recovering,     ///< likewise
    shutting_down,  ///< likewise
  };
  When when = When::in_use;
  What what = What::network;
  std::uint64_t generation = 0;        ///< of the connection it happened on
  std::optional<VersionMark> version;  ///< from the error answer
  std::string why;
  bool nothing_done = false;  ///< the error answer says that the mirror did nothing of the request
};

enum class PingFailure : std::uint8_t {
  network,  ///< no connection, or it broke
  timeout,  ///< neither the ping nor another request got a reply in time
  slow,     ///< no answer in time, but other requests got replies
  answer,   ///< not a description, or a status other than 2xx
};

/// What the caller must do after an event; bits are mirrors.
struct Effects {
  Candidates check_now;    ///< ping soon (SD-004 limits how soon)
  Candidates drop_idle;    ///< close idle connections: they belong to an old generation
  Candidates cancel_ping;  ///< cancel the ping in progress
  Candidates interrupt;    ///< end attempts in flight there, to retry elsewhere (SD-008)
  bool operator==(const Effects&) const = default;
};

/// State of one mirror that is not part of the picture.
struct MirrorState {
  Description description;  ///< the last description received
  std::string why;          ///< why it is unknown or does not serve; else empty
  RoundTrips trips;
  std::uint64_t generation = 0;        ///< of its connections (SD-024)
  std::optional<VersionMark> version;  ///< of the newest answer or error (SD-015)
  bool reached = false;                ///< answered a ping since its connections were last dropped
  bool answers_pings = false;          ///< has ever answered one
  bool unreachable = false;            ///< its last ping got no connection or timed out
  bool misfit = false;                 ///< answers, but its role does not fit the set's kind
};

/// The state machine of a mirror set (SD-008 … SD-024): pings and errors in, states out, without
/// socket or clock. For one thread. Members are fixed: where the specifications remove a server, it
/// becomes `unknown` here, with the reason.
///
/// If the kind is not configured, the first answer that shows it decides: a role of primary,
/// replica or arbiter, configured or reported, makes `roles`; a router `flat`; a single standalone
/// `direct`. In `roles` a router or standalone does not serve; in `flat` a primary, replica or
/// arbiter does not.
class SetState {
 public:
  SetState(SetSettings settings, std::vector<Member> members);

  /// A ping was answered (SD-009, SD-014 … SD-016). `trip`: its round trip.
  Effects answered(std::size_t mirror, Description description, Micros trip, TimePoint now);
  /// A ping failed (SD-008). Requests one more ping at once if the mirror was known until now and
  /// the cause is the network.
  Effects failed(std::size_t mirror, PingFailure failure, std::string why, TimePoint now);
  /// An error happened while using the mirror (SD-020 … SD-024).
  Effects on_error(std::size_t mirror, const UseError& error, TimePoint now);

  /// Takes over the state of mirrors that existed before, if the configuration of the set and of
  /// the mirror is unchanged. Call before any other event.
  void take_over(const SetState& before, const FormerPlaces& places);

  const SetDescription& picture() const { return picture_; }
  const MirrorState& operator[](std::size_t mirror) const { return mirrors_[mirror]; }
  const MirrorFacts& facts(std::size_t mirror) const { return picture_.mirrors[mirror]; }
  std::size_t size() const { return mirrors_.size(); }
  const SetSettings& settings() const { return settings_; }
  /// The position of the current primary.
  std::optional<std::size_t> primary() const;
  /// Some mirrors have roles and some have none; those that do not fit the set's kind are not
  /// searched.
  bool mixed() const;
  /// Sets the generation of connections; the agent counts it, as it may belong to several sets.
  void generation(std::size_t mirror, std::uint64_t now) { mirrors_[mirror].generation = now; }

 private:
  bool always_there() const { return !settings_.pinged || picture_.kind == SetKind::balanced; }
  Role role_of(std::size_t mirror) const;
  void learn_kind(Role role, const Description& description);
  std::string why_refused(std::size_t mirror) const;
  std::string why_misfit(Role role) const;
  bool has_other_address(std::size_t mirror, Role role) const;
  bool wins_election(const Description& claimant);
  Effects demote_others(std::size_t primary, TimePoint now);
  std::optional<Micros> last_write(std::size_t mirror, Role role, TimePoint now);
  void take_in(std::size_t mirror, Role role, Micros trip, TimePoint now);
  void becomes_unknown(std::size_t mirror, std::string why, TimePoint now);
  void drop_connections(std::size_t mirror, Effects& effects);
  void note_compatibility();

  SetSettings settings_;
  std::vector<Member> members_;
  std::vector<MirrorState> mirrors_;
  SetDescription picture_;
  bool kind_guessed_ = false;  // from mirrors that do not serve
  Freshness freshness_;
  // The newest election reported, also after its winner has left (SD-014).
  std::optional<std::string> newest_election_;
  std::optional<std::int64_t> newest_set_version_;
};

/// The state of the mirror that an error body reports (SD-023): a numeric `code` (10107, 13435,
/// 10058: not primary; 11602, 13436, 189: recovering; 11600, 91: shutting down), or a `type` of
/// `not_primary`, `recovering`, `shutting_down`; at the top, in `error` or in `writeConcernError`.
/// A known code has precedence. A version mark `{"version": {"process_id": …, "counter": …}}`
/// beside it or at the top is read too. `refused_as_replica`: the answer says by its sub-status
/// that the mirror is not the primary (CO-032), which counts where the body tells no state. Nothing
/// for other bodies and for those of more than 64 KB.
///
/// `nothing_done` is set for refusals before any work: the codes of "not primary", 13436, and the
/// type `not_primary`, and the sub-status. Not for the others, which may interrupt work, nor for a
/// `writeConcernError`, nor if the body lists or counts completed parts of a batch.
std::optional<UseError> state_error(const ErrorBody& body, bool refused_as_replica = false);

}  // namespace karmad
