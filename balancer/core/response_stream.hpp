#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/mirrors/agent_slots.hpp"
#include "agent/mirrors/attempt.hpp"
#include "balancer/rules/breaker.hpp"

namespace karmad {

/// What a reply that is passed on takes of memory at a time.
inline constexpr std::size_t kPassedPiece = 256 << 10;

/// The rest of a reply whose beginning is passed on already. As long as it lives it has its
/// connection and its slot. The attempt is entered into what is known of the mirror when it goes:
/// as a failure if the reply broke off, else by how it began, also when the client left. One
/// thread.
class ResponseStream {
 public:
  struct Source {
    Loop& loop;
    Pool& pool;  ///< of its connection
    MirrorSet& set;
    std::size_t number;  ///< of the mirror in it
    bool tracks_state;   ///< the set's state machine is told of errors
    Breaker* breaker;    ///< none: it is off
    Micros patience;     ///< for each 64 KB to arrive, not counting what the client takes
    char ends_in;        ///< Judgement::ends_in
  };
  /// `result`: of the attempt, judged by the beginning of its reply; its connection is taken.
  ResponseStream(const Source& source, AgentSlot slot, AttemptResult& result);
  ResponseStream(const ResponseStream&) = delete;
  ResponseStream& operator=(const ResponseStream&) = delete;
  ~ResponseStream();

  /// Bytes that are still to come.
  std::uint64_t left() const { return left_; }

  /// Puts what comes next into `piece`, at most kPassedPiece of it; waits only if nothing is there.
  /// What ends the reply comes only if it ends as it must. False: it broke off.
  Task<bool> next(std::string& piece, Stop& stop);

  std::string_view agent() const { return mirror_.agent->name; }
  /// Why it broke off.
  std::string_view why() const { return result_.why; }
  bool timed_out() const { return result_.outcome == Outcome::query_timeout; }

 private:
  Task<Stream::Read> wait(char* into, std::size_t room, Stop& stop);
  void release(Stream::Unasked behind);
  void note_last(std::string_view piece);
  bool fail(Outcome outcome, std::string why);
  bool read_failed(const error_code& error, StopReason why);

  Source source_;
  Mirror& mirror_;
  std::optional<AgentSlot> slot_;
  ConnectionPtr connection_;
  std::uint64_t left_;
  AttemptResult result_;  ///< without the reply
  Micros patience_;
  std::size_t since_ = 0;  ///< bytes that came since it was full
  char last_ = 0;          ///< byte that is no space
};

}  // namespace karmad
