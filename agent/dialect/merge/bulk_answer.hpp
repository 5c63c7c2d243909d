#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/bulk_lines.hpp"

namespace karmad {

/// The answer to a bulk has the form of the engine's, with the items in the order of the client's
/// lines.
struct BulkItems {
  std::string table;

  /// About the most bytes of the item for a line that failed.
  std::size_t item_size() const;
};

/// As merge_changes(). `body`: the one that `split` splits. The status is 200, or with `errors`
/// 500, or the mirror's status if all parts are refused. Items are in the order of the client's
/// lines; that of a transaction stands at its last line that was carried out, and names its id.
/// `current_line` is then the last line, and `skipped_lines` counts the lines that were not carried
/// out by all mirrors they were sent to.
int merge_bulk(const BulkItems& items, std::string_view body, const BulkSplit& split,
               std::span<const ChangeReply> replies, std::string& out);

/// The answer to a `_bulk`: one item for each action, in the client's order. An action failed if
/// one of the mirrors it was sent to has not committed its line.
struct ElasticBulkItems {
  std::string table;
  std::vector<std::string> actions;  ///< of each line

  /// About the most bytes of an item.
  std::size_t item_size() const;
};

/// As merge_changes(). `body`: the one that `split` splits.
int merge_elastic_bulk(const ElasticBulkItems& items, std::string_view body, const BulkSplit& split,
                       std::span<const ChangeReply> replies, std::string& out);

}  // namespace karmad
