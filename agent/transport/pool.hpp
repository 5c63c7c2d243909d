#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <expected>
#include <optional>
#include <vector>

#include "agent/transport/destination.hpp"
#include "agent/transport/loop/loop.hpp"
#include "agent/transport/stream.hpp"

namespace karmad {

class Pool;

/// A connection to an agent. While idle its next read is outstanding, so that it notices when the
/// agent closes it or sends unrequested bytes. It is then closed; unrequested bytes count as an
/// error of the agent.
class Connection final : public Stream {
 public:
  /// `of`: the generation of the agent when it was opened.
  Connection(Socket socket, const Endpoint& peer, Pool& pool, std::uint64_t of);
  ~Connection() override;

  /// Notes the size of the last reply: the next read gets room for as much.
  void replied(std::size_t size);
  /// It will not be reused: its place among those that may be is free.
  void keep_no_more();

  const std::uint64_t generation;  ///< of the agent, when it was opened

 private:
  friend class Pool;
  void unexpected() override;
  const Endpoint peer_;
  mutable std::uint64_t version_;  ///< of the addresses that `peer_` was found in
  Pool& pool_;
  Flight flight_;
  std::size_t room_;  ///< buffer size for the next reply
  bool in_use_ = true;
  bool kept_ = false;  ///< may be reused
};
using ConnectionPtr = boost::intrusive_ptr<Connection>;

/// Message of an attempt that ends because pings found its agent unreachable.
inline constexpr const char* kUnreachable = "cannot be reached: a ping got no answer in time";

/// The connections of one worker to one agent, within limits shared by all workers. Idle ones are
/// reused last in, first out. Waiting requests are served in order when a connection is returned or
/// closed, or a connect ends. While no connection is open, a failed connect is the result for all
/// waiting requests. A connect that this process has no local port, descriptor or memory for says
/// nothing about the agent: the request waits for a connection, and tries again every kShortage.
///
/// The first connections of an agent are not reused at once, because late bytes behind an answer
/// could be taken for the next answer. They are watched for kWatched first, until kFirstAnswers
/// answers of the agent had no late bytes; with concurrent requests kQuietAnswers. Meanwhile new
/// connections are opened up to kFewConnections; beyond that, requests wait for the watched ones.
class Pool final : ConnectionLimits::Member {
 public:
  /// The limits live as long as the agent, or as the pool.
  Pool(Loop& loop, std::shared_ptr<Destination> agent, ConnectionLimits& limits, LookUp look_up)
      : Member(limits, loop, agent), loop_(loop), agent_(std::move(agent)), look_up_(look_up) {}

  static constexpr std::uint32_t kFirstAnswers = 2;
  static constexpr std::uint32_t kQuietAnswers = 32;
  static constexpr std::uint32_t kFewConnections = 32;
  static constexpr Micros kWatched{20'000};
  static constexpr Micros kShortage{10'000};

  struct Taken {
    ConnectionPtr connection;
    bool reused = false;
    std::optional<Micros> connect;  ///< duration of connecting
  };
  enum class From { idle, fresh };

  /// A connection with its first read outstanding: an idle one if `from` allows it and there is
  /// one, else a new one within the limits. Ends early when a stop is requested.
  Task<std::expected<Taken, NoConnection>> take(From from, Stop& stop);
  /// The idle connection that take() would return at once; null if there is none.
  ConnectionPtr take_idle() { return waiting_.empty() && ready() ? idle_one() : ConnectionPtr(); }

  /// Returns a connection that is still open, after its reply was read completely and no bytes
  /// followed.
  void give(ConnectionPtr connection);
  /// Counts unrequested bytes from the agent. For a while no connection to it is reused, on any
  /// worker: late bytes could be taken for the next answer.
  void unasked();

  /// Closes the idle connections.
  void clear();

  Destination& agent() { return *agent_; }
  /// Not to be reused: all connections were discarded, or its address is no longer one of the
  /// agent's.
  bool outdated(const Connection& connection) const {
    if (connection.generation != agent_->generation.load(std::memory_order_relaxed)) return true;
    return connection.version_ != agent_->version() && !is_current(connection);
  }
  /// Whether connections are kept after their answers: not to an agent that is no longer used.
  void keeps(bool keeps) { keeps_ = keeps; }
  /// Unused connections, including those being watched.
  std::size_t idle() const { return idle_.size() + watched_.size(); }
  /// Whether take() would return an idle connection at once; closes useless ones.
  bool ready();
  /// No connection is open or being opened, and no request or callback is pending.
  bool unused() const {
    return local_ == 0 && waiting_.empty() && !serves_soon_ && !timing_ && !short_;
  }

 private:
  friend class Connection;
  class Opening;
  class Place;
  /// A failed connect: the result for all requests that queued before it and whose time is over by
  /// `until`.
  struct Refusal {
    NoConnection why;
    TimePoint until;
    std::uint64_t before = 0;
  };
  /// A connection whose answer has ended and that is watched for late bytes.
  struct Watched {
    ConnectionPtr connection;
    TimePoint until;
  };
  ConnectionPtr idle_one();
  bool is_current(const Connection& connection) const;
  bool has_unsolicited_bytes() const;
  /// Established connections that serve a request.
  std::size_t in_use() const { return local_ - connecting_ - idle_.size() - watched_.size(); }
  bool to_be_watched() const;
  /// Whether enough watched connections will become free for that many requests. Sequential
  /// requests need only one connection.
  bool waits_for_watched(std::size_t requests) const {
    return watched_.size() >= requests && (in_use() == 0 || local_ >= kFewConnections);
  }
  void watch(ConnectionPtr connection);
  void end_watches();
  void set_watch_timer();
  bool usable(const Connection& connection) const {
    return connection.unasked() == Stream::Unasked::nothing && !outdated(connection) &&
           !has_unsolicited_bytes();
  }
  void may_open() override { serve(); }
  void make_room() override;
  void close_outdated() override;
  void refused(const NoConnection& why, TimePoint until) override { refuse_waiting(why, until); }
  void next_waiter();
  void serve_soon();
  void serve();
  void refuse_waiting(const NoConnection& why, TimePoint until);
  void apply_refusal();
  void shortage(const std::string& why);
  NoConnection no_turn(StopReason why) const;
  Task<std::expected<Taken, NoConnection>> connect(Stop& stop);

  Loop& loop_;
  std::shared_ptr<Destination> agent_;
  LookUp look_up_;
  std::vector<ConnectionPtr> idle_;
  std::deque<Watched> watched_;  ///< ordered by end
  asio::steady_timer watch_ends_{loop_.io};
  bool keeps_ = true;
  bool timing_ = false;  ///< the timer runs
  asio::steady_timer shortage_ends_{loop_.io};
  bool short_ = false;    ///< that timer runs: no connect is tried
  std::string short_of_;  ///< error text of the last shortage; empty: the last connect had none
  std::deque<Place*> waiting_;  ///< the oldest first
  std::uint64_t places_ = 0;    ///< number of requests queued so far
  std::optional<Refusal> refusal_;
  bool serves_soon_ = false;  ///< serve() is scheduled in the loop
  unsigned connecting_ = 0;   ///< being opened
  unsigned local_ = 0;        ///< open or being opened by this worker
};

/// Whether the agent refuses connections at all its addresses: its process has ended. False until
/// that is known, also when a stop is requested.
Task<bool> refuses_connections(Loop& loop, const Destination& agent, Stop& stop);

}  // namespace karmad
