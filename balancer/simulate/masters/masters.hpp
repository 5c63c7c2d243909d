#pragma once

#include <boost/container/small_vector.hpp>
#include <deque>
#include <expected>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/mirrors/attempt.hpp"
#include "agent/mirrors/mirror_set.hpp"
#include "agent/mirrors/ping.hpp"
#include "balancer/admission/admission.hpp"
#include "balancer/selection/mirror_choice.hpp"
#include "balancer/selection/selection.hpp"
#include "balancer/selection/set_mirrors.hpp"
#include "balancer/shard/shard_request.hpp"
#include "balancer/simulate/scenario/scenario.hpp"
#include "balancer/simulate/world/fleet.hpp"
#include "balancer/simulate/world/world.hpp"
#include "balancer/topology/topology.hpp"
#include "balancer/watch/mirror_watch.hpp"
#include "config/settings/settings.hpp"

namespace karmad::simulate {

/// The connections of one master to one mirror (`agent_max_connections`).
struct Connections {
  unsigned in_use = 0;
  std::deque<ObjectName> waiting;  ///< attempts without a connection, oldest first
};

/// A mirror set of a simulated master: the server's objects, and what its driver needs of them.
class Set final : public SetMirrors {
 public:
  Set(const Topology& topology, const Table& table, unsigned first_mirror,
      std::atomic<std::uint32_t>& waiting_selections);

  MirrorSet& mirrors() { return set_; }
  Mirror& mirror(std::size_t i) { return set_[i]; }
  /// Changes with every change of the set's state.
  const SetView* current_view() const { return set_.view(0).get(); }
  unsigned number_in_fleet(std::size_t mirror) const {
    return first_mirror + static_cast<unsigned>(mirror);
  }

  const Table& table;
  Shard& shard;
  const unsigned first_mirror;  ///< its number in the fleet
  const Selection selection;
  const bool tracks_state;  ///< requests tell the state machine of the set about errors
  ShardRules rules;         ///< of every request, without its deadline

  std::vector<ObjectName> waiting_for_news;  ///< versions are those of their waits
  std::vector<ObjectName> waiting_for_slot;
  std::vector<Connections> connections;  ///< of each mirror
};

/// A karmad without sockets: its topology, and what its workers share.
class Master {
 public:
  /// `settings` are correct; `random` is its only source of chance.
  Master(const Settings& settings, const SetLayout& layout, SeededRandom random, TimePoint now);
  Master& operator=(Master&&) = delete;

  const InstanceSettings& settings() const { return topology_->settings; }
  ShardInputs moment(Set& set, TimePoint now) {
    return {.now = now,
            .random = random_,
            .protection = *set.shard.protection,
            .mirrors = set,
            .counters = counters};
  }
  /// The periodic work of the server's worker 0. `watch`: of the mirrors; null: they are not
  /// watched.
  void upkeep(TimePoint now, MirrorWatch* watch);
  /// Whether searches need tickets.
  bool limits_searches() const { return limits_searches_; }

  Counters counters;
  std::vector<std::unique_ptr<Set>> sets;

 private:
  const Loops loops_;  ///< empty: whatever is posted happens at once

 public:
  Admission admission;

 private:
  SeededRandom random_;
  AgentRegistry registry_;
  std::shared_ptr<const Topology> topology_;
  std::atomic<std::uint32_t> waiting_selections_{0};
  bool limits_searches_;
};

/// The pings of all simulated masters: the schedule and the consequences are those of the server.
class Pings {
 public:
  explicit Pings(World& world) : world_(world) {}

  /// Pings the mirrors of a set, if its table is pinged.
  void add(Master& master, Set& set);
  void start();
  /// Returns the set that a result was reported to; null: there was no result.
  Set* handle(const Event& event);

 private:
  class Pinger;
  World& world_;
  std::vector<std::shared_ptr<Pinger>> pingers_;
};

/// The configuration of every simulated master: the scenario's settings, and one table for each set
/// of mirrors. It is a text that the reader of real configurations reads and checks.
std::expected<Settings, Problems> settings_for(const Scenario& scenario, std::string_view strategy);

/// The second driver of ShardRequest: the requests of all simulated masters. Attempts go to the
/// fleet, times are events. Choices, retries, hedges and records are those of the server.
class Masters final : public Balancer {
 public:
  Masters(World& world, const Settings& settings);

