#pragma once

#include <chrono>

#include "balancer/status/snapshot.hpp"

namespace karmad {

/// Two agents; the table `products` has a shard with both as mirrors, one with the second alone,
/// and a black hole. The first agent works, the second has refused eleven connections in a row. In
/// the first shard they are a primary and one that cannot be reached; the lone mirror is a replica.
inline Snapshot sample_snapshot() {
  using namespace std::chrono_literals;
  Totals good{.queries = 4, .query_time = 6170us, .connects = 3, .connect_time = 912us};
  good.counts[static_cast<std::size_t>(Counter::succeeded_queries)] = 7;
  good.connect_max = 885us;
  Totals bad;
  bad.counts[static_cast<std::size_t>(Counter::connect_failures)] = 11;

  AgentStatus first{.address = "127.0.0.1:9321", .references = 2, .pinged = true};
  first.has_pool = true;
  first.numbers.last_query = 170ms;
  first.numbers.last_answer = 165ms;
  first.numbers.last_period = 937us;
  first.numbers.ping_trip = 958us;
  first.numbers.in_flight = 1;
  first.numbers.max_in_flight = 16;
  first.numbers.open_connections = 3;
  first.periods = {good, good, good};
  first.latency = {.p50 = 1400us, .p95 = 2ms, .p99 = 2040us};

  AgentStatus second{.address = "127.0.0.1:9322", .references = 2, .pinged = true};
  second.alive = false;
  second.numbers.errors_in_a_row = 11;
  second.last_error = "connection refused";
  second.numbers.last_query = 330ms;
  second.numbers.last_answer = 330ms;
  second.numbers.last_period = 75us;
  second.periods = {bad, bad, bad};

  const MirrorStatus on_first{.agent = 0,
                              .tables = {"s1"},
                              .weight = 2.0 / 3,
                              .probability = 1,
                              .standing = {.role = "primary",
                                           .tags = "dc:ny,rack:2",
                                           .generation = 18446744073709551615U,
                                           .rtt = 958us,
                                           .least_rtt = 812us,
                                           .load = 0.25},
                              .attempts = 7,
                              .since_start = good,
                              .report = {.condition = MirrorCondition::ready}};
  MirrorStatus on_second{
      .agent = 1,
      .tables = {"s1", "s1b"},
      .weight = 1.0 / 3,
      .standing = {.role = "unknown", .unsuitable = "not reachable: connection refused"},
      .attempts = 11,
      .since_start = bad,
      .report = {.condition = MirrorCondition::dead, .reason = "connection refused"}};
  MirrorStatus lone = on_second;
  lone.standing = {.role = "replica", .tags = "dc:sf", .staleness = 2500ms, .generation = 41};
  lone.tables = {"s2"};
  lone.report = {.condition = MirrorCondition::ready};
  lone.weight = lone.probability = 1;
  lone.persistent = true;
  MirrorStatus hole{.agent = 0, .tables = {"copy"}, .blackhole = true};

  TableStatus products{.name = "products", .dialect = "manticore"};
  products.shards = {{.strategy = "nodeads",
                      .mirrors = {on_first, on_second},
                      .kind = "roles",
                      .criteria = R"({"mode":"secondaryPreferred","maxStalenessSeconds":120})",
                      .budget = {.tokens = 998},
                      .line = {.waiting = 2, .waited = 9, .refused = 4, .time = 31250us},
                      .mixed = true},
                     {.strategy = "random", .mirrors = {lone}, .kind = "direct"}};
  products.blackholes = {{.strategy = "random", .mirrors = {hole}}};

  Snapshot snapshot{.period = 60s};
  snapshot.process = {.uptime = 3723500ms,
                      .version = "0.1.0",
                      .workers = 2,
                      .connections = 73,
                      .counters = {{{"queries", "Queries of clients."}, 38U}}};
  snapshot.agents = {first, second};
  snapshot.tables = {products, {.name = "empty", .dialect = "http"}};
  return snapshot;
}

}  // namespace karmad
