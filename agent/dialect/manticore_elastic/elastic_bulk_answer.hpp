#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_update/bulk_split.hpp"

namespace karmad {

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
