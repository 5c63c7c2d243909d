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
  /// The value of `id` as the client wrote it; empty: there is none, and a member can be put there.
  std::string_view raw_id;
  bool by_query = false;
  std::uint64_t made_id = 0;  ///< the id that karmad has made for the document; 0: none
};

/// Reads the target of an update (the object with `table`, which read_update() or read_bulk() has
/// accepted). The error follows the words "the request" or "line 3": an id that cannot be read, or
/// that stands twice or where engines read it differently.
std::expected<UpdateTarget, std::string> read_target(std::string_view update);

/// A made id as the text that belongs at `raw_id`: instead of the value, or as the first member.
std::string made_id_text(std::uint64_t made_id, bool replaces_value);

}  // namespace karmad
