#pragma once

#include <memory>
#include <optional>

#include "agent/mirrors/mirror_set.hpp"

namespace karmad {

/// One query's wait for a seat at any of the mirrors that suit it; it leaves the lines, and what
/// it got and did not take goes to the next, when this goes. Belongs to its worker's thread.
class InLine {
 public:
  InLine(MirrorSet& set, unsigned worker) : set_(set), worker_(worker) {}
  InLine(const InLine&) = delete;
  InLine& operator=(const InLine&) = delete;
  ~InLine() { leave(); }

  /// Waits for these from now on; its turn is kept when they are the same as before.
  void wants(Candidates mirrors);
  /// What MirrorSet::news() is to wake it for.
  Claim* claim() const { return claim_.get(); }

  struct Got {
    std::size_t mirror;
    Seat seat;
  };
  /// The seat it got, once; then it is in no line any more.
  std::optional<Got> take();

 private:
  void leave() { take(); }

  MirrorSet& set_;
  const unsigned worker_;
  Candidates wanted_;
  std::shared_ptr<Claim> claim_;
};

}  // namespace karmad
