#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "config/settings/settings.hpp"

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

}  // namespace karmad
