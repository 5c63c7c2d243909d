#pragma once

#include "agent/ping_kinds/ping_kind.hpp"

/// One function per kind; `ping_kind` finds a kind by name.
namespace karmad {

PingKind native_ping();
PingKind manticore_ping();
/// Elasticsearch and OpenSearch have the same answers.
PingKind elasticsearch_ping(std::string_view name);
PingKind solr_ping();

/// The message for a status without a special meaning.
std::string answered_with(int status);
inline bool is_success(int status) {
  return status / 100 == 2;
}

}  // namespace karmad
