#include "balancer/topology/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cassert>

#include "agent/transport/http/http_syntax.hpp"
#include "config/text/closest.hpp"
#include "config/text/source_text.hpp"
#include "config/text/wildcard.hpp"
#include "strategies/expected_wait.hpp"

namespace karmad {
namespace {

constexpr std::size_t kCombinedTables = 64;  // kept at once; each is small and quickly made

/// Adds the shards of a table, but none that is held by the same mirrors under the same names: its
/// documents would count twice.
void add_new_shards(Table& combined, const Table& table) {
  const auto known = combined.shards.size();
  for (const auto& shard : table.shards) {
    const auto end = combined.shards.begin() + static_cast<std::ptrdiff_t>(known);
    const bool is_new = std::find_if(combined.shards.begin(), end, [&](const auto& other) {
                          return other->holders == shard->holders;
                        }) == end;
    if (is_new) combined.shards.push_back(shard);
  }
}

bool has_several_segments(std::string_view path) {
  return path.find('/', 1) != path.npos;
}

/// One table of the shards of these tables, in their order. Its settings are those of the first,
/// except that it is as strict about partial results as the strictest.
std::shared_ptr<const Table> combined_table(std::span<const Table* const> tables,
                                            std::string name) {
  auto combined = std::make_shared<Table>(*tables.front());
  combined->name = std::move(name);
  combined->members.assign(tables.begin(), tables.end());
  for (const auto* table : tables.subspan(1)) {
    add_new_shards(*combined, *table);
    if (table->partial_results == PartialResults::deny)
      combined->partial_results = PartialResults::deny;
    combined->blackholes.insert(combined->blackholes.end(), table->blackholes.begin(),
                                table->blackholes.end());
  }
  return combined;
}

}  // namespace

std::string_view endpoint_path(std::string_view path) {
  if (path.ends_with('/') && path.contains("/_")) path.remove_suffix(1);
  return path;
}

std::vector<std::string_view> tables_of_shards(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto* member : table.members)
    for (const auto& shard : member->shards)
      if (names.size() < table.shards.size() && shard == table.shards[names.size()])
        names.push_back(member->name);
  names.resize(table.shards.size(), table.name);
  return names;
}

