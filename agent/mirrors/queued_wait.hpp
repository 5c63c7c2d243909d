#pragma once

#include <memory>
#include <optional>

#include "agent/mirrors/mirror_set.hpp"

namespace karmad {

/// One query's wait for a slot at any of the mirrors that suit it; it leaves the lines, and what
/// it got and did not take goes to the next, when this goes. Belongs to its worker's thread.
class QueuedWait {
 public:
  QueuedWait(MirrorSet& set, unsigned worker) : set_(set), worker_(worker) {}
  QueuedWait(const QueuedWait&) = delete;
  QueuedWait& operator=(const QueuedWait&) = delete;
  ~QueuedWait() { leave(); }

  /// Waits for these from now on; its turn is kept when they are the same as before.
  void wants(Candidates mirrors);
  /// What MirrorSet::news() is to wake it for.
  SlotWaiter* waiter() const { return waiter_.get(); }

  struct Got {
    std::size_t mirror;
    AgentSlot slot;
  };
  /// The slot it got, once; then it is in no line any more.
  std::optional<Got> take();

 private:
  void leave() { take(); }

  MirrorSet& set_;
  const unsigned worker_;
  Candidates wanted_;
  std::shared_ptr<SlotWaiter> waiter_;
};

}  // namespace karmad
