#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <mutex>

#include <boost/asio/detail/reactor.hpp>  // needs io_context.hpp before it

#include "agent/stats/single_writer.hpp"
#include "agent/transport/http/http_head.hpp"
#include "agent/transport/loop/buffers.hpp"
#include "agent/transport/loop/inbox.hpp"
#include "agent/transport/loop/loop_turn.hpp"
#include "agent/transport/loop/memory_limit.hpp"
#include "agent/transport/loop/task.hpp"
#include "agent/transport/loop/ticks.hpp"
#include "strategies/random_source.hpp"

namespace karmad {

namespace asio = boost::asio;
using Executor = asio::io_context::executor_type;

class Loop;

/// The way into a loop for a thread that may outlive it.
class LoopDoor {
 public:
  explicit LoopDoor(Loop& loop) : loop_(&loop) {}
  /// As Loop::post(); nothing when the loop is gone. From any thread.
  void post(Inbox::Job job);

 private:
  friend class Loop;
  void close();
  std::mutex mutex_;
  Loop* loop_;
};

/// What one worker's coroutines share: an event loop, its deadlines, buffers and chance. Everything
/// in it belongs to the thread that runs it; other threads may only `post` to it.
class Loop {
 public:
  Loop(unsigned index, std::size_t buffer_keep_up_to, std::uint64_t seed);
  ~Loop();

  /// Has this thread do the loop's work until it may end and nothing is under way.
  void run();
  void let_end() { inbox_.let_end(); }

  /// Runs `job` in the loop's thread, later; from any thread.
  void post(Inbox::Job job);

  const std::shared_ptr<LoopDoor>& door() const { return door_; }

  static TimePoint now() { return Ticks::now(); }
  TimePoint lately() const { return ticks_.lately(); }
  void arm(Deadline& deadline, TimePoint at) { ticks_.arm(deadline, at); }
  /// How late its ticks were; any thread may read.
  const LoopDelay& delay() const { return ticks_.delay; }

  const unsigned index;
  Buffers buffers;      ///< goes after what `io` still holds, which gives its own back
  MemoryLedger memory;  ///< likewise
  asio::io_context io;
  asio::detail::reactor& reactor = asio::use_service<asio::detail::reactor>(io);
  SeededRandom random;
  SingleWriter<std::uint64_t> unasked;  ///< times an agent sent unrequested bytes; any thread reads
  // Not kept over a wait:
  ResponseHead response_head;  ///< where a reply's head is parsed into
  std::string head;            ///< where a head is written that mostly goes out at once

 private:
  Inbox inbox_{io};
  const std::shared_ptr<LoopDoor> door_ = std::make_shared<LoopDoor>(*this);
  Ticks ticks_{io};

 public:
  LoopTurn turn{io, ticks_};  ///< goes before the deadlines do
};

/// Why something that waits is told to stop.
enum class StopReason : std::uint8_t {
  none,
  connect_timeout,
  first_byte_timeout,
  query_timeout,
  deadline,
  unreachable,  ///< pings found that the agent cannot be reached
  cancelled,
};

/// The means to end a wait early: by a deadline of its own or by a call. The code that is about to
/// wait says how that wait is ended; the first reason stays.
class Stop final : public Deadline {
 public:
  explicit Stop(Loop& loop) : loop_(loop) {}

  /// From now on the wait ends at `at`, for that reason.
  void arm(TimePoint at, StopReason why) {
    armed_for_ = why;
    loop_.arm(*this, at);
  }
  void request(StopReason why) {
    if (why_ != StopReason::none) return;
    why_ = why;
    disarm();
    if (break_off_ != nullptr) break_off_(whom_);
  }
  StopReason why() const { return why_; }
  bool requested() const { return why_ != StopReason::none; }

  /// `break_off(whom)` will be called when a stop is requested, until the guard goes.
  class Guard {
   public:
    Guard(Stop& stop, void* whom, void (*break_off)(void*)) : stop_(stop) {
      stop.whom_ = whom;
      stop.break_off_ = break_off;
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { stop_.break_off_ = nullptr; }

   private:
    Stop& stop_;
  };

 private:
  void expired() override { request(armed_for_); }

  Loop& loop_;
  StopReason why_ = StopReason::none;
  StopReason armed_for_ = StopReason::none;
  void* whom_ = nullptr;
  void (*break_off_)(void*) = nullptr;
};

/// `co_await next_turn(loop)`: goes on when the loop has done what waits for it now.
inline auto next_turn(Loop& loop) {
  struct Awaiter {
    Loop& of;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> caller) {
      asio::post(of.io, [caller] { caller.resume(); });
    }
    void await_resume() const noexcept {}
  };
  return Awaiter{loop};
}

/// Gives the buffer of `memory`, which is `holder`'s, a capacity, as soon as given up requests have
/// released what is needed. False: it was denied.
Task<bool> reserve(Loop& loop, MemoryReservation& memory, MemoryHolder* holder,
                   std::size_t capacity);

/// Moves `bytes` to a buffer of the loop's with room for at least `room`, and gives the one it had
/// back. A large body is copied in turns, so that it does not hold the loop.
Task<void> grow(Loop& loop, std::string& bytes, std::size_t room);

/// Waits until `until`, or until a stop is requested.
Task<void> sleep(Loop& loop, TimePoint until, Stop& stop);

}  // namespace karmad
