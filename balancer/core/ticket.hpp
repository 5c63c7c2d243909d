#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "strategies/time.hpp"

namespace karmad {

/// The priority of work in a pool (AC-005, AC-007). normal and low wait for a ticket; low has a
/// small pool of its own if configured; exempt needs no ticket.
enum class Priority : std::uint8_t { normal, low, exempt };
inline constexpr std::size_t kPriorities = 3;
std::string_view name(Priority priority);

class TicketPool;

/// A ticket, held for the life of this object; the destructor returns it to its pool under its
/// priority (AC-003). Created and destroyed on one worker.
class Ticket {
 public:
  Ticket() = default;
  Ticket(Ticket&& other) noexcept { *this = std::move(other); }
  Ticket& operator=(Ticket&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    *this = std::as_const(other);
    other.pool_ = nullptr;
    return *this;
  }
  ~Ticket() { give_back(); }

  explicit operator bool() const { return pool_ != nullptr; }
  /// Returns the ticket now; reads the clock only if the pool counts.
  void give_back() {
    if (pool_ != nullptr) give_back_now();
  }
  void give_back(TimePoint now);

 private:
  void give_back_now();

  friend class TicketPool;

  Ticket(const Ticket&) = default;
  Ticket& operator=(const Ticket&) = default;
  Ticket(TicketPool& pool, TimePoint taken, unsigned worker, Priority priority, bool counted)
      : pool_(&pool), taken_(taken), worker_(worker), priority_(priority), counted_(counted) {}

  TicketPool* pool_ = nullptr;
  TimePoint taken_{};
  unsigned worker_ = 0;
  Priority priority_ = Priority::normal;
  bool counted_ = false;
};

}  // namespace karmad
