#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "agent/health/error_hint.hpp"
#include "balancer/simulate/replay/recorded_mirror.hpp"
#include "balancer/simulate/scenario/scenario.hpp"
#include "balancer/simulate/world/event_queue.hpp"

namespace karmad::simulate {

/// What an attempt gets from a mirror.
struct MirrorReply {
  enum class Kind : std::uint8_t {
    answer,
    error,    ///< an HTTP error: `error` is its number in Fleet::errors()
    reset,    ///< the connection was reset after the request was sent
    refused,  ///< the connection was refused
    failure,  ///< the attempt ended otherwise without an answer: `error` is its Outcome
  };
  /// Of `load`: not reported.
  static constexpr std::uint16_t kNoLoad = UINT16_MAX;

  Kind kind = Kind::answer;
  std::uint16_t error = 0;
  std::uint16_t load = kNoLoad;  ///< of an answer: busy servers in thousandths

  static bool has_error(Kind kind) { return kind == Kind::error || kind == Kind::failure; }
  std::uint32_t packed() const {
    return static_cast<std::uint32_t>(kind) << 16 | (has_error(kind) ? error : load);
  }
  static MirrorReply unpack(std::uint32_t packed) {
    const auto kind = static_cast<Kind>(packed >> 16);
    const auto value = static_cast<std::uint16_t>(packed);
    if (has_error(kind)) return {.kind = kind, .error = value};
    return {.kind = kind, .load = value};
  }
};

/// An HTTP error as mirrors send it, and what karmad reads in it.
struct MirrorError {
  unsigned status = 0;
  unsigned retry_after = 0;
  ErrorHint hint;
};

/// All simulated mirrors with the network in front of them: queues with servers, service times,
/// faults. A mirror finishes the work of attempts that were cancelled, as search servers do.
/// Changed speeds count for work that starts later. The random numbers of a mirror do not depend on
/// the balancer. Mirrors of an access log behave as recorded: they have no queues.
class Fleet {
 public:
  /// Pauses of mirrors are counted from `begin`.
  Fleet(const Scenario& scenario, EventQueue& events, std::uint64_t seed, TimePoint begin);

  /// Sends a request; `reply_arrives` events bring the reply, with the packed MirrorReply.
  void send(ObjectName attempt, unsigned mirror, TimePoint now);
  /// A ping at the mirror; nothing: no answer. The network is not included.
  std::optional<MirrorReply> ping(unsigned mirror, TimePoint now);
  Micros network(unsigned mirror) const { return mirrors_[mirror].profile.network; }
  const MirrorError& error(const MirrorReply& reply) const { return errors_[reply.error]; }

  // Events:
  void attempt_arrives(const Event& event);
  void work_done(const Event& event);
  void mirror_replies(const Event& event);

  /// Assigns properties. Returns whether that resets its connections.
  bool change(unsigned mirror, const Assignments& profile, TimePoint now);

  /// Whether the mirror answers at all at present.
  bool answers(unsigned mirror) const {
    return mirrors_[mirror].profile.mode == MirrorProfile::Mode::ok;
  }
  /// Attempts at the mirror and on the way to it.
  unsigned load(unsigned mirror) const {
    const auto& at = mirrors_[mirror];
    return at.coming + at.busy + static_cast<unsigned>(at.waiting.size());
  }
  /// Expected time from now until the reply to an attempt that finds such a load; infinite if it
  /// would be refused. Knows pauses, speeds and error rates.
  double expected_micros(unsigned mirror, unsigned load, TimePoint now) const;

 private:
  struct Mirror {
    MirrorProfile profile;
    const RecordedMirror* recorded = nullptr;  ///< behaves as recorded, not as the profile says
    SeededRandom service;
    SeededRandom faults;
    std::deque<ObjectName> waiting;
    std::vector<ObjectName> frozen;
    unsigned coming = 0;
    unsigned busy = 0;
    double tokens = 0;
    TimePoint tokens_at{};
    unsigned warmed = 0;  ///< requests since the cache was cold
    std::uint16_t error = 0;
    std::uint16_t overload = 0;
  };

  void replay(Mirror& mirror, ObjectName attempt, TimePoint now);
  MirrorReply recorded_reply(const ReplayedService& service);
  std::optional<MirrorReply> recorded_ping(Mirror& mirror, TimePoint now) const;
  void serve(Mirror& mirror, std::uint32_t number, ObjectName attempt, TimePoint now);
  bool take_token(Mirror& mirror, TimePoint now) const;
  void reply(const Mirror& mirror, ObjectName attempt, MirrorReply reply, TimePoint now);
  TimePoint end_of_work(const MirrorProfile& profile, TimePoint start, Micros work) const;
  static double factor(const Mirror& mirror);
  static std::uint16_t reported_load(const Mirror& mirror);
  void note_errors(Mirror& mirror);
  std::uint16_t number_of_error(unsigned status, unsigned retry_after);

  EventQueue& events_;
  const TimePoint begin_;
  std::vector<Mirror> mirrors_;
  std::vector<MirrorError> errors_;
};

}  // namespace karmad::simulate
