#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <coroutine>
#include <deque>
#include <string>
#include <vector>

#include "agent/transport/loop/outgoing.hpp"
#include "agent/transport/loop/ticks.hpp"

namespace karmad {

/// What a turn of the loop sends and looks after: a stream, as far as it knows one.
class TurnPeer {
 public:
  /// Sends what can be sent without waiting and takes it off `out`.
  virtual boost::system::error_code write_now(Outgoing& out) = 0;

 protected:
  ~TurnPeer() = default;

 private:
  friend class LoopTurn;
  virtual bool reads() const = 0;
  /// Looks whether it has ended unnoticed.
  virtual void look() = 0;
  std::size_t watched_ = std::size_t(-1);  ///< its place among those to be looked at
  /// The last read that may have hidden an end is younger than a tick.
  bool fresh_ = false;
};

/// What a worker puts off. To the end of a turn of its loop (everything one wait found ready),
/// while many exchanges are under way: messages, which then leave one right after the other, so
/// that a process that waits for several of them is woken once. To the next turn: the rest of long
/// bodies, so that no turn is long (docs/decisions/013-long-work.md). To a later tick of the clock:
/// to look whether streams have ended unnoticed. docs/decisions/010-budget-of-a-request.md has the
/// figures.
class LoopTurn {
 public:
  LoopTurn(boost::asio::io_context& io, Ticks& ticks) : io_(io), ticks_(ticks) {}
  LoopTurn(const LoopTurn&) = delete;
  LoopTurn& operator=(const LoopTurn&) = delete;
  ~LoopTurn();

  /// One exchange with an agent, as long as it lasts.
  class InFlightGuard {
   public:
    explicit InFlightGuard(LoopTurn& turn) : turn_(turn) { ++turn_.under_way_; }
    InFlightGuard(const InFlightGuard&) = delete;
    InFlightGuard& operator=(const InFlightGuard&) = delete;
    ~InFlightGuard() { --turn_.under_way_; }

   private:
    LoopTurn& turn_;
  };

  /// Whether enough is under way for waiting to pay. Else everything is done at once.
  bool busy() const { return under_way_ >= kMany; }

  /// A message and who waits until it has left; both live until then.
  struct Message {
    TurnPeer& stream;
    Outgoing& out;  ///< what is left of it; its head is good until the sender waits again
    boost::system::error_code error;
    std::coroutine_handle<> sender;
    std::size_t head_at = 0;
  };
  /// Sends at the end of this turn; what `message.out.head` refers to is copied.
  void send(Message& message);

  /// Counts bytes of bodies that were moved without a wait: read, sent, copied.
  void spend(std::size_t bytes) { spent_ += bytes; }
  /// Whether so many have been moved that the other work of the loop is due: a coroutine that moves
  /// more calls next() first. The bound holds for all coroutines of the loop together.
  bool over() const { return spent_ >= kMostBytes; }
  /// `co_await turn.next()`: goes on in a later turn, after everything that is ready now. Those who
  /// wait go on in their order, as many in one turn as its bytes allow.
  auto next() {
    struct Awaiter {
      LoopTurn& turn;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> caller) { turn.put_off(caller); }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this};
  }
  /// Bytes of bodies that one turn moves, and one call moves at most: about half a millisecond.
  static constexpr std::size_t kMostBytes = 512 << 10;

  /// `stream` is looked at in one to two ticks after the last call, once it reads.
  void watch(TurnPeer& stream);
  /// It is not, after all.
  void forget(TurnPeer& stream) noexcept;

 private:
  static constexpr unsigned kMany = 8;
  static constexpr std::size_t kNowhere = std::size_t(-1);

  /// Looks at those whose last bytes came a while ago.
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
  bool ends_ = false;       ///< its end is among what the loop will do
  std::size_t spent_ = 0;   ///< bytes, since those that were put off last went on
  bool continues_ = false;  ///< going on with those put off is among what the loop will do
  std::deque<std::coroutine_handle<>> put_off_;
  std::string heads_;
  std::vector<Message*> messages_;
  std::vector<TurnPeer*> watched_;
  Watch watch_{*this};
  // Those of the turn that ends:
  std::string leaving_heads_;
  std::vector<Message*> leaving_;
};

}  // namespace karmad
