#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>
#include <coroutine>
#include <string>
#include <vector>

#include "agent/transport/deadlines.hpp"
#include "agent/transport/outgoing.hpp"

namespace karmad {

class Loop;
class Stream;

/// What a worker puts off to the end of a turn of its loop (everything one wait found ready) while
/// many exchanges are under way. Messages leave one right after the other, so that a process that
/// waits for several of them is woken once. Reads are begun when their bytes have likely come, not
/// tried in vain. docs/decisions/010-budget-of-a-request.md has the figures.
class Turn {
 public:
  explicit Turn(Loop& loop);
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn();

  /// One exchange with an agent, as long as it lasts.
  class UnderWay {
   public:
    explicit UnderWay(Turn& turn) : turn_(turn) { ++turn_.under_way_; }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    ~UnderWay() { --turn_.under_way_; }

   private:
    Turn& turn_;
  };

  /// Whether enough is under way for waiting to pay. Else everything is done at once.
  bool busy() const { return under_way_ >= kMany; }

  /// A message and who waits until it has left; both live until then.
  struct Message {
    Stream& stream;
    Outgoing& out;  ///< what is left of it; its head is good until the sender waits again
    boost::system::error_code error;
    std::coroutine_handle<> sender;
    std::size_t head_at = 0;
  };
  /// Sends at the end of this turn; what `message.out.head` refers to is copied.
  void send(Message& message);

  /// The read of `stream` is begun at the end of the next turn.
  void read(Stream& stream);
  /// It is begun with the next tick of the clock, if not before: nobody waits for it yet.
  void watch(Stream& stream);

 private:
  static constexpr unsigned kMany = 8;

  using Streams = std::vector<boost::intrusive_ptr<Stream>>;

  /// Begins the reads that nobody has come to wait for.
  class Watch final : public Deadline {
   public:
    explicit Watch(Turn& turn) : turn_(turn) {}

   private:
    void expired() override;
    Turn& turn_;
  };

  void ends_later();
  void end();
  static void begin_reads(Streams& streams);

  Loop& loop_;
  unsigned under_way_ = 0;
  bool ends_ = false;  ///< its end is among what the loop will do
  std::string heads_;
  std::vector<Message*> messages_;
  Streams reads_;
  Streams watched_;
  Watch watch_{*this};
  // Those of the turn that ends:
  std::string leaving_heads_;
  std::vector<Message*> leaving_;
  Streams beginning_;
};

}  // namespace karmad