std::shared_ptr<Agent> AgentRegistry::at(const Address& address) {
  const auto known = agents_.find(address);
  if (known != agents_.end())
    if (auto agent = known->second.lock()) return agent;
  if (agents_.size() >= sweep_at_) {  // mirrors that were discovered come and go
    std::erase_if(agents_, [](const auto& each) { return each.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * agents_.size());
  }
  auto agent = std::make_shared<Agent>(address, next_id_++, workers_, period_, dns_);
  agents_[address] = agent;
  return agent;
}

void Topology::apply_limits(TimePoint now) const {
  const auto& kept = settings.persistent_connections_limit;
  ConnectionBounds bounds{.connections = settings.agent_max_connections.value,
                          .connecting = settings.agent_max_connecting.value};
  if (kept) bounds.kept = kept->value;
  for (const auto& agent : agents) {
    agent->connections.change(bounds);
    agent->copies.change(bounds);
    const auto found = slots.find(agent.get());
    agent->slots.rules(found == slots.end() ? AgentSlotRules() : found->second);
    const auto encrypted = tls.find(agent.get());
    agent->tls(encrypted == tls.end() ? nullptr : encrypted->second);
  }
  for (const auto& table : tables)
    for (const auto& shard : table->shards) shard->mirrors->read_limits();
  for (const auto& [set, service] : services) set->serve(service, now);
}

void Topology::take_over() const {
  for (const auto& table : tables)
    for (const auto& shard : table->shards) shard->mirrors->take_over();
}

const Table* Topology::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::string Topology::unknown(std::string_view name) const {
  std::vector<std::string_view> names;
  if (settings.status_on_query_port.value == StatusOnQueryPort::yes)
    for (const auto& table : tables) names.push_back(table->name);
  return unknown_table(name, names);
}

const Table* Topology::route(std::string_view path) const {
  for (const auto* table : routes_)
    if (route_covers(table->route, path)) return table;
  return nullptr;
}

void Topology::add_endpoints(Dialects dialects, const DialectSettings& with) {
  for (const auto& table : tables) listable_.push_back({table->name, table->dialect.name});
  // No path matches patterns of one and of several segments, so these need not be in one order.
  for (const bool several : {false, true})
    for (const auto* kind : dialects) {
      const bool has_tables = names_any("*", listable_, kind->name);
      for (const auto& endpoint : kind->endpoints) {
        if (has_several_segments(endpoint.path) != several) continue;
        assert(endpoint_at(endpoint.path) == nullptr && "two dialects with the same path");
        const bool pattern = is_pattern(endpoint.path);
        if ((pattern || endpoint.is_shared()) && !has_tables) continue;
        (pattern ? patterns_ : endpoints_).push_back({*kind, endpoint, endpoint.make(with)});
      }
    }
}

const ServedPath* Topology::endpoint_at(std::string_view path) const {
  path = endpoint_path(path);
  const auto found = std::ranges::find(endpoints_, path,
                                       [](const ServedPath& each) { return each.endpoint.path; });
  if (found != endpoints_.end()) return &*found;
  const auto serves = [&](const ServedPath& each) {
    const auto pattern = each.endpoint.path;
    if (!matches_pattern(pattern, path)) return false;
    const auto segment = pattern_segment(pattern, path, kTableSegment);
    if (segment.empty()) return true;
    const auto names = decoded_tables(segment);
    return names && names_any(*names, listable_, each.kind.name);
  };
  const bool several = has_several_segments(path);
  for (const auto& pattern : patterns_) {
    if (!several && has_several_segments(pattern.endpoint.path)) break;
    if (serves(pattern)) return &pattern;
  }
  return nullptr;
}

const ServedPath* Topology::pattern_of(std::string_view path) const {
  path = endpoint_path(path);
  const auto found = std::ranges::find_if(patterns_, [path](const ServedPath& each) {
    return matches_pattern(each.endpoint.path, path);
  });
  return found == patterns_.end() ? nullptr : &*found;
}

std::expected<std::shared_ptr<const Table>, ClientError> Topology::combined(
    std::string_view list, const DialectKind& kind) const {
  const auto places = listed_tables(list, listable_, kind.name,
                                    settings.status_on_query_port.value == StatusOnQueryPort::yes);
  if (!places) return std::unexpected(places.error());
  std::vector<const Table*> named;
  std::string name;
  for (const auto place : *places) {
    named.push_back(tables[place].get());
    name.append(name.empty() ? "" : ",").append(named.back()->name);
  }
  if (named.size() == 1) return std::shared_ptr<const Table>(std::shared_ptr<void>(), named[0]);
  const std::lock_guard lock(combined_.mutex);
  const auto found = combined_.tables.find(name);
  if (found != combined_.tables.end()) return found->second;
  if (combined_.tables.size() >= kCombinedTables) combined_.tables.clear();
  auto table = combined_table(named, name);
  combined_.tables.emplace(std::move(name), table);
  return table;
}

namespace {

/// The usual duration of a search, or how long the oldest one is overdue.
Micros duration_of(const MirrorSignals& signals) {
  MirrorView view;
  view.latency = signals.latency();
  view.oldest = signals.oldest();
  return Micros{static_cast<Micros::rep>(duration_now(view))};
}

}  // namespace

void watch_outliers(const Shard& shard, TimePoint now, RandomSource& random) {
  auto& outliers = shard.protection->outliers;
  if (!outliers) return;
  auto& set = *shard.mirrors;
  boost::container::static_vector<OutlierSigns, Candidates::kMost> signs;
  const auto tolerated = shard.strategy_settings.dead_after;
  const auto& unreachable = set.view(0)->unreachable;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto& mirror = set[i];
    const auto& counters = mirror.agent->counters;
    const auto sums = error_sums(mirror.tally.totals());
    const auto errors = counters.errors_in_a_row.load(std::memory_order_relaxed);
    signs.push_back(
        {.attempts = sums.critical + sums.successes + sums.warnings,
         .failures = sums.critical,
         .failures_in_a_row = mirror.signals.failures_in_a_row(),
         .duration = duration_of(mirror.signals),
         .usable = errors <= tolerated && !unreachable.contains(i),
         .pinged = shard.pings.kind != nullptr,
         .last_reply = TimePoint{Micros{counters.last_reply.load(std::memory_order_relaxed)}}});
  }
  for (const auto mirror : outliers->evaluate(now, signs, random)) set.start_slowly(mirror, now);
}

void TableTally::responded(unsigned worker, int code, Micros took) noexcept {
  auto& cell = cells_[worker];
  const auto* const counted = std::ranges::find(kCountedCodes, code);
  cell.responses[static_cast<std::size_t>(counted - kCountedCodes.begin())].add(1);
  cell.requests.add(took);
}

