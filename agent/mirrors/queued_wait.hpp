#pragma once

#include <memory>
#include <optional>

#include "agent/mirrors/mirror_set.hpp"

namespace karmad {

/// One query's wait for a slot at any of its suitable mirrors. The destructor leaves the queues; a
/// slot that was granted but not taken goes to the next waiter. One worker's thread only.
class QueuedWait {
 public:
  QueuedWait(MirrorSet& set, unsigned worker) : set_(set), worker_(worker) {}
  QueuedWait& operator=(QueuedWait&&) = delete;
  ~QueuedWait() { leave(); }

  /// Sets the mirrors to wait for; the place in the queues is kept if they are unchanged.
  void wants(Candidates mirrors);
  /// The waiter that MirrorSet::news() must wake.
  SlotWaiter* waiter() const { return waiter_.get(); }

  struct Got {
    std::size_t mirror;
    AgentSlot slot;
  };
  /// The granted slot, once; the wait then has left all queues.
  std::optional<Got> take();

 private:
  void leave() { take(); }

  MirrorSet& set_;
  const unsigned worker_;
  Candidates wanted_;
  std::shared_ptr<SlotWaiter> waiter_;
};

}  // namespace karmad
