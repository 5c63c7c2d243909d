#include <fmt/format.h>

#include <algorithm>

#include "agent/ping_kinds/json.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "config/text/number_in.hpp"

namespace karmad {
namespace {

using rapidjson::Value;

struct StatusRow {
  std::string_view name;
  std::string_view value;
};
using Counters = std::vector<StatusRow>;

/// The rows of the first result set: `[{"columns":[…],"data":[{"Counter":"…","Value":"…"},…],…}]`.
std::expected<Counters, std::string> read_counters(const Value& answer) {
  constexpr std::string_view kWrong = "the answer to SHOW STATUS has no rows of Counter and Value";
  if (!answer.IsArray() || answer.Empty() || !answer[0].IsObject())
    return std::unexpected(std::string(kWrong));
  const auto error = text_member(answer[0], "error");
  if (!error.empty()) return std::unexpected(fmt::format("SHOW STATUS failed: {}", error));
  const auto* data = member(answer[0], "data");
  Counters out;
  if (data == nullptr) return out;  // a statement without rows
  if (!data->IsArray()) return std::unexpected(std::string(kWrong));
  for (const auto& row : data->GetArray()) {
    const auto* name = member(row, "Counter");
    const auto* value = member(row, "Value");
    if (name == nullptr || !name->IsString() || value == nullptr || !value->IsString())
      return std::unexpected(std::string(kWrong));
    out.push_back({text_of(*name), text_of(*value)});
  }
  return out;
}

/// The state of this node in one replication cluster.
struct Cluster {
  std::string_view name;
  std::string_view status;
  std::string_view node_state;
  std::string_view last_committed;
};

/// The clusters a node belongs to, from `cluster_name` = NAME and `cluster_NAME_…`.
std::vector<Cluster> clusters_of(const Counters& counters) {
  constexpr std::string_view kPrefix = "cluster_";
  constexpr std::string_view kNodeState = "_node_state";
  std::vector<Cluster> out;
  auto add = [&](std::string_view name) {
    if (std::ranges::find(out, name, &Cluster::name) == out.end())
      out.push_back({name, {}, {}, {}});
  };
  for (const auto& [name, value] : counters) {
    if (name == "cluster_name") add(value);
    if (name.starts_with(kPrefix) && name.ends_with(kNodeState) &&
        name.size() > kPrefix.size() + kNodeState.size())
      add(name.substr(kPrefix.size(), name.size() - kPrefix.size() - kNodeState.size()));
  }
  auto value_of = [&](std::string_view cluster, std::string_view what) -> std::string_view {
    const auto wanted = fmt::format("cluster_{}_{}", cluster, what);
    const auto found = std::ranges::find(counters, wanted, &StatusRow::name);
    return found == counters.end() ? std::string_view{} : found->value;
  };
  for (auto& cluster : out) {
    cluster.status = value_of(cluster.name, "status");
    cluster.node_state = value_of(cluster.name, "node_state");
    cluster.last_committed = value_of(cluster.name, "last_committed");
  }
  return out;
}

/// Why the node should not be searched; else empty. A donor still serves.
std::string complaint_of(const Cluster& cluster) {
  if (!cluster.status.empty() && cluster.status != "primary")
    return fmt::format("cluster {} is {}", cluster.name, cluster.status);
  if (cluster.node_state == "synced" || cluster.node_state == "donor") return {};
  return fmt::format("its state in cluster {} is {}", cluster.name,
                     cluster.node_state.empty() ? "unknown" : cluster.node_state);
}

std::vector<PingRequest> ask(std::string_view path, std::string_view) {
  return {{.method = "POST",
           .target = path.empty() ? "/sql?mode=raw" : std::string(path),
           .content_type = "application/x-www-form-urlencoded",
           .body = "query=SHOW%20STATUS%20LIKE%20%27cluster_%25%27"}};
}

std::expected<Description, std::string> describe(std::span<const PingAnswer> answers,
                                                 std::string_view, std::string_view) {
  if (answers.empty()) return std::unexpected("did not answer the ping");
  if (!is_success(answers[0].status)) return std::unexpected(answered_with(answers[0].status));
  const auto json = parse_answer(answers[0].body);
  if (!json) return std::unexpected("the answer to SHOW STATUS is not JSON");
  const auto counters = read_counters(*json);
  if (!counters) return std::unexpected(counters.error());
  const auto clusters = clusters_of(*counters);
  // All members of a cluster accept reads and writes equally; so does a server without a cluster.
  Description out{.role = Role::router};
  for (const auto& cluster : clusters) {
    auto complaint = complaint_of(cluster);
    if (complaint.empty()) continue;
    out.role = Role::other;
    out.why = std::move(complaint);
    break;
  }
  if (clusters.size() == 1) {
    out.set = std::string(clusters[0].name);
    out.generation = number_in<std::uint64_t>(clusters[0].last_committed);
  }
  return out;
}

}  // namespace

constinit const PingKind kManticorePing{"manticore", ask, describe};

}  // namespace karmad
