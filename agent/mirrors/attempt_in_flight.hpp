#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>

namespace karmad {

/// An attempt that is notified when pings find its mirror unreachable. It stays in the list of one
/// worker (MirrorSet::watch) until it is destroyed; adding and removing cost a few stores.
class AttemptInFlight : public boost::intrusive::list_base_hook<
                            boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  explicit AttemptInFlight(std::size_t of) : mirror(of) {}
  AttemptInFlight(const AttemptInFlight&) = delete;
  AttemptInFlight& operator=(const AttemptInFlight&) = delete;

  /// A ping of the mirror timed out. May end and destroy the attempt.
  virtual void unreachable() = 0;

  const std::size_t mirror;  ///< its position in the set

 protected:
  ~AttemptInFlight() = default;
};

using AttemptsInFlight =
    boost::intrusive::list<AttemptInFlight, boost::intrusive::constant_time_size<false>>;

}  // namespace karmad
