#pragma once

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
  std::string content_type;  ///< with a body
  std::string body;
};

/// What one of a ping's requests was answered with.
struct PingAnswer {
  int status = 0;
  std::string_view body;
};

/// How an engine is asked how it is, and what its answers mean. Pure; one object per name.
struct PingKind {
  std::string_view name;
  /// The requests of one ping, sent one after the other on one connection; the round trip is that
  /// of the first. `path`: the setting `ping_path`, empty when it is not set. `table`: the mirror's
  /// own name of the table (Solr's core or collection).
  std::vector<PingRequest> (*requests)(std::string_view path, std::string_view table);
  /// What all answers together mean, or why they mean nothing. `me`: the address we use, host:port.
  std::expected<Description, std::string> (*describe)(std::span<const PingAnswer> answers,
                                                      std::string_view me, std::string_view table);
  bool describes = true;     ///< says more than that the mirror is alive
  bool about_table = false;  ///< its requests name the table
  bool tells_roles = false;  ///< knows primaries from replicas; else all who serve are alike
};

}  // namespace karmad
