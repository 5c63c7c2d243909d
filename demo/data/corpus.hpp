#pragma once

#include <cstddef>
#include <vector>

#include "demo/data/document.hpp"

namespace karmad::demo {

/// Generates the catalogue: always the same `size` documents, ascending by id. About one id in
/// sixteen is above 2^53 (neighbours that a double cannot tell apart). Prices, ratings, brands and
/// time stamps repeat often; some texts hold quotes, backslashes, brackets and letters beyond
/// ASCII.
std::vector<Document> invent_corpus(std::size_t size);

/// The part, of `of` parts, with the document `id`: for `spread` 0 the shard where karmad looks for
/// it with `shard_by = id` (docs/decisions/032-updates-over-shards.md), each other `spread` gives
/// another distribution. Parts differ in size.
std::size_t part_of(std::uint64_t id, std::size_t of, std::uint64_t spread = 0);

}  // namespace karmad::demo
