#include "balancer/endpoints/description.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "agent/ping_kinds/ping_kinds.hpp"

namespace karmad {
namespace {

constexpr std::string_view kTable = "table=";

/// The table in the parameters; none if there is no such parameter.
std::optional<std::string_view> named_table(std::string_view parameters) {
  if (!parameters.starts_with(kTable)) return std::nullopt;
  return parameters.substr(kTable.size());
}

/// The table with one shard of one mirror, for which karmad is a side-car; null without one.
const Table* only_one(const Topology& topology, std::string_view parameters) {
  const Table* table = nullptr;
  if (const auto name = named_table(parameters)) {
    table = topology.find(*name);
  } else if (topology.tables.size() == 1) {
    table = topology.tables.front().get();
  }
  const bool alone =
      table != nullptr && table->shards.size() == 1 && table->shards.front()->mirrors->size() == 1;
  return alone ? table : nullptr;
}

}  // namespace

Answer describe_balancer(Query& query) {
  const auto name = named_table(query.request.query);
  if (name && query.topology->find(*name) == nullptr)
    return refusal(404, query.topology->unknown(*name));
  Description description;
  if (const auto* table = only_one(*query.topology, query.request.query)) {
    const auto& shard = *table->shards.front();
    const auto& view = *shard.mirrors->view(query.worker.loop.index);
    if (shard.pings.kind != nullptr) {
      const auto& mirror = view.mirrors.front();
      description = mirror.description;
      description.role = view.picture.mirrors.front().role;
      description.tags = view.picture.mirrors.front().tags;
      description.why = mirror.why;
      // This is the address of the mirror; the other karmad must use the address of this one.
      description.me.reset();
      if (description.role == Role::unknown) {
        Answer answer =
            refusal(503, fmt::format("the only mirror is not reachable: {}", mirror.why));
        return answer;
      }
    }
  }
  if (query.worker.monitoring.draining.load(std::memory_order_relaxed)) {
    description.role = Role::other;
    description.why = "draining";
  }
  Answer answer;
  answer.body = text(description);
  return answer;
}

}  // namespace karmad
