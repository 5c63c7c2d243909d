#pragma once

#include <boost/intrusive/set.hpp>
#include <cstdint>

#include "agent/transport/loop/loops.hpp"
#include "balancer/core/ticket.hpp"
#include "balancer/rules/admission/queue_discipline.hpp"

namespace karmad {

/// A request that waits for a ticket. Its address must not change until it was woken, or its
/// cancelling succeeded.
class TicketWaiter : public boost::intrusive::set_base_hook<
                         boost::intrusive::link_mode<boost::intrusive::normal_link>> {
 public:
  TicketWaiter(unsigned on_worker, Priority with, std::uint64_t admitted_before = 0)
      : worker(on_worker), priority(with), admissions(admitted_before) {}
  TicketWaiter(const TicketWaiter&) = delete;
  TicketWaiter& operator=(const TicketWaiter&) = delete;

  const unsigned worker;
  const Priority priority;         ///< not exempt
  const std::uint64_t admissions;  ///< so far; a line of low priority is served by the fewest

  friend bool operator<(const TicketWaiter& a, const TicketWaiter& b) { return a.rank_ < b.rank_; }

 protected:
  ~TicketWaiter() = default;
  /// It does not wait any more; called once, on its worker.
  virtual void woken() = 0;

 private:
  friend class TicketLine;
  friend class TicketPool;
  friend class Woken;
  enum class State : std::uint8_t { idle, queued, granted, shed };
  State state_ = State::idle;  // of the pool's lock while it is queued
  std::uint64_t rank_ = 0;
  TimePoint since_{};
  TicketWaiter* next_woken_ = nullptr;
};

/// Those whose waiting is over, until the pool's lock was left: the loops have locks of their own.
class Woken {
 public:
  void add(TicketWaiter& waiter);
  /// Tells each on its worker; without loops in this thread.
  void wake(const Loops& loops);

 private:
  TicketWaiter* first_ = nullptr;
};

/// In which order those who wait are served.
struct LineSettings {
  DisciplineSettings discipline;
  /// Who has been let in least often goes first, whatever the discipline (AC-007).
  bool fewest_admissions = false;

  bool operator==(const LineSettings&) const = default;
};

/// Those who wait for tickets of one pool, as they came, or by how often they were let in. Memory
/// is the waiters' own. One thread at a time uses it.
class TicketLine {
 public:
  explicit TicketLine(const LineSettings& settings) { this->settings(settings); }

  /// Goes on by other rules; who is here keeps its place.
  void settings(const LineSettings& settings);
  std::size_t size() const { return waiting_.size(); }

  void join(TicketWaiter& waiter);
  /// Takes out who gives up.
  void leave(TicketWaiter& waiter) { take_out(waiter, TicketWaiter::State::idle); }
  /// Takes out whom a ticket that is free is for; before it those who have waited in vain. The line
  /// is not empty.
  void serve_next(TimePoint now, Woken& woken);
  /// Whether a waiting request has to make room for a new one.
  bool can_make_room() const { return !waiting_.empty() && discipline_.newest_first(); }
  /// Sheds the oldest, when that can be.
  void make_room(Woken& woken) { shed_oldest(woken); }

 private:
  TicketWaiter& next(TimePoint now, Woken& woken);
  void shed_oldest(Woken& woken);
  void take_out(TicketWaiter& waiter, TicketWaiter::State state);

  bool fewest_admissions_ = false;
  QueueDiscipline discipline_;
  boost::intrusive::multiset<TicketWaiter> waiting_;  ///< those of one rank as they came
};

}  // namespace karmad
