#include <algorithm>

#include "balancer/topology/topology.hpp"

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

}  // namespace karmad
