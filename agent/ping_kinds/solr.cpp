#include <fmt/format.h>

#include "agent/ping_kinds/json.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

using rapidjson::Value;

constexpr int kNotSolrCloud = 400;  // the collections API's answer on a server without SolrCloud

std::vector<PingRequest> ask(std::string_view path, std::string_view table) {
  if (path.empty()) path = "/solr";
  if (path.ends_with('/')) path.remove_suffix(1);
  auto cores = fmt::format("{}/admin/cores?action=STATUS&core=", path);
  append_url_encoded(cores, table);
  return {{.target = cores.append("&wt=json")},
          {.target = fmt::format("{}/admin/collections?action=CLUSTERSTATUS&wt=json", path)}};
}

/// The table's core; nullptr if the server has none of that name (an empty object), for example
/// because the table is a collection.
const Value* core_of(const Value& cores, std::string_view table) {
  const auto* status = member(cores, "status");
  const auto* core = status == nullptr ? nullptr : member(*status, table);
  return core != nullptr && core->IsObject() && !core->ObjectEmpty() ? core : nullptr;
}

std::optional<std::uint64_t> generation_of(const Value* core) {
  const auto* index = core == nullptr ? nullptr : member(*core, "index");
  const auto* version = index == nullptr ? nullptr : member(*index, "version");
  if (version == nullptr || !version->IsUint64()) return std::nullopt;
  return version->GetUint64();
}

struct Replica {
  std::string_view shard;
  std::string_view core;
  std::string_view state;
  std::string_view type;
  bool leader = false;
};

/// Whether the replica is at the configured address: by its node's name, "host:port_solr", or its
/// URL, "http://host:port/solr".
bool lives_at(const Value& replica, std::string_view me) {
  auto follows = [&](std::string_view text, char next) {
    return text.starts_with(me) && (text.size() == me.size() || text[me.size()] == next);
  };
  auto url = text_member(replica, "base_url");
  const auto host = url.find("://");
  url.remove_prefix(host == std::string_view::npos ? 0 : host + 3);
  return follows(text_member(replica, "node_name"), '_') || follows(url, '/');
}

bool is_leader(const Value& replica) {
  const auto* leader = member(replica, "leader");
  if (leader == nullptr) return false;
  return leader->IsTrue() || (leader->IsString() && text_of(*leader) == "true");
}

/// Calls `heard(is the collection called table, shard's name, replica)` for each replica.
template <class Heard>
void for_each_replica(const Value& collections, std::string_view table, Heard heard) {
  for (const auto& collection : collections.GetObject()) {
    const auto* shards = member(collection.value, "shards");
    if (shards == nullptr || !shards->IsObject()) continue;
    const bool named = text_of(collection.name) == table;
    for (const auto& shard : shards->GetObject()) {
      const auto* replicas = member(shard.value, "replicas");
      if (replicas == nullptr || !replicas->IsObject()) continue;
      for (const auto& replica : replicas->GetObject())
        heard(named, text_of(shard.name), replica.value);
    }
  }
}

/// Whether the first replica is less useful: not active, or else not the leader.
bool worse(const Replica& one, const Replica& other) {
  const bool active = one.state == "active";
  if (active != (other.state == "active")) return !active;
  return !one.leader && other.leader;
}

/// The replica at this address in the collection, or of the core, called `table`. If a node has
/// several, the worst counts. If the cluster knows the node by another address, a core of that name
/// is used, provided that only one node has one.
std::optional<Replica> replica_at(const Value& collections, std::string_view me,
                                  std::string_view table) {
  std::optional<Replica> here;
  std::optional<Replica> named;
  std::size_t count = 0;
  for_each_replica(
      collections, table, [&](bool of_collection, std::string_view shard, const Value& json) {
        const Replica replica{shard, text_member(json, "core"), text_member(json, "state"),
                              text_member(json, "type"), is_leader(json)};
        const bool of_core = replica.core == table;
        if (of_core) named = replica;
        if (of_core) ++count;
        if (!of_collection && !of_core) return;
        if (lives_at(json, me) && (!here || worse(replica, *here))) here = replica;
      });
  if (!here && count == 1) return named;
  return here;
}

Description describe_replica(const Replica& replica, std::optional<std::uint64_t> generation) {
  Description out{.role = replica.leader ? Role::primary : Role::replica};
  if (replica.state != "active") {
    out.role = Role::other;
    out.why =
        fmt::format("the replica is {}", replica.state.empty() ? "without a state" : replica.state);
  }
  add_reported_tag(out.tags, "shard", replica.shard);
  // Before Solr 7 there was only one type, without a name.
  const auto type = replica.type.empty() ? std::string_view("NRT") : replica.type;
  const auto kind = lower(type);
  add_reported_tag(out.tags, "type", kind);
  // The version counts changes of one index. TLOG and PULL replicas copy their leader's index with
  // its version; an NRT replica writes its own, which cannot be compared with the leader's.
  if (replica.leader || kind != "nrt") out.generation = generation;
  return out;
}

Description not_here(std::string why) {
  return {.role = Role::other, .why = std::move(why)};
}

std::expected<Description, std::string> describe(std::span<const PingAnswer> answers,
                                                 std::string_view me, std::string_view table) {
  if (answers.size() < 2) return std::unexpected("did not answer the ping");
  if (!is_success(answers[0].status)) return std::unexpected(answered_with(answers[0].status));
  const auto cores = parse_answer(answers[0].body);
  if (!cores || member(*cores, "status") == nullptr)
    return std::unexpected("the answer to /admin/cores has no status");
  const auto* core = core_of(*cores, table);
  if (answers[1].status == kNotSolrCloud) {
    if (core == nullptr) return not_here(fmt::format("there is no core '{}'", table));
    return Description{.role = Role::router, .generation = generation_of(core)};
  }
  if (is_denied(answers[1].status))
    return Description{.role = Role::router, .generation = generation_of(core), .denied = true};
  if (!is_success(answers[1].status)) return std::unexpected(answered_with(answers[1].status));
  const auto state = parse_answer(answers[1].body);
  const auto* cluster = state ? member(*state, "cluster") : nullptr;
  const auto* collections = cluster == nullptr ? nullptr : member(*cluster, "collections");
  if (collections == nullptr || !collections->IsObject())
    return std::unexpected("the answer to CLUSTERSTATUS has no collections");
  const auto replica = replica_at(*collections, me, table);
  if (!replica) return not_here(fmt::format("no replica of '{}' is at {}", table, me));
  return describe_replica(*replica, generation_of(core));
}

}  // namespace

constinit const PingKind kSolrPing{.name = "solr",
                                   .requests = ask,
                                   .describe = describe,
                                   .about_table = true,
                                   .tells_roles = true};

}  // namespace karmad
