#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "agent/transport/tls.hpp"
#include "config/settings/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// A mirror that `karmad --check --probe` asks.
struct ProbeTarget {
  std::string table;  ///< of karmad
  std::string part;   ///< `shard 1` or `blackhole 1`
  Address address;
  std::vector<std::string> tables;  ///< what it calls the table
  bool is_routed = false;           ///< its requests are passed on unread
  std::string path;                 ///< where the agent gets requests to the route
  const PingKind* ping = nullptr;   ///< null: it is not pinged
  std::string ping_path;
  std::string authorization{};          ///< value of that field; empty: none
  std::optional<TlsClientRules> tls{};  ///< nothing: it gets plain HTTP

  std::string name() const { return text(address); }
  bool operator==(const ProbeTarget&) const = default;
};

/// All mirrors and blackholes, in the order of the file; the same one in a part only once.
std::vector<ProbeTarget> probe_targets(const Settings& settings, Dialects dialects);

/// The program at an address, as far as `GET /` tells.
enum class Engine : std::uint8_t { unknown, karmad, elasticsearch, opensearch };

struct ProbeRequest {
  enum class About : std::uint8_t { banner, ping, version, tables, schema, path, readiness };
  About about = About::banner;
  PingRequest request;
  std::string table{};  ///< of `schema` and `readiness`
};

/// The first request to any target.
ProbeRequest banner_request();
/// The others, once the engine is known.
std::vector<ProbeRequest> further_requests(const ProbeTarget& target, Engine engine);

/// The answer to one request of a probe, or why there is none.
struct ProbeAnswer {
  std::string failure;  ///< empty: an HTTP answer came
  int status = 0;
  std::string body;
  std::string server;  ///< field `Server`
  std::string date;    ///< field `Date`
  Micros trip{};       ///< from sending until the first byte
  std::chrono::system_clock::time_point at{};
};

struct ProbeExchange {
  ProbeRequest request;
  ProbeAnswer answer;
};

/// What the exchanges with one target say.
struct AgentReport {
  std::string engine;  ///< with its version; empty: unknown
  std::optional<Micros> trip;
  std::optional<std::chrono::seconds> clock;  ///< its clock minus ours; nothing: it tells no time
  /// Name and type of each column of its tables; empty: not told.
  std::map<std::string, std::string> columns;
  std::vector<std::string> problems;
  std::vector<std::string> notes;
};

/// The largest difference of clocks that is no problem. `Date` has whole seconds.
inline constexpr std::chrono::seconds kClockTolerance{2};

/// The engine that a banner names.
Engine engine_in(std::string_view banner);

/// Judges the exchanges with one target. The answers may contain anything.
AgentReport judge_probe(const ProbeTarget& target, std::span<const ProbeExchange> exchanges);

/// Adds a problem to each report of one shard whose columns differ from those of the first.
/// `targets` and `reports` have the same order.
void compare_columns(std::span<const ProbeTarget> targets, std::span<AgentReport> reports);

/// The report for people: each table and shard with its agents, problems last.
std::string probe_text(std::span<const ProbeTarget> targets, std::span<const AgentReport> reports);

struct ProbeResult {
  bool good = false;
  std::string text;  ///< for people
};

/// Asks every agent of a configuration without problems what it is and whether it fits. Blocks for
/// kProbeTime at most; agents that were not asked in time have a problem.
ProbeResult probe(const Settings& settings, Dialects dialects);

}  // namespace karmad
