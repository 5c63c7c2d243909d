#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/ping_kinds/ping_kinds.hpp"

namespace karmad {

inline constexpr std::string_view kMe = "10.0.0.1:8983";

/// What a kind makes of answers that all came with status 200.
inline std::expected<Description, std::string> described(std::string_view kind,
                                                         std::vector<std::string_view> bodies,
                                                         std::string_view table = "books") {
  std::vector<PingAnswer> answers;
  for (const auto body : bodies) answers.push_back({200, body});
  return ping_kind(kind)->describe(answers, kMe, table);
}

/// What a kind makes of answers with statuses of their own.
inline std::expected<Description, std::string> described_as(
    std::string_view kind, const std::vector<PingAnswer>& answers) {
  return ping_kind(kind)->describe(answers, kMe, "books");
}

inline std::string complaint(const std::expected<Description, std::string>& description) {
  return description ? "none" : description.error();
}

inline constexpr std::string_view kNative =
    R"({"ok":1,"set":"books","me":"10.0.0.1:8983","role":"primary","hidden":false,"draining":0,)"
    R"("tags":{"rack":"2","dc":"ny"},"last_write_ms":1764000000123,"generation":18446744073709551615,)"
    R"("election_id":"7fffffff0000000000000002","set_version":3,"process_id":"p1","counter":4,)"
    R"("api":1,"load":0.25,"colour":["blue"]})";

/// An answer to SHOW STATUS as Manticore lays it out.
inline std::string show_status(
    std::initializer_list<std::pair<std::string_view, std::string_view>> rows) {
  std::string out =
      "[{\n\"columns\":[{\"Counter\":{\"type\":\"string\"}},{\"Value\":{\"type\":\"string\"}}],\n"
      "\"data\":[\n";
  std::string_view between;
  for (const auto& [name, value] : rows) {
    out.append(between).append(R"({"Counter":")").append(name);
    out.append(R"(","Value":")").append(value).append("\"}");
    between = ",\n";
  }
  return out.append("\n],\n\"total\":")
      .append(std::to_string(rows.size()))
      .append(",\n\"error\":\"\",\n\"warning\":\"\"\n}]");
}

inline std::string one_cluster(std::string_view status, std::string_view state) {
  return show_status({{"cluster_name", "posts"},
                      {"cluster_posts_state_uuid", "c2ad40a1-0000-11ee-b5ff-7e4a41a05ea5"},
                      {"cluster_posts_conf_id", "5"},
                      {"cluster_posts_status", status},
                      {"cluster_posts_size", "3"},
                      {"cluster_posts_node_state", state},
                      {"cluster_posts_indexes", "books,authors"},
                      {"cluster_posts_last_committed", "4711"},
                      {"cluster_posts_local_state_comment", "Synced"},
                      {"cluster_posts_ist_receive_status", ""}});
}

inline constexpr std::string_view kHealth =
    R"({"cluster_name":"library","status":"yellow","timed_out":false,"number_of_nodes":3,)"
    R"("number_of_data_nodes":2,"discovered_master":true,"discovered_cluster_manager":true,)"
    R"("active_primary_shards":6,"active_shards":9,"active_shards_percent_as_number":75.0})";
inline constexpr std::string_view kNode =
    R"({"nodes":{"cPUqTLm4Skq1U9hrCkBaoA":{"name":"es-7","attributes":)"
    R"({"zone":"b","node":"shadowed","xpack.installed":"true","odd":7}}}})";

inline constexpr std::string_view kCore =
    R"({"responseHeader":{"status":0,"QTime":1},"initFailures":{},"status":{"books":{"name":"books",)"
    R"("uptime":99,"index":{"numDocs":4,"version":57,"segmentCount":1,"current":true}}}})";
inline constexpr std::string_view kNoCore =
    R"({"responseHeader":{"status":0},"initFailures":{},"status":{"books":{}}})";
inline constexpr std::string_view kNoCloud =
    R"({"error":{"msg":"Solr instance is not running in SolrCloud mode.","code":400}})";

inline std::string replica(std::string_view name, std::string_view core, std::string_view node,
                           std::string_view rest) {
  std::string out;
  out.append("\"").append(name).append(R"(":{"core":")").append(core);
  out.append(R"(","node_name":")").append(node).append("_solr\",");
  out.append(R"("base_url":"http://)").append(node).append("/solr\",");
  return out.append(rest).append("}");
}

/// The cluster's state with these replicas in the only shard of the collection.
inline std::string cluster_state(std::string_view replicas, std::string_view collection = "books") {
  std::string out = R"({"responseHeader":{"status":0},"cluster":{"collections":{"other":{"shards":)"
                    R"({"shard1":{"replicas":{"core_node9":{"core":"o1","state":"down",)"
                    R"("node_name":"10.0.0.1:8983_solr"}}}}},")";
  out.append(collection).append(R"(":{"router":{"name":"compositeId"},"shards":{"shard2":{)");
  out.append(R"("range":"0-7fffffff","state":"active","replicas":{)").append(replicas);
  return out.append(R"(}}}}},"live_nodes":["10.0.0.1:8983_solr"]}})");
}

}  // namespace karmad
