#pragma once

#include <array>

#include "agent/ping_kinds/ping_kind.hpp"

namespace karmad {

// Each kind is a file of this folder. A new kind is declared and listed here.
PingKind http_ping();
PingKind native_ping();
PingKind manticore_ping();
PingKind elasticsearch_ping();
PingKind opensearch_ping();
PingKind solr_ping();

/// Every kind of ping, in the order in which messages name them.
inline constexpr std::array kPingKinds{http_ping,          native_ping,     manticore_ping,
                                       elasticsearch_ping, opensearch_ping, solr_ping};

/// The message for a status without a special meaning.
std::string answered_with(int status);
inline bool is_success(int status) {
  return status / 100 == 2;
}

}  // namespace karmad
