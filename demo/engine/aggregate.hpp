#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "demo/data/index.hpp"
#include "demo/language/request.hpp"

namespace karmad {

/// Appends the JSON of one aggregation over the documents `found`: buckets or a value.
/// Buckets without documents are left out, except those of ranges. By default the buckets of
/// `terms` are sorted by descending count, then by key; all others by key.
void aggregate(std::string& out, const Aggregation& aggregation, const Index& index,
               std::span<const Hit> found);

/// Between sorted numbers, of which there is at least one.
double percentile(const std::vector<double>& sorted, double percent);

}  // namespace karmad
