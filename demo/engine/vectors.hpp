#pragma once

#include <vector>

#include "demo/language/request.hpp"

namespace karmad {

/// The hits of a search for vectors, ascending by document, with their distances. `hits`: what the
/// query finds, with scores. Without a fusion only these are candidates; with one the lists of the
/// query and of the vectors are fused.
std::vector<Hit> nearest_hits(const Index& index, const Select& select, std::vector<Hit> hits);

}  // namespace karmad
