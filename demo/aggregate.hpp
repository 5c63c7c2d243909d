#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "demo/index.hpp"
#include "demo/request.hpp"

namespace karmad {

/// Appends the JSON of one aggregation over the documents at `found`: buckets or a value.
/// Buckets without documents are left out except those of ranges; without an order of its own
/// `terms` comes by count, the largest first, then by key, everything else by key.
void aggregate(std::string& out, const Aggregation& aggregation, const Index& index,
               std::span<const std::uint32_t> found);

}  // namespace karmad