  void request_arrives(unsigned master, unsigned set) override;
  void handle(const Event& event) override;
  void mirror_changed(unsigned mirror, bool reset) override;
  std::size_t in_progress() const override { return requests_.in_use(); }

 private:
  static constexpr std::uint32_t kNoAttempt = UINT32_MAX;

  /// Tells the recorder what the first master says of its mirrors.
  class News final : public OperatorNews {
   public:
    explicit News(Masters& masters) : masters_(masters) {}
    void tell(const OperatorEvent& event, TimePoint now, WallTime wall) override;

   private:
    Masters& masters_;
  };

  /// Its place in the queue for tickets.
  class TicketWait final : public TicketWaiter {
   public:
    TicketWait(World& world, ObjectName name)
        : TicketWaiter(0, Priority::normal), world_(world), name_(name) {}

   private:
    void on_wake() override { world_.events.add_at(world_.now, EventKind::ticket_granted, name_); }
    World& world_;
    ObjectName name_;
  };

  struct Request {
    std::uint32_t version = 0;
    std::uint32_t wait = 0;  ///< version of its current wait; never the same again
    TimePoint arrived{};
    Master* master = nullptr;
    Set* set = nullptr;
    ShardRules rules;
    std::optional<ShardRequest> machine;
    boost::container::small_vector<std::uint32_t, 2> attempts;  ///< in progress, by slot
    std::optional<QueuedWait> queued_wait;
    bool is_listed_for_slot = false;
    Ticket ticket;
    std::optional<TicketWait> ticket_wait;
  };

  /// An attempt in progress, known to the mirror set.
  class Attempt final : public AttemptInFlight {
   public:
    Attempt(Masters& masters, std::uint32_t index, const action::Send& send,
            std::uint32_t of_request, AgentSlot with, Micros reply_timeout, TimePoint now)
        : AttemptInFlight(send.pick.mirror, now),
          request(of_request),
          slot(send.slot),
          began(now),
          timeout(reply_timeout),
          agent_slot(std::move(with)),
          masters_(masters),
          index_(index) {}
    void unreachable() override { masters_.mirror_unreachable(index_); }

    const std::uint32_t request;
    const std::size_t slot;
    const TimePoint began;
    const Micros timeout;  ///< of the reply, from the moment it has a connection
    bool has_connection = false;
    std::uint64_t generation = 0;  ///< of its connection
    AgentSlot agent_slot;

   private:
    Masters& masters_;
    const std::uint32_t index_;
  };
  struct PooledAttempt {
    std::uint32_t version = 0;
    std::optional<Attempt> attempt;
  };
  /// How an attempt ended.
  struct Ending {
    Outcome outcome{};
    const MirrorError* error = nullptr;  ///< of an error answer
    std::uint16_t load = MirrorReply::kNoLoad;
    bool sent = true;
    bool out_of_time = false;
    bool lost_race = false;
  };

  // Requests (masters.cpp)
  void start(std::uint32_t index);
  void process(std::uint32_t index, const ShardEvent& event);
  void end_request(std::uint32_t index, bool answered);
  void client_gives_up(std::uint32_t index);
  void request_expires(std::uint32_t index);
  void wait_for_ticket(std::uint32_t index);
  void ticket_granted(std::uint32_t index);
  void ticket_wait_ends(std::uint32_t index);

  // Waits
  void begin_wait(std::uint32_t index, const std::optional<action::Wait>& wait);
  void wait_for_slot(std::uint32_t index, Candidates mirrors);
  void slot_granted(std::uint32_t index);
  void tell_news(Set& set);
  void give_slots(Set& set);
  void upkeep(std::uint32_t number);

  // Attempts (masters_attempts.cpp)
  void send(std::uint32_t index, const action::Send& send);
  void transmit(std::uint32_t number);
  void next_connection(Set& set, std::size_t mirror);
  void reply_arrives(const Event& event);
  void end_attempt(std::uint32_t number, const Ending& ending);
  void write_result(const Attempt& attempt, const Ending& ending);
  void mirror_unreachable(std::uint32_t number);

  World& world_;
  Pings pings_;
  News news_{*this};
  MirrorWatch watch_{news_};  ///< of the first master
  std::vector<std::unique_ptr<Master>> masters_;
  ObjectPool<Request> requests_;
  ObjectPool<PooledAttempt> attempts_;
  Micros client_timeout_;
  Micros request_timeout_;
  AttemptResult result_;  ///< of the attempt that is ending
};

}  // namespace karmad::simulate
