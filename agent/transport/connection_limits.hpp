#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/stats/outcome.hpp"
#include "strategies/time.hpp"

namespace karmad {

class Loop;

/// The reason why no connection was opened.
struct NoConnection {
  Outcome outcome = Outcome::connect_failed;
  std::string why;
  bool name_refused = false;  ///< the name does not resolve
};

/// Limits of connections to one agent, for all workers together (SD-025, X-17).
struct ConnectionBounds {
  unsigned connections = 0;  ///< `agent_max_connections`; 0: unlimited
  unsigned connecting = 0;   ///< connects in progress at the same time; 0: unlimited
  unsigned kept = 100;       ///< `persistent_connections_limit`; 0: no connection is reused
  bool operator==(const ConnectionBounds&) const = default;
};

/// Counts the connections of all workers to one agent. Half of each bound is divided evenly among
/// the workers and is always theirs, so that no worker starves. The rest goes to the first to ask.
/// If nothing is left, workers wait in one queue, in order, each at most once. Takes a lock for a
/// walk over the workers, when a connection is opened, first kept, or closed. Any thread.
class ConnectionLimits {
 public:
  explicit ConnectionLimits(unsigned workers, ConnectionBounds bounds = {});
  ConnectionLimits(const ConnectionLimits&) = delete;
  ConnectionLimits& operator=(const ConnectionLimits&) = delete;

  /// Changes the bounds; open connections stay open.
  void change(ConnectionBounds bounds);
  /// Has every worker close its unused connections that are outdated (Pool::outdated()).
  void close_outdated();

  /// One worker's part. Only that worker calls it, and it is called back on that worker.
  class Member {
   public:
    /// Keeps `owner`, which owns the limits, alive until this has left them.
    Member(ConnectionLimits& of, Loop& loop, std::shared_ptr<const void> owner);
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   protected:
    ~Member();

    /// Takes the right to open one more connection. False: the bounds allow none, and the worker is
    /// in the queue until its turn or leave(). Other workers are asked to close idle connections.
    bool try_open();
    /// Leaves the queue.
    void leave();
    void established();  ///< a connect succeeded
    void not_opened();   ///< a connect failed or was cancelled
    void closed();       ///< an established connection was closed
    /// Takes the right to keep a connection for reuse, as long as it is open.
    bool try_keep();
    void kept_no_more();
    /// Whether a reusable connection must be closed for another worker's: at once if it would be
    /// idle, otherwise when that worker has waited for 10 ms.
    bool yields(bool idle) const;
    /// Passes a refused connect to all waiting workers: theirs would be refused as well.
    void refuse_other_workers(const NoConnection& why, TimePoint until);

    virtual void may_open() = 0;   ///< the worker's turn has come
    virtual void make_room() = 0;  ///< an idle connection has to be closed
    virtual void close_outdated() = 0;
    /// A connect of another worker failed: the result for all waiting requests whose time is over
    /// by `until`.
    virtual void refused(const NoConnection& why, TimePoint until) = 0;

   private:
    friend class ConnectionLimits;
    template <class Job>
    void post(Job job);

    const std::shared_ptr<const void> owner_;
    ConnectionLimits& of_;
    Loop& loop_;
    const std::shared_ptr<Member*> self_;
    bool queued_ = false;  ///< this worker's view
  };

 private:
  struct Share {
    unsigned connections = 0;
    unsigned connecting = 0;
    unsigned kept = 0;
  };
  struct Place {
    Member* who;
    TimePoint since;
  };
  unsigned part_of(unsigned bound) const;
  bool has_room(unsigned Share::*what, unsigned bound, const Member& who, bool shared) const;
  bool lacks_connection(const Member& who) const;
  bool may_open(const Member& who) const;
  void take_off(const Member& who);
  void call_first();
  void ask_for_room(const Member& who);

  std::atomic<bool> short_of_connections_{false};  ///< a pool waits until others close theirs
  mutable std::mutex mutex_;
  ConnectionBounds bounds_;
  std::vector<Share> shares_;  ///< of the workers, by index
  std::vector<Member*> members_;
  std::deque<Place> line_;
};

}  // namespace karmad