TableTotals TableTally::totals() const {
  TableTotals totals;
  for (const auto& cell : cells_) {
    for (std::size_t i = 0; i < totals.responses.size(); ++i)
      totals.responses[i] += cell.responses[i].get();
    cell.requests.add_to(totals.requests);
    cell.attempts.add_to(totals.attempts);
  }
  return totals;
}

void write(StatsWriter& out, const TableTotals& totals) {
  static constexpr Stat kResponses{.name = "responses",
                                   .help = "queries answered, by status; 499: the client left",
                                   .row = kHidden,
                                   .member = kHidden};
  for (std::size_t i = 0; i < totals.responses.size(); ++i) {
    const auto code =
        i < kCountedCodes.size() ? fmt::format("{}", kCountedCodes[i]) : std::string("other");
    if (totals.responses[i] != 0 || code == "200")
      out.add(kResponses, totals.responses[i], {{"code", code}});
  }
  out.add({.name = "request_duration",
           .help = "time of queries, from the complete request to the answer",
           .unit = Unit::microseconds},
          totals.requests);
  out.add({.name = "attempt_duration",
           .help = "time of attempts that an agent or a timeout ended",
           .unit = Unit::microseconds},
          totals.attempts);
}

namespace {

bool is_wildcard(std::string_view piece) {
  return piece == "_all" || piece.find('*') != piece.npos;
}

bool fits(std::string_view piece, std::string_view name) {
  return piece == "_all" || matches_wildcard(name, piece, '*', [](std::string_view rest, char c) {
           return wire::lower(rest[0]) == wire::lower(c) ? 1U : 0U;
         });
}

/// Takes the next piece off a list, without white space around it.
std::string_view take_piece(std::string_view& list) {
  return trimmed(take_until(list, ','), kJsonSpace);
}

/// Why a piece of a list stands for no table.
ClientError names_nothing(std::string_view piece, std::span<const ListableTable> tables,
                          std::string_view dialect, bool shows_known) {
  for (const auto& table : tables)
    if (!is_wildcard(piece) && wire::same_word(piece, table.name))
      return {404, fmt::format("table '{}' has the dialect {}, which does not use this path",
                               table.name, table.dialect)};
  std::vector<std::string_view> known;
  for (const auto& table : tables)
    if (shows_known && table.dialect == dialect) known.push_back(table.name);
  return {404, unknown_table(piece, known)};
}

}  // namespace

bool is_table_list(std::string_view text) {
  return text == "_all" || std::ranges::any_of(text, [](char c) { return c == ',' || c == '*'; });
}

bool names_any(std::string_view text, std::span<const ListableTable> tables,
               std::string_view dialect) {
  for (std::size_t i = 0; i < kMaxListedTables && !text.empty(); ++i) {
    const auto piece = take_piece(text);
    if (piece.empty()) continue;
    for (const auto& table : tables)
      if (table.dialect == dialect && fits(piece, table.name)) return true;
  }
  return false;
}

std::expected<std::vector<std::size_t>, ClientError> listed_tables(
    std::string_view text, std::span<const ListableTable> tables, std::string_view dialect,
    bool shows_known) {
  std::vector<std::size_t> found;
  std::size_t pieces = 0;
  while (!text.empty()) {
    const auto piece = take_piece(text);
    if (piece.empty()) continue;
    const auto too_long = [](std::string_view what) {
      return std::unexpected(ClientError{
          400, fmt::format("the list of tables has more than {} {}", kMaxListedTables, what)});
    };
    if (++pieces > kMaxListedTables) return too_long("names");
    bool any = false;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (tables[i].dialect != dialect || !fits(piece, tables[i].name)) continue;
      any = true;
      if (std::ranges::find(found, i) == found.end()) found.push_back(i);
      if (found.size() > kMaxListedTables) return too_long("tables");
    }
    if (!any) return std::unexpected(names_nothing(piece, tables, dialect, shows_known));
  }
  if (found.empty()) return std::unexpected(ClientError{400, "the list of tables is empty"});
  return found;
}

std::string unknown_table(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t kMost = 20;
  if (known.empty()) return fmt::format("no table '{}'", name);
  return fmt::format("no table '{}'; the tables are: {}", name, some_of(known, kMost));
}

}  // namespace karmad
