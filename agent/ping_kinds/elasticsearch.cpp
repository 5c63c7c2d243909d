#include "agent/ping_kinds/json.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"

namespace karmad {
namespace {

using rapidjson::Value;

constexpr int kRequestTimeout = 408;  // the health request's own timeout

std::string prefix_of(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

std::vector<PingRequest> ask(std::string_view path, std::string_view) {
  // Only the node's name and attributes are needed; the whole answer has tens of kilobytes.
  return {{.target = prefix_of(path).append("/_cluster/health?local=true")},
          {.target = prefix_of(path).append(
               "/_nodes/_local?filter_path=nodes.*.name,nodes.*.attributes")}};
}

bool is_false(const Value& health, std::string_view name) {
  const auto* found = member(health, name);
  return found != nullptr && found->IsFalse();
}

/// Why the node should not be searched; else empty.
std::string_view complaint_about(const Value& health) {
  const auto* timed_out = member(health, "timed_out");
  if (timed_out != nullptr && timed_out->IsTrue()) return "cluster health timed out";
  if (is_false(health, "discovered_master") || is_false(health, "discovered_cluster_manager"))
    return "the node knows no master of its cluster";
  return {};
}

/// The tags of the only node in the answer: its name as `node`, and its attributes.
Tags tags_of(const Value& answer) {
  Tags out;
  const auto* nodes = member(answer, "nodes");
  if (nodes == nullptr || !nodes->IsObject() || nodes->ObjectEmpty()) return out;
  const auto& node = nodes->MemberBegin()->value;
  if (const auto name = text_member(node, "name"); !name.empty())
    add_reported_tag(out, "node", name);
  const auto* attributes = member(node, "attributes");
  if (attributes == nullptr || !attributes->IsObject()) return out;
  for (const auto& attribute : attributes->GetObject())
    if (attribute.value.IsString())
      add_reported_tag(out, text_of(attribute.name),
                       text_of(attribute.value));  // drops surplus ones
  return out;
}

std::expected<Description, std::string> describe(std::span<const PingAnswer> answers,
                                                 std::string_view, std::string_view) {
  if (answers.size() < 2) return std::unexpected("did not answer the ping");
  const bool knows_node = !is_denied(answers[1].status);  // that needs more rights than the health
  for (const auto& answer : answers.first(knows_node ? answers.size() : 1))
    if (!is_success(answer.status) &&
        (&answer != answers.data() || answer.status != kRequestTimeout))
      return std::unexpected(answered_with(answer.status));
  const auto health = parse_answer(answers[0].body);
  if (!health || text_member(*health, "status").empty())
    return std::unexpected("the answer to /_cluster/health has no status");
  // Every node accepts every request and forwards it, also a node without data.
  Description out{.role = Role::router};
  if (knows_node) {
    const auto nodes = parse_answer(answers[1].body);
    if (!nodes || !nodes->IsObject())
      return std::unexpected("the answer to /_nodes/_local is not a JSON object");
    out.tags = tags_of(*nodes);
  }
  if (const auto complaint = complaint_about(*health); !complaint.empty()) {
    out.role = Role::other;
    out.why = complaint;
  }
  return out;
}

}  // namespace

constinit const PingKind kElasticsearchPing{"elasticsearch", ask, describe};
/// Answers like Elasticsearch.
constinit const PingKind kOpensearchPing{"opensearch", ask, describe};

}  // namespace karmad
