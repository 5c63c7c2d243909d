#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/mirrors/agent_slots.hpp"
#include "agent/mirrors/attempt.hpp"
#include "balancer/rules/breaker.hpp"

namespace karmad {

/// Most memory that a passed-on reply uses at a time.
inline constexpr std::size_t kPassedPiece = 64 << 10;

/// The rest of a reply whose beginning is already passed on. While it lives it holds its connection
/// and its slot. The destructor records the attempt: as a failure if the reply broke off; otherwise
/// by its beginning, also when the client left. One thread.
class ResponseStream {
 public:
  struct Source {
    Loop& loop;
    Pool& pool;  ///< of its connection
    MirrorSet& set;
    std::size_t number;    ///< index of the mirror in `set`
    bool tracks_state;     ///< errors are reported to the set's state machine
    Breaker* breaker;      ///< null: disabled
    Micros patience;       ///< longest wait for each 64 KB, without the time the client takes
    Micros open_patience;  ///< longest wait for any byte of a reply without a length
    char ends_in;          ///< Judgement::ends_in
  };
  /// `result`: of the attempt, judged by the reply's beginning; its connection is moved from it.
  ResponseStream(const Source& source, AgentSlot slot, AttemptResult& result);
  ResponseStream(const ResponseStream&) = delete;
  ResponseStream& operator=(const ResponseStream&) = delete;
  ~ResponseStream();

  /// Bytes still to be read; kOpenEnd: the length is unknown.
  std::uint64_t unread() const { return unread_; }

  /// Reads the next bytes into `piece`, at most kPassedPiece; waits only if none are available.
  /// Holds back the final bytes until the reply has ended correctly. False: it broke off.
  Task<bool> next(std::string& piece, Stop& stop);

  std::string_view agent() const { return mirror_.agent->name; }
  /// Why it broke off.
  std::string_view why() const { return result_.why; }
  bool timed_out() const { return result_.outcome == Outcome::query_timeout; }

 private:
  Task<bool> next_of_open(std::string& piece, Stop& stop);
  Task<Stream::Read> wait(char* into, std::size_t room, Stop& stop);
  void release(Stream::Unasked behind);
  void note_last(std::string_view piece);
  bool fail(Outcome outcome, std::string why);
  bool read_failed(const error_code& error, StopReason why);

  Source source_;
  Mirror& mirror_;
  std::optional<AgentSlot> slot_;
  ConnectionPtr connection_;
  std::uint64_t unread_;
  std::unique_ptr<ChunkedBody> chunks_;  ///< null: the rest has no chunks
  AttemptResult result_;                 ///< without the reply
  Micros patience_;
  std::size_t since_ = 0;  ///< bytes read since `patience_` last restarted
  char last_ = 0;          ///< last byte that is not white space
};

}  // namespace karmad
