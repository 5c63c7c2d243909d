#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/request/bulk_lines.hpp"
#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/document_ids.hpp"

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

/// Why no new document can be sent to the table, as a text to follow the words "the request" or
/// "line 3"; nothing if it can.
std::optional<std::string> check_shard_known(std::string_view table, const ShardLayout& layout);

/// Makes the id of a new document if needs_made_id() says so. Returns why the document cannot be
/// sent, like check_shard_known() and check_document_id().
std::optional<std::string> place_document(UpdateTarget& target, std::string_view table,
                                          const ShardLayout& layout);

}  // namespace karmad
