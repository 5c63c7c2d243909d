#pragma once

#include <functional>
#include <string>

#include "balancer/core/worker.hpp"

namespace karmad {

/// Two connections whose protocol karmad does not know: passes the bytes of each to the other as
/// they arrive. A direction reads the next bytes only when the other side has taken the last ones,
/// so each holds at most kPiece bytes, and none while nothing arrives. One thread.
class Tunnel final : private Deadline {
 public:
  /// Below kUncountedBuffer, so that it need not be reserved.
  static constexpr std::size_t kPiece = (16 << 10) - 1;

  /// `longest_pause`: between two bytes in either direction; asked again once it has passed.
  Tunnel(Worker& worker, Stream& client, Stream& agent, std::function<Micros()> longest_pause)
      : worker_(worker), client_(client), agent_(agent), longest_pause_(std::move(longest_pause)) {}

  /// Returns when both directions have ended, or both connections are closed: after an error, a
  /// pause that is too long, or by the caller. A side that ends its direction may still receive.
  /// `first`: what the client has already sent.
  Task<void> pass(std::string first);

 private:
  struct Direction {
    Stream& from;
    Stream& to;
    Count bytes;
  };

  Task<void> pass_back();
  Task<void> pass_on(Direction direction, std::string first);
  Task<bool> send(const Direction& direction, std::string piece);
  void expired() override;
  void break_off();

  Worker& worker_;
  Stream& client_;
  Stream& agent_;
  std::function<Micros()> longest_pause_;
  TimePoint moved_at_ = Loop::now();  ///< when the last bytes have come
  AsyncEvent came_back_;              ///< the agent's direction has ended
  bool is_back_ = false;
};

}  // namespace karmad
