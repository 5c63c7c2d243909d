#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <boost/asio/detail/reactor.hpp>  // needs io_context.hpp before it

#include "agent/stats/single_writer.hpp"
#include "agent/transport/http/http_head.hpp"
#include "agent/transport/loop/buffers.hpp"
#include "agent/transport/loop/loop_turn.hpp"
#include "agent/transport/loop/memory_limit.hpp"
#include "agent/transport/loop/task.hpp"
#include "agent/transport/loop/ticks.hpp"
#include "strategies/random_source.hpp"

namespace karmad {

/// The only way for other threads to reach a loop. Asio is configured for a single thread, which
/// saves four locked instructions per handler. The inbox keeps the loop running until let_end().
class Inbox {
 public:
  using Job = std::move_only_function<void()>;

  /// Throws std::system_error if there is no free descriptor.
  explicit Inbox(boost::asio::io_context& io);

  /// Runs `job` on the loop's thread, after all jobs added before. Any thread; wakes the loop if
  /// the inbox was empty. Jobs that never run are destroyed with the inbox.
  void put(Job job);

  /// Lets the loop end when it has no other work. The loop's thread only.
  void let_end();

 private:
  void wait();
  void work_off();

  boost::asio::io_context& io_;
  boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> event_;
  bool may_end_ = false;
  std::vector<Job> at_hand_;
  std::mutex mutex_;  ///< protects the next
  std::vector<Job> jobs_;
};

namespace asio = boost::asio;
using Executor = asio::io_context::executor_type;

class Loop;

/// Access to a loop for a thread that may outlive it.
class LoopHandle {
 public:
  explicit LoopHandle(Loop& loop) : loop_(&loop) {}
  /// As Loop::post(); does nothing after the loop's end. Any thread.
  void post(Inbox::Job job);

 private:
  friend class Loop;
  void close();
  std::mutex mutex_;
  Loop* loop_;
};

/// Everything the coroutines of one worker share: event loop, deadlines, buffers, random source.
/// Only the thread that runs it may use it; other threads may only `post`.
class Loop {
 public:
  Loop(unsigned index, std::size_t buffer_keep_up_to, std::uint64_t seed);
  ~Loop();

  /// Runs the loop on this thread until let_end() was called and no work is left.
  void run();
  void let_end() {
    ticks_.let_end();
    inbox_.let_end();
  }

  /// Runs `job` later on the loop's thread; from any thread.
  void post(Inbox::Job job);

  const std::shared_ptr<LoopHandle>& door() const { return door_; }

  static TimePoint now() { return Ticks::now(); }
  TimePoint coarse_now() const { return ticks_.coarse_now(); }
  void arm(Deadline& deadline, TimePoint at) { ticks_.arm(deadline, at); }
  /// The same, at most a millisecond late instead of ten.
  void arm_finely(Deadline& deadline, TimePoint at) { ticks_.arm_finely(deadline, at); }
  /// Delay of its ticks; any thread may read it.
  const LoopDelay& delay() const { return ticks_.delay; }

  const unsigned index;
  Buffers buffers;      ///< destroyed after `io`, whose handlers return buffers
  MemoryLedger memory;  ///< likewise
  asio::io_context io;
  asio::detail::reactor& reactor = asio::use_service<asio::detail::reactor>(io);
  SeededRandom random;
  /// Connects that this process had no local port, descriptor or memory for; any thread reads.
  SingleWriter<std::uint64_t> shortages;
  SingleWriter<std::uint64_t> unasked;  ///< times agents sent unrequested bytes; any thread reads
  // Scratch space, not kept over a wait:
  ResponseHead response_head;  ///< for parsing a reply's head
  std::string head;            ///< for writing a head that is usually sent at once

 private:
  Inbox inbox_{io};
  const std::shared_ptr<LoopHandle> door_ = std::make_shared<LoopHandle>(*this);
  Ticks ticks_{io};

 public:
  LoopTurn turn{io, ticks_};  ///< destroyed before the deadlines
};

/// The loops of all workers by index; worker 0 runs the pingers. Filled before the first post, then
/// constant. Without loops (in tests), jobs run at once on the calling thread.
struct Loops {
  std::vector<Loop*> of;

  /// Runs `job` later on that worker; from any thread.
  template <class Job>
  void post(unsigned worker, Job job) const {
    if (of.empty()) return job();
    of[worker]->post(std::move(job));
  }
};

/// Why a wait is stopped.
enum class StopReason : std::uint8_t {
  none,
  connect_timeout,
  first_byte_timeout,
  query_timeout,
  deadline,
  unreachable,  ///< pings found that the agent cannot be reached
  cancelled,
};

/// Ends a wait early, at a time or by a call. The code that is about to wait sets how the wait is
/// ended (Guard). The first reason is kept.
class Stop : public Deadline {
 public:
  explicit Stop(Loop& loop) : loop_(loop) {}

  /// The wait ends at `at`, for that reason.
  void arm(TimePoint at, StopReason why) {
    armed_for_ = why;
    loop_.arm(*this, at);
  }
  void request(StopReason why) {
    if (why_ != StopReason::none) return;
    why_ = why;
    disarm();
    if (break_off_ != nullptr) break_off_(target_);
  }
  StopReason why() const { return why_; }
  bool requested() const { return why_ != StopReason::none; }

  /// Until the guard is destroyed, a stop request calls `break_off(target)`.
  class Guard {
   public:
    Guard(Stop& stop, void* target, void (*break_off)(void*)) : stop_(stop) {
      stop.target_ = target;
      stop.break_off_ = break_off;
    }
    Guard& operator=(Guard&&) = delete;
    ~Guard() { stop_.break_off_ = nullptr; }

   private:
    Stop& stop_;
  };
  /// The same with a function of the target.
  template <auto break_off, class Target>
  Guard calling(Target& target) {
    return {*this, &target, [](void* of) { (static_cast<Target*>(of)->*break_off)(); }};
  }

 private:
  void expired() override { request(armed_for_); }

  Loop& loop_;
  StopReason why_ = StopReason::none;
  StopReason armed_for_ = StopReason::none;
  void* target_ = nullptr;
  void (*break_off_)(void*) = nullptr;
};

/// `co_await next_turn(loop)`: continues after the work that is ready now.
inline auto next_turn(Loop& loop) {
  struct Awaiter : std::suspend_always {
    Loop& of;
    void await_suspend(std::coroutine_handle<> caller) {
      asio::post(of.io, [caller] { caller.resume(); });
    }
  };
  return Awaiter{{}, loop};
}

/// Gives the buffer of `memory`, which belongs to `holder`, that capacity; may wait until cancelled
/// requests have released theirs. False: denied.
Task<bool> reserve(Loop& loop, MemoryReservation& memory, MemoryHolder* holder,
                   std::size_t capacity);

/// Moves `bytes` to a buffer of the loop with at least `room` bytes, and returns the old buffer. A
/// large body is copied in turns, so that it does not block the loop.
Task<void> grow(Loop& loop, std::string& bytes, std::size_t room);

/// Waits until `until`, or until a stop is requested.
Task<void> sleep(Loop& loop, TimePoint until, Stop& stop);

}  // namespace karmad
