#pragma once

#include <span>
#include <string_view>

#include "agent/ping_kinds/ping_kind.hpp"

namespace karmad {

/// `http`, `native`, `manticore`, `elasticsearch`, `opensearch`, `solr`; nullptr for other names,
/// also for `none` (no pings).
const PingKind* ping_kind(std::string_view name);
std::span<const std::string_view> ping_kind_names();  ///< `none` included

}  // namespace karmad
