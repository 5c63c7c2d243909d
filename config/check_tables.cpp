#include "config/check_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/check_steps.hpp"
#include "config/own_address.hpp"
#include "config/settings/attempts.hpp"

namespace karmad {

namespace {

class TableChecker : CheckSteps {
 public:
  TableChecker(const InstanceSettings& searchd, const ThisHost& host, Problems& problems,
               Problems& notices)
      : CheckSteps(searchd, problems, notices), host_(host) {}

  void check_table(const TableSettings& table) {
    check_bounds(table_keys(), table);
    check_ping_path(table.ping_path);
    const auto above = empty_table(searchd_);
    check_preference(table, above, fmt::format("table {}", in_quotes(table.name)));
    if (table.shards.empty() && !table.discovery)
      problem(table.at, fmt::format("table {} needs a line of agent or agent_persistent, or "
                                    "discovery",
                                    in_quotes(table.name)));
    for (const auto* lines : {&table.shards, &table.blackholes})
      for (const auto& shard : *lines) check_shard(table, shard);
    for (const auto& shard : table.shards)
      for (auto& cut : cut_off(searchd_, table, shard)) notice_once(std::move(cut));
    const auto has_mirrors = [](const ShardSettings& shard) { return shard.mirrors.size() > 1; };
    if (table.ha_strategy && is_own(table.ha_strategy, above.ha_strategy) &&
        !table.shards.empty() &&
        std::none_of(table.shards.begin(), table.shards.end(), has_mirrors))
      notice(table.ha_strategy->at,
             "ha_strategy has no effect: each shard of the table has one agent");
    if (table.agent_retry_count)
      check_retries(table.agent_retry_count->value, table.agent_retry_count->at);
    check_timeouts(table);
    check_search_times(table);
    check_burst("request", table.request_rate, table.request_burst);
  }

 private:
  void check_shard(const TableSettings& table, const ShardSettings& shard) {
    check_bounds(line_keys(), shard);
    for (const auto& mirror : shard.mirrors) check_bounds(mirror_keys(), mirror);
    check_ping_path(shard.ping_path);
    if (shard.mirrors.size() > kMostMirrors)
      problem(shard.mirrors[kMostMirrors].at,
              fmt::format("a line has at most {} mirrors, this one has {}", kMostMirrors,
                          shard.mirrors.size()));
    for (const auto& mirror : shard.mirrors) check_not_ourselves(mirror);
    std::set<std::pair<Address, std::vector<std::string>>> seen;
    for (const auto& mirror : shard.mirrors)
      if (!seen.emplace(mirror.address, mirror.tables).second)
        notice(mirror.at, fmt::format("{} is already a mirror of this line", text(mirror.address)));
    if (shard.ha_strategy && is_own(shard.ha_strategy, table.ha_strategy) &&
        shard.mirrors.size() == 1)
      notice(shard.ha_strategy->at, "ha_strategy has no effect: the line has one agent");
    if (shard.retry_count) check_retries(*shard.retry_count, shard.at);
    const auto& limit = searchd_.persistent_connections_limit;
    if (shard.persistent && limit && limit->value == 0)
      notice(shard.at, "no connection is kept: persistent_connections_limit is 0");
  }

  /// Refuses an agent that is karmad itself: karmad would send each query to itself without end.
  void check_not_ourselves(const MirrorSettings& mirror) {
    for (const auto& listen : searchd_.listen)
      if (leads_here(listen.address, mirror.address, host_))
        return problem(mirror.at, fmt::format("{} is karmad itself (listen, {}): each query would "
                                              "be sent to karmad again without end",
                                              text(mirror.address), text(listen.at)));
  }

  const ThisHost& host_;
};

}  // namespace

void check_tables(const Settings& settings, const ThisHost& host, Problems& problems,
                  Problems& notices) {
  TableChecker checker(settings.searchd, host, problems, notices);
  for (const auto& table : settings.tables) checker.check_table(table);
}

}  // namespace karmad
