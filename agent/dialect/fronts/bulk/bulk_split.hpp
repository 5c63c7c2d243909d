#pragma once

#include <cstdint>
#include <expected>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/fronts/bulk/update_target.hpp"
#include "agent/dialect/request/bulk_lines.hpp"
#include "agent/dialect/request/client_request.hpp"

namespace karmad {

/// Splits a bulk that read_bulk() has accepted by the shards of its documents. Refuses (400, naming
/// the line) inserts and replaces as plan_update() does; 413 for a body beyond BulkBytes.
std::expected<BulkSplit, ClientError> split_bulk(std::string_view body, std::string_view table,
                                                 ShardLayout layout, unsigned max_depth);

}  // namespace karmad
