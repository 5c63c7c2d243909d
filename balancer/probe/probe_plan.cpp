#include "balancer/probe/probe_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad {
namespace {

using About = ProbeRequest::About;

constexpr std::size_t kMostTables = 16;  // of one mirror; each costs a request

PingRequest statement(std::string text) {
  return {.method = "POST",
          .target = "/sql?mode=raw",
          .content_type = "text/plain",
          .body = std::move(text)};
}

void add_line(std::vector<ProbeTarget>& targets, const TableSettings& table,
              const ShardSettings& line, const DialectKind& dialect, std::string part) {
  const auto first = targets.size();
  for (const auto& mirror : line.mirrors) {
    ProbeTarget target{.table = table.name,
                       .part = part,
                       .address = mirror.address,
                       .tables = mirror.tables,
                       .is_routed = dialect.is_routed(),
                       .path = table.path ? table.path->value : table.route.value,
                       .ping = ping_kind(line.ping_type.value),
                       .ping_path = line.ping_path ? line.ping_path->value : std::string()};
    if (std::find(targets.begin() + static_cast<std::ptrdiff_t>(first), targets.end(), target) ==
        targets.end())
      targets.push_back(std::move(target));
  }
}

}  // namespace

std::vector<ProbeTarget> probe_targets(const Settings& settings, Dialects dialects) {
  std::vector<ProbeTarget> targets;
  for (const auto& table : settings.tables) {
    const auto* const dialect = find_dialect(dialects, table.dialect.value);
    if (dialect == nullptr) continue;
    for (std::size_t i = 0; i < table.shards.size(); ++i)
      add_line(targets, table, table.shards[i], *dialect, fmt::format("shard {}", i + 1));
    for (std::size_t i = 0; i < table.blackholes.size(); ++i)
      add_line(targets, table, table.blackholes[i], *dialect, fmt::format("blackhole {}", i + 1));
  }
  return targets;
}

ProbeRequest banner_request() {
  return {.about = About::banner, .request = {.target = "/"}};
}

std::vector<ProbeRequest> further_requests(const ProbeTarget& target, Engine engine) {
  std::vector<ProbeRequest> requests;
  if (target.ping != nullptr)
    for (auto& each : target.ping->requests(
             target.ping_path, target.ping->about_table ? target.tables.front() : std::string()))
      requests.push_back({.about = About::ping, .request = std::move(each)});
  if (target.is_routed) {
    if (target.path.size() > 1)
      requests.push_back(
          {.about = About::path, .request = {.method = "HEAD", .target = target.path}});
    return requests;
  }
  const auto count = std::min(target.tables.size(), kMostTables);
  if (engine == Engine::karmad) {
    for (std::size_t i = 0; i < count; ++i)
      requests.push_back({.about = About::readiness,
                          .request = {.target = "/readyz?table=" + target.tables[i]},
                          .table = target.tables[i]});
    return requests;
  }
  requests.push_back({.about = About::version, .request = statement("SHOW STATUS LIKE 'version'")});
  requests.push_back({.about = About::tables, .request = statement("SHOW TABLES")});
  for (std::size_t i = 0; i < count; ++i)
    requests.push_back({.about = About::schema,
                        .request = statement("DESC " + target.tables[i]),
                        .table = target.tables[i]});
  return requests;
}

}  // namespace karmad
