#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/mirrors/former_places.hpp"
#include "agent/mirrors/freshness.hpp"
#include "agent/ping_kinds/description.hpp"
#include "strategies/candidates.hpp"
#include "strategies/set_picture.hpp"
#include "strategies/smoothing.hpp"

namespace karmad {

/// What the configuration says of a mirror; it beats what the ping says.
struct Member {
  std::string address;       ///< as a mirror would name itself in `me`
  std::optional<Role> role;  ///< replaces the role of a mirror that serves; hides no trouble
  std::optional<Tags> tags;  ///< replaces the tags
  bool operator==(const Member&) const = default;
};

struct SetSettings {
  SetKind kind = SetKind::unknown;  ///< what it starts as; `unknown` becomes what is reported
  std::optional<std::string> name;  ///< mirrors that report another set are excluded (SD-016)
  Micros ping_interval{};
  bool pinged = true;  ///< false: every mirror counts as available
  bool tags_in_flat = false;
  bool operator==(const SetSettings&) const = default;
};

/// Something that went wrong while a mirror was used (SD-020 … SD-024).
struct UseError {
  enum class When : std::uint8_t { connecting, in_use };
  enum class What : std::uint8_t {
    network,        ///< broken
    timeout,        ///< too slow; no reason to think it is gone
    name_refused,   ///< the name does not resolve (a certificate is refused)
    not_primary,    ///< an error answer that says so
    recovering,     ///< likewise
    shutting_down,  ///< likewise
  };
  When when = When::in_use;
  What what = What::network;
  std::uint64_t generation = 0;        ///< of the connection it was met on
  std::optional<VersionMark> version;  ///< that the error answer carried
  std::string why;
  bool nothing_done = false;  ///< an error answer: the mirror surely did nothing of the request
};

enum class PingFailure : std::uint8_t {
  network,  ///< no connection, or it broke
  timeout,  ///< no answer in time, nor a reply to anything else meanwhile
  slow,     ///< no answer in time, while other requests were answered
  answer,   ///< answered, but not with a description (or with a status other than 2xx)
};

/// What the shell has to do after an event; bits are mirrors.
struct Effects {
  Candidates check_now;    ///< ping at once (SD-004 bounds how soon)
  Candidates drop_idle;    ///< kept connections are of no use: their generation is over
  Candidates cancel_ping;  ///< break off the ping that is under way
  Candidates interrupt;    ///< attempts under way there had better be made elsewhere (SD-008)
  bool operator==(const Effects&) const = default;
};

/// What is known of one mirror besides its facts in the picture.
struct MirrorState {
  Description description;  ///< the last description, whatever happened since
  std::string why;          ///< why it is unknown or does not serve; empty when all is well
  RoundTrips trips;
  std::uint64_t generation = 0;        ///< of its connections (SD-024)
  std::optional<VersionMark> version;  ///< of the last word, answer or error (SD-015)
  bool reached = false;                ///< answered a ping since its connections were last dropped
  bool answers_pings = false;          ///< has answered one, ever
  bool unreachable = false;            ///< its last ping got no connection, or no answer in time
  bool misfit = false;  ///< answers, but with a role that does not go with the set's kind
};

/// What pings and errors make of a mirror set: the state machine of SD-008 … SD-024, without a
/// socket or a clock. Not thread-safe: it belongs to one thread. Membership is fixed: what the
/// family of specifications removes becomes `unknown` here, with the reason.
///
/// A kind that was not configured is learned once, from the first answer that tells it: a
/// configured role of primary, replica or arbiter, or one that is reported, makes `roles`; a router
/// `flat`; a lone standalone `direct`. In `roles` a mirror that says it is a router or standalone
/// does not serve, nor in `flat` one that says it is primary, replica or arbiter.
class SetState {
 public:
  SetState(SetSettings settings, std::vector<Member> members);

  /// A ping was answered (SD-009, SD-014 … SD-016). `trip`: its round trip.
  Effects answered(std::size_t mirror, Description description, Micros trip, TimePoint now);
  /// A ping failed (SD-008). Asks for one more ping at once when the mirror was known until now and
  /// the network is to blame.
  Effects failed(std::size_t mirror, PingFailure failure, std::string why, TimePoint now);
  /// An error was met in use (SD-020 … SD-024).
  Effects on_error(std::size_t mirror, const UseError& error, TimePoint now);

  /// What an earlier state of the set knew of mirrors that are still there goes on, as long as the
  /// configuration says the same of the set and of the mirror. Before any other event.
  void take_over(const SetState& before, const FormerPlaces& places);

  const SetPicture& picture() const { return picture_; }
  const MirrorState& operator[](std::size_t mirror) const { return mirrors_[mirror]; }
  const MirrorFacts& facts(std::size_t mirror) const { return picture_.mirrors[mirror]; }
  std::size_t size() const { return mirrors_.size(); }
  const SetSettings& settings() const { return settings_; }
  /// The position of the primary that is known now.
  std::optional<std::size_t> primary() const;
  /// Mirrors with roles and mirrors without side by side; those that do not go with the set's kind
  /// are not searched.
  bool mixed() const;
  /// Connections are counted by the agent, which may belong to several sets: takes its count over.
  void generation(std::size_t mirror, std::uint64_t now) { mirrors_[mirror].generation = now; }

 private:
  bool always_there() const { return !settings_.pinged || picture_.kind == SetKind::balanced; }
  Role role_of(std::size_t mirror) const;
  void learn_kind(Role role, const Description& told);
  std::string why_refused(std::size_t mirror) const;
  std::string why_misfit(Role role) const;
  bool is_somebody_else(std::size_t mirror, Role role) const;
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
  SetPicture picture_;
  bool kind_guessed_ = false;  // from mirrors that do not serve
  Freshness freshness_;
  // The newest election heard of, even if its winner is gone (SD-014).
  std::optional<std::string> newest_election_;
  std::optional<std::int64_t> newest_set_version_;
};

}  // namespace karmad
