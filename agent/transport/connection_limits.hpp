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

/// Why there is no connection.
struct NoConnection {
  Outcome outcome = Outcome::connect_failed;
  std::string why;
  bool name_refused = false;  ///< the name leads nowhere
};

/// The most connections to one agent, of all workers together (SD-025, X-17).
struct ConnectionBounds {
  unsigned connections = 0;  ///< `agent_max_connections`; 0: any number
  unsigned connecting = 0;   ///< of them, being established at a time; 0: any number
  unsigned kept = 100;       ///< `persistent_connections_limit`; 0: none is used twice
  bool operator==(const ConnectionBounds&) const = default;
};

/// The connections of all workers to one agent, counted together. Half of each bound is divided
/// evenly among the workers: that part is theirs at any time, so that none starves. The rest goes
/// to who asks first, and where nothing is left the workers wait in one line, each once, first
/// come, first served. Takes a lock, for as long as it takes to go through the workers; asked when
/// a connection is opened, first kept, or closed. Any thread.
class ConnectionLimits {
 public:
  explicit ConnectionLimits(unsigned workers, ConnectionBounds bounds = {});
  ConnectionLimits(const ConnectionLimits&) = delete;
  ConnectionLimits& operator=(const ConnectionLimits&) = delete;

  /// Other bounds; what is open stays open.
  void change(ConnectionBounds bounds);

  /// One worker's share in it. Everything is called by that worker, and calls it back there.
  class Member {
   public:
    /// Keeps `owner`, whose the limits are, until it has left them.
    Member(ConnectionLimits& of, Loop& loop, std::shared_ptr<const void> owner);
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   protected:
    ~Member();

    /// Takes the right to establish one more connection. False: no bound leaves one, and the worker
    /// stands in the line until it gets one or leaves. Idle connections of other workers are asked
    /// for.
    bool try_open();
    /// It waits no more.
    void leave();
    void established();  ///< what was being established is a connection
    void not_opened();   ///< it became none
    void closed();       ///< a connection is no more
    /// The right to use a connection again, for as long as it is open.
    bool try_keep();
    void kept_no_more();
    /// Whether a connection that could be used again must make room for another worker's:
    /// at once where it would lie idle, else when that one has waited for 10 ms.
    bool yields(bool idle) const;
    /// What refused this worker's connect would refuse those of all who wait.
    void tell_others(const NoConnection& why, TimePoint until);

    virtual void may_open() = 0;   ///< it is the worker's turn
    virtual void make_room() = 0;  ///< an idle connection is to be closed
    /// A connect of another worker failed: the answer to all who wait and whose time is over by
    /// `until`.
    virtual void refused(const NoConnection& why, TimePoint until) = 0;

   private:
    friend class ConnectionLimits;
    template <class Job>
    void post(Job job);

    const std::shared_ptr<const void> owner_;
    ConnectionLimits& of_;
    Loop& loop_;
    const std::shared_ptr<Member*> self_;
    bool in_line_ = false;  ///< as this worker knows it
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

  std::atomic<bool> short_of_connections_{false};  ///< a pool waits for others to close theirs
  mutable std::mutex mutex_;
  ConnectionBounds bounds_;
  std::vector<Share> shares_;  ///< of the workers, by index
  std::vector<Member*> members_;
  std::deque<Place> line_;
};

}  // namespace karmad
