#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>

#include "strategies/time.hpp"

namespace karmad {

class AttemptInFlight;

/// The attempts in flight of one worker at one mirror, oldest first. Only that worker changes it.
class AttemptsInFlight {
 public:
  /// Counts the attempts of all workers at this mirror; once, before the first one is added.
  void count_in(std::atomic<std::uint32_t>& all) { all_ = &all; }
  void add(AttemptInFlight& attempt);
  /// When the oldest attempt began, in µs of the process's clock; 0: there is none. Any thread.
  std::int64_t oldest() const { return oldest_.load(std::memory_order_relaxed); }
  /// Calls unreachable() of each attempt; any of them may end, end others, and add new ones, which
  /// are not called.
  void interrupt();

 private:
  friend class AttemptInFlight;
  using Hook =
      boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  using List = boost::intrusive::list<AttemptInFlight, boost::intrusive::base_hook<Hook>,
                                      boost::intrusive::constant_time_size<false>>;
  void note_oldest();
  void removed();

  std::atomic<std::uint32_t>* all_ = nullptr;
  List list_;
  std::atomic<std::int64_t> oldest_{0};
};

/// An attempt that is in flight at a mirror, and is notified when pings find the mirror
/// unreachable. It stays in the list of one worker (MirrorSet::watch) until it is destroyed; adding
/// and removing cost a few stores.
class AttemptInFlight : public AttemptsInFlight::Hook {
 public:
  AttemptInFlight(std::size_t of, TimePoint began) : mirror(of), began_(began) {}
  AttemptInFlight& operator=(AttemptInFlight&&) = delete;

  /// A ping of the mirror timed out. May end and destroy the attempt.
  virtual void unreachable() = 0;

  const std::size_t mirror;  ///< its position in the set

 protected:
  ~AttemptInFlight() {
    unlink();
    if (in_ != nullptr) in_->removed();
  }

 private:
  friend class AttemptsInFlight;
  const TimePoint began_;
  AttemptsInFlight* in_ = nullptr;
};

inline void AttemptsInFlight::add(AttemptInFlight& attempt) {
  list_.push_back(attempt);
  attempt.in_ = this;
  if (all_ != nullptr) all_->fetch_add(1, std::memory_order_relaxed);
  note_oldest();
}

inline void AttemptsInFlight::removed() {
  if (all_ != nullptr) all_->fetch_sub(1, std::memory_order_relaxed);
  note_oldest();
}

inline void AttemptsInFlight::note_oldest() {
  oldest_.store(list_.empty() ? 0 : list_.front().began_.time_since_epoch().count(),
                std::memory_order_relaxed);
}

inline void AttemptsInFlight::interrupt() {
  List left;
  left.splice(left.end(), list_);
  while (!left.empty()) {
    auto& attempt = left.front();
    left.pop_front();
    list_.push_back(attempt);
    attempt.unreachable();
  }
  note_oldest();
}

}  // namespace karmad
