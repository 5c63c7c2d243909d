#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/changes/shard_of_id.hpp"

namespace karmad {

/// The documents that one update is about.
struct UpdateTarget {
  std::optional<DocumentId> id;  ///< exactly one document
  std::string_view raw_id;       ///< the id as the client wrote it; empty: none, or several
  bool by_query = false;
};

/// Reads the target of an update (the object with `table`, which read_update() or read_bulk() has
/// accepted). The error follows the words "the request" or "line 3": an id that cannot be read, or
/// that stands twice or where engines read it differently.
std::expected<UpdateTarget, std::string> read_target(std::string_view update);

}  // namespace karmad
