#pragma once

#include <boost/intrusive/set.hpp>
#include <cstdint>

#include "agent/transport/loop/loops.hpp"
#include "balancer/core/ticket.hpp"
#include "balancer/rules/admission/queue_discipline.hpp"

namespace karmad {

/// A request that waits for a ticket. Its address must not change until it was woken or cancelled.
class TicketWaiter : public boost::intrusive::set_base_hook<
                         boost::intrusive::link_mode<boost::intrusive::normal_link>> {
 public:
  TicketWaiter(unsigned on_worker, Priority with, std::uint64_t admitted_before = 0)
      : worker(on_worker), priority(with), admissions(admitted_before) {}
  TicketWaiter(const TicketWaiter&) = delete;
  TicketWaiter& operator=(const TicketWaiter&) = delete;

  const unsigned worker;
  const Priority priority;         ///< not exempt
  const std::uint64_t admissions;  ///< so far; the queue of low priority serves the fewest first

  friend bool operator<(const TicketWaiter& a, const TicketWaiter& b) { return a.rank_ < b.rank_; }

 protected:
  ~TicketWaiter() = default;
  /// The wait has ended. Called once, on its worker.
  virtual void on_wake() = 0;

 private:
  friend class TicketLine;
  friend class TicketPool;
  friend class WakeList;
  enum class State : std::uint8_t { idle, queued, granted, shed };
  State state_ = State::idle;  // protected by the pool's lock while queued
  std::uint64_t rank_ = 0;
  TimePoint since_{};
  TicketWaiter* next_to_wake_ = nullptr;
};

/// The waiters to wake after the lock of the pool is released: posting to a loop takes the lock of
/// the loop.
class WakeList {
 public:
  void add(TicketWaiter& waiter);
  /// Wakes each waiter on its worker; without loops on this thread.
  void wake(const Loops& loops);

 private:
  TicketWaiter* first_ = nullptr;
};

/// The order in which a queue is served.
struct LineSettings {
  DisciplineSettings discipline;
  /// Serves the request with the fewest admissions first, in any discipline (AC-007).
  bool fewest_admissions = false;

  bool operator==(const LineSettings&) const = default;
};

/// The queue of requests for tickets of one pool, ordered by arrival or by admissions. Allocates
/// nothing: the nodes are part of the waiters. One thread at a time.
class TicketLine {
 public:
  explicit TicketLine(const LineSettings& settings) { this->settings(settings); }

  /// Changes the rules; waiting requests keep their places.
  void settings(const LineSettings& settings);
  std::size_t size() const { return waiting_.size(); }

  void join(TicketWaiter& waiter);
  /// Removes a waiter that gives up.
  void leave(TicketWaiter& waiter) { remove(waiter, TicketWaiter::State::idle); }
  /// Removes the waiter that gets the free ticket, and before it those that have waited too long.
  /// The queue must not be empty.
  void serve_next(TimePoint now, WakeList& to_wake);
  /// Whether a waiting request may be shed for a new one.
  bool can_make_room() const { return !waiting_.empty() && discipline_.newest_first(); }
  /// Sheds the oldest waiter, if there is one.
  void make_room(WakeList& to_wake) { shed_oldest(to_wake); }

 private:
  TicketWaiter& next(TimePoint now, WakeList& to_wake);
  void shed_oldest(WakeList& to_wake);
  void remove(TicketWaiter& waiter, TicketWaiter::State state);

  bool fewest_admissions_ = false;
  QueueDiscipline discipline_;
  boost::intrusive::multiset<TicketWaiter> waiting_;  ///< equal ranks in order of arrival
};

}  // namespace karmad
