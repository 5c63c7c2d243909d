#pragma once

#include "agent/ping_kinds/ping_kind.hpp"

/// The kinds one by one; `ping_kind` finds them by name.
namespace karmad {

PingKind native_ping();
PingKind manticore_ping();
/// Elasticsearch and OpenSearch answer alike.
PingKind elasticsearch_ping(std::string_view name);
PingKind solr_ping();

/// What a status without a meaning of its own says.
std::string answered_with(int status);
inline bool is_success(int status) {
  return status / 100 == 2;
}

}  // namespace karmad
