#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "agent/history.hpp"
#include "agent/seats.hpp"
#include "agent/transport/resolve.hpp"
#include "agent/vitals.hpp"

namespace karmad {

/// One remote server, shared by every mirror that lives on it: its address, how it is doing and
/// what it did. Exists as long as anything in the configuration refers to it; its numbers survive
/// a reload. Every member may be used by any thread unless it says otherwise.
class Agent {
 public:
  Agent(Address where, std::size_t number, unsigned workers, Micros period)
      : address(std::move(where)), name(text(address)), id(number), history(workers, period) {
    if (auto literal = literal_endpoints(address)) {
      endpoints(*std::move(literal));
    } else {
      named_ = true;
    }
  }

  const Address address;
  const std::string name;  ///< `host:port` or the path
  const std::size_t id;    ///< seat of its pool in every worker; never used twice

  Vitals vitals;
  Seats seats{vitals};  ///< of the attempts at it
  History history;
  /// How often its kept connections were given up together; those of an older one are not used any
  /// more (SD-020, SD-024).
  std::atomic<std::uint64_t> generation{0};

  /// What the name led to; null until it was looked up.
  std::shared_ptr<const Endpoints> endpoints() const { return endpoints_.load(); }
  void endpoints(Endpoints found) {
    endpoints_.store(std::make_shared<const Endpoints>(std::move(found)));
  }

  /// Whether it is a name, not an address that needs no look-up.
  bool named() const { return named_; }
  /// Whether the next connection has to look the name up although it is known: always with
  /// `on_request`, once after look_up_soon().
  bool look_up_again(LookUp when) {
    return named_ && (when == LookUp::on_request || look_up_soon_.exchange(false));
  }
  void look_up_soon() { look_up_soon_ = true; }

  /// Why its name leads nowhere so far; only where it is looked up in the background. Connections
  /// then fail at once instead of looking it up, too. Takes a lock.
  std::optional<std::string> unresolved() const {
    const std::scoped_lock lock(mutex_);
    return unresolved_;
  }
  void unresolved(std::string why) {
    const std::scoped_lock lock(mutex_);
    unresolved_ = std::move(why);
  }

  /// The last thing that went wrong. Takes a lock; for failures and the status only.
  std::string last_error() const {
    const std::scoped_lock lock(mutex_);
    return last_error_;
  }
  void last_error(std::string message) {
    const std::scoped_lock lock(mutex_);
    last_error_ = std::move(message);
  }

 private:
  std::atomic<std::shared_ptr<const Endpoints>> endpoints_;
  std::atomic<bool> look_up_soon_{false};
  bool named_ = false;
  mutable std::mutex mutex_;
  std::string last_error_;
  std::optional<std::string> unresolved_;
};

}  // namespace karmad
