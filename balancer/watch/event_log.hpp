#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "agent/transport/destination.hpp"
#include "balancer/core/query.hpp"
#include "balancer/core/worker.hpp"
#include "balancer/trace/plain_text.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {

/// What an operator wants to know afterwards: a mirror or table changed its condition, the
/// configuration was read again, the process started.
struct OperatorEvent {
  enum class Kind : std::uint8_t {
    started,
    reloaded,
    reload_failed,
    stopping,
    mirror,
    table,            ///< its queries fail, or succeed again
    admin,            ///< an admin call changed something
    source_failed,    ///< a name or a source of mirrors gives no good answer
    source_works,     ///< again
    mirrors_changed,  ///< mirrors have come, gone or changed
    certificates,     ///< files of `tls_certificate` were read again, cannot be used, or expire
  };

  LogLevel severity = LogLevel::info;
  Kind kind = Kind::mirror;
  // Only for events of a mirror; `table`, the states and the reason also for those of a table.
  std::string_view table;
  std::size_t shard = 0;   ///< from 1
  std::size_t mirror = 0;  ///< from 1, in its shard
  std::string_view address;
  std::string_view state;
  std::string_view former_state;
  std::string reason;      ///< of `state`; empty if it is ready
  std::string last_error;  ///< of the agent, also if it is well again; empty: it has had none
  WallTime last_error_at{};

  std::string message;  ///< a sentence for people; at most 512 bytes of it are kept
};
inline constexpr auto kEventKindNames = enumerators<OperatorEvent::Kind>();

/// The members of the event's object in JSON, without `id`, `time`, `severity` and `message`. Each
/// begins with a comma.
std::string members_of(const OperatorEvent& event);

/// The last events as JSON. Any thread; takes a lock, so it is not for the path of a query.
class EventLog {
 public:
  static constexpr std::size_t kKept = 1000;

  struct Entry {
    std::uint64_t id = 0;  ///< 1, 2, …
    std::string json;      ///< one object
  };

  void add(const OperatorEvent& event, WallTime at);
  /// Logs its message, too.
  void add_and_log(const OperatorEvent& event, WallTime at);
  /// The kept events with ids above `id`, oldest first, at most `most`.
  std::vector<Entry> since(std::uint64_t id, std::size_t most = kKept) const;
  /// The id of the newest event; 0 if there is none.
  std::uint64_t newest() const;

 private:
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::uint64_t newest_ = 0;
};

/// Events as a stream of server-sent events (HTML Living Standard, section 9.2): those after an id,
/// then each new one within a quarter of a second. Ends when karmad stops.
class EventStream final : public BodySource {
 public:
  static constexpr Micros kLook = std::chrono::milliseconds(250);
  /// A comment is sent after this time without events, so that proxies keep the connection.
  static constexpr Micros kKeepAlive = std::chrono::seconds(15);
  /// A piece ends with the event that reaches this size: a client gets a second for each piece.
  static constexpr std::size_t kPiece = 8 << 10;
  static constexpr std::size_t kMostInPiece = 50;

  EventStream(Worker& worker, const EventLog& log, std::uint64_t after);

  Task<bool> next(std::string& piece, Stop& stop) override;
  std::string closing_part(std::string_view why) override;

 private:
  bool take_events(std::string& piece);

  Worker& worker_;
  const EventLog& log_;
  std::uint64_t last_;
  Flight counted_;  ///< in Monitoring::event_streams
};

/// One event in the format of the stream.
void append_sent_event(std::string& out, const EventLog::Entry& event);

}  // namespace karmad
