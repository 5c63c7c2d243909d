#pragma once

#include <array>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/ping_kinds/description.hpp"

namespace karmad {

/// One request of a ping.
struct PingRequest {
  std::string method = "GET";
  std::string target;
  std::string content_type;  ///< if there is a body
  std::string body;
};

/// The answer to one request of a ping.
struct PingAnswer {
  int status = 0;
  std::string_view body;
};

/// How an engine is pinged and how its answers are read. Pure functions; one object per name.
struct PingKind {
  std::string_view name;
  /// The requests of one ping, sent one after the other on one connection; the round trip is the
  /// first one's. `path`: the setting `ping_path`, or empty. `table`: the mirror's name of the
  /// table (Solr's core or collection).
  std::vector<PingRequest> (*requests)(std::string_view path, std::string_view table);
  /// Reads all answers together, or says why they are invalid. `me`: host:port as configured.
  std::expected<Description, std::string> (*describe)(std::span<const PingAnswer> answers,
                                                      std::string_view me, std::string_view table);
  bool describes = true;     ///< reports more than that the mirror is alive
  bool about_table = false;  ///< its requests contain the table's name
  bool tells_roles = false;  ///< reports primaries and replicas; else all serving mirrors are equal
};

/// `http`, `native`, `manticore`, `elasticsearch`, `opensearch`, `solr`; nullptr for other names,
/// also for `none` (no pings).
const PingKind* ping_kind(std::string_view name);
std::span<const std::string_view> ping_kind_names();  ///< `none` included

// Each kind is a file of this folder. A new kind is declared and listed here.
extern const PingKind kHttpPing, kNativePing, kManticorePing, kElasticsearchPing, kOpensearchPing,
    kSolrPing;

/// Every kind of ping, in the order in which messages name them.
inline constexpr std::array kPingKinds{&kHttpPing,          &kNativePing,     &kManticorePing,
                                       &kElasticsearchPing, &kOpensearchPing, &kSolrPing};

/// Reads all answers to a ping of that kind. An agent that denies the first request (401, 403) is
/// alive, and has told nothing else; the other arguments are those of PingKind::describe.
std::expected<Description, std::string> describe_ping(const PingKind& kind,
                                                      std::span<const PingAnswer> answers,
                                                      std::string_view me, std::string_view table);

/// The message for a status without a special meaning.
std::string answered_with(int status);
inline bool is_success(int status) {
  return status / 100 == 2;
}
/// Whether the agent works and wants other credentials.
inline bool is_denied(int status) {
  return status == 401 || status == 403;
}

}  // namespace karmad
