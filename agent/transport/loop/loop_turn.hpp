#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "agent/transport/loop/ticks.hpp"

namespace karmad {

/// A body up to this size is copied behind its head: one piece is cheaper to send than two.
inline constexpr std::size_t kJoinedBody = 4 << 10;

/// Bytes to send, in at most two pieces (a head and a body).
struct Outgoing {
  std::string_view head;
  std::string_view body;

  bool empty() const { return head.empty() && body.empty(); }
  /// Removes the bytes that were sent.
  void consume(std::size_t sent);
};

/// A stream as LoopTurn sees it: it is sent to, and looked at.
class TurnPeer {
 public:
  /// Sends as much as possible without waiting and removes it from `out`.
  virtual boost::system::error_code write_now(Outgoing& out) = 0;

 protected:
  ~TurnPeer() = default;

 private:
  friend class LoopTurn;
  virtual bool reads() const = 0;
  /// Checks whether the stream has ended without an event.
  virtual void poll() = 0;
  std::size_t watched_ = std::size_t(-1);  ///< its index in the list of watched streams
  /// The last read that may have hidden an end came after the last look.
  bool fresh_ = false;
};

/// Work that a worker postpones. To the end of a turn of its loop (all that one wait found ready),
/// while many exchanges are in progress: messages, sent right after each other, so that a process
/// that waits for several of them wakes once. To the next turn: the rest of long bodies, so that
/// turns stay short (docs/decisions/013-long-work.md). To a later tick: checking streams for hidden
/// ends. Figures: docs/decisions/010-budget-of-a-request.md.
class LoopTurn {
 public:
  LoopTurn(boost::asio::io_context& io, Ticks& ticks) : io_(io), ticks_(ticks) {}
  ~LoopTurn();

  /// Counts one exchange with an agent while it lives.
  class InFlightGuard {
   public:
    explicit InFlightGuard(LoopTurn& turn) : turn_(turn) { ++turn_.under_way_; }
    InFlightGuard& operator=(InFlightGuard&&) = delete;
    ~InFlightGuard() { --turn_.under_way_; }

   private:
    LoopTurn& turn_;
  };

  /// Whether enough exchanges are in progress for postponing to pay. If not, sends are immediate.
  bool busy() const { return under_way_ >= kMany; }

  /// A message and the coroutine that waits until it is sent; both live until then.
  struct Message {
    TurnPeer& stream;
    Outgoing& out;  ///< the unsent part; the head's bytes are valid until the sender waits again
    boost::system::error_code error;
    std::coroutine_handle<> sender;
    std::size_t head_at = 0;
  };
  /// Sends at the end of this turn; copies what `message.out.head` refers to.
  void send(Message& message);

  /// Counts bytes of bodies moved without a wait: read, sent, copied.
  void spend(std::size_t bytes) { spent_ += bytes; }
  /// Whether this turn has moved its share of bytes: a coroutine must then call next() before it
  /// moves more. The limit holds for all coroutines of the loop together.
  bool over() const { return spent_ >= kMostBytes; }
  /// `co_await turn.next()`: continues in a later turn, after all work that is ready now. Waiting
  /// coroutines continue in order, as many per turn as its bytes allow.
  auto next() {
    struct Awaiter : std::suspend_always {
      LoopTurn& turn;
      void await_suspend(std::coroutine_handle<> caller) { turn.put_off(caller); }
    };
    return Awaiter{{}, *this};
  }
  /// Most bytes of bodies moved in one turn, and in one call: about half a millisecond.
  static constexpr std::size_t kMostBytes = 512 << 10;

  /// Looks at `stream` 20 to 50 ms after the last call, if it is reading then.
  void watch(TurnPeer& stream);
  /// Cancels watch().
  void forget(TurnPeer& stream) noexcept;

 private:
  static constexpr unsigned kMany = 8;
  static constexpr std::size_t kNowhere = std::size_t(-1);

  /// Looks at the streams whose last bytes came a while ago.
  class Watch final : public Deadline {
   public:
    explicit Watch(LoopTurn& turn) : turn_(turn) {}

   private:
    void expired() override;
    LoopTurn& turn_;
  };

  void ends_later();
  void end();
  void put_off(std::coroutine_handle<> caller);
  void continue_put_off();

  boost::asio::io_context& io_;
  Ticks& ticks_;
  unsigned under_way_ = 0;
  bool ends_ = false;       ///< the end of the turn is scheduled in the loop
  std::size_t spent_ = 0;   ///< bytes since the last postponed coroutines continued
  bool continues_ = false;  ///< continuing them is scheduled in the loop
  std::deque<std::coroutine_handle<>> put_off_;
  std::string heads_;
  std::vector<Message*> messages_;
  std::vector<TurnPeer*> watched_;
  Watch watch_{*this};
  // For the turn that ends:
  std::string leaving_heads_;
  std::vector<Message*> leaving_;
};

}  // namespace karmad
