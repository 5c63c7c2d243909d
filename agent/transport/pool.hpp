#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <expected>
#include <optional>
#include <vector>

#include "agent/stats/outcome.hpp"
#include "agent/transport/destination.hpp"
#include "agent/transport/stream.hpp"

namespace karmad {

class Pool;

/// A connection to an agent. While it is idle its next read is outstanding, so that it notices when
/// the agent closes it, or sends unrequested bytes: then it is closed, which is an error of the
/// agent.
class Connection final : public Stream {
 public:
  Connection(Socket socket, Pool& pool);
  ~Connection() override;

  /// How large the last reply was: the next one, likely as large, is read at once.
  void replied(std::size_t size);

  const std::uint64_t generation;  ///< the agent's, when it was opened

 private:
  friend class Pool;
  void unexpected() override;
  Pool& pool_;
  Flight flight_;
  std::size_t room_;  ///< for the next reply
  bool in_use_ = true;
  bool kept_ = false;  ///< may be used again
};
using ConnectionPtr = boost::intrusive_ptr<Connection>;

/// What is said of an attempt that ends because pings found that its agent cannot be reached.
inline constexpr const char* kUnreachable = "cannot be reached: a ping got no answer in time";

/// The connections of one worker to one agent, within limits that all workers share. Idle ones are
/// used last in, first out. Who has to wait for one is served first come, first served, as soon as
/// one is given back or closed, or a connect has ended. While none is open a connect that fails is
/// the answer to all requests that wait: what refused one refuses them all.
///
/// The first connections of an agent are not handed on at once: what comes late behind an answer
/// would be taken for the next one. They are watched for kWatched first, until nothing came behind
/// kFirstAnswers of the agent; while several requests are under way behind kQuietAnswers. Meanwhile
/// new ones are opened, up to kFewConnections; else requests wait for those that are watched.
class Pool final : ConnectionLimits::Member {
 public:
  /// The limits live as long as the agent, or as the pool.
  Pool(Loop& loop, std::shared_ptr<Destination> agent, ConnectionLimits& limits, LookUp look_up)
      : Member(limits, loop, agent), loop_(loop), agent_(std::move(agent)), look_up_(look_up) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  static constexpr std::uint32_t kFirstAnswers = 2;
  static constexpr std::uint32_t kQuietAnswers = 32;
  static constexpr std::uint32_t kFewConnections = 32;
  static constexpr Micros kWatched{20'000};

  struct Taken {
    ConnectionPtr connection;
    bool reused = false;
    std::optional<Micros> connect;  ///< how long connecting took
  };
  enum class From { idle, fresh };

  /// A connection with its first read outstanding: an idle one if there is and it may be, else a
  /// new one, once the limits allow it. Ends early when a stop is requested.
  Task<std::expected<Taken, NoConnection>> take(From from, Stop& stop);
  /// The idle connection that take() would give at once; null: there is none.
  ConnectionPtr take_idle() { return waiting_.empty() && ready() ? idle_one() : ConnectionPtr(); }

  /// Takes a connection back whose reply was read to the end, which stays open, and behind whose
  /// reply nothing stood.
  void give(ConnectionPtr connection);
  /// The agent sent unrequested bytes. It is counted, and for a while none of its connections,
  /// of any worker, is used twice: what comes late would be taken for the next answer.
  void unasked();

  /// Closes what is idle.
  void clear();

  Destination& agent() { return *agent_; }
  bool outdated(const Connection& connection) const {
    return connection.generation != agent_->generation.load(std::memory_order_relaxed);
  }
  /// Not in use, those included that are watched.
  std::size_t idle() const { return idle_.size() + watched_.size(); }
  /// Whether take() has an idle connection to give at once, if no request waits; drops those of
  /// no use.
  bool ready();
  /// Nothing is open, being opened, waited for, or still to be told that it was closed.
  bool unused() const { return local_ == 0 && waiting_.empty() && !serves_soon_ && !timing_; }

 private:
  friend class Connection;
  class Opening;
  class Place;
  /// A connect failed: the answer to those who took a place before that one, and whose time is over
  /// by then.
  struct Refusal {
    NoConnection why;
    TimePoint until;
    std::uint64_t before = 0;
  };
  /// Its answer has ended, and what comes behind it is waited for.
  struct Watched {
    ConnectionPtr connection;
    TimePoint until;
  };
  ConnectionPtr idle_one();
  bool distrusted() const;
  /// Of the established connections those that serve a request.
  std::size_t in_use() const { return local_ - connecting_ - idle_.size() - watched_.size(); }
  bool to_be_watched() const;
  /// Whether so many requests have connections to come that are watched. While one request comes
  /// after the other, one connection is enough for them.
  bool waits_for_watched(std::size_t requests) const {
    return watched_.size() >= requests && (in_use() == 0 || local_ >= kFewConnections);
  }
  void watch(ConnectionPtr connection);
  void end_watches();
  void set_watch_timer();
  bool usable(const Connection& connection) const {
    return connection.unasked() == Stream::Unasked::nothing && !outdated(connection) &&
           !distrusted();
  }
  void may_open() override { serve(); }
  void make_room() override;
  void refused(const NoConnection& why, TimePoint until) override { tell_all(why, until); }
  void next_waiter();
  void serve_soon();
  void serve();
  void tell_all(const NoConnection& why, TimePoint until);
  void tell();
  Task<std::expected<Taken, NoConnection>> connect(Stop& stop);

  Loop& loop_;
  std::shared_ptr<Destination> agent_;
  LookUp look_up_;
  std::vector<ConnectionPtr> idle_;
  std::deque<Watched> watched_;  ///< the first to end first
  asio::steady_timer watch_ends_{loop_.io};
  bool timing_ = false;         ///< that timer runs
  std::deque<Place*> waiting_;  ///< the oldest first
  std::uint64_t places_ = 0;    ///< taken in the queue, ever
  std::optional<Refusal> refusal_;
  bool serves_soon_ = false;  ///< serve() is among what the loop will do
  unsigned connecting_ = 0;   ///< being opened
  unsigned local_ = 0;        ///< open or being opened by this worker
};

}  // namespace karmad
