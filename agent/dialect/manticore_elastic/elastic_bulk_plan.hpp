#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "agent/dialect/changes/change_plan.hpp"
#include "agent/dialect/manticore_elastic/elastic_bulk.hpp"
#include "agent/dialect/manticore_update/bulk_split.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

/// The plan of a `_bulk`: mirrors get a `/bulk`, the client one item for each action, in its order.
/// An action failed if one of the mirrors it was sent to has not committed its line.
class ElasticBulkPlan final : public ChangePlan {
 public:
  ElasticBulkPlan(ElasticBulk bulk, BulkSplit split, std::size_t shards);

  bool asks(std::size_t shard) const override { return last_lines_[shard] != 0; }
  void write(std::size_t shard, std::span<const std::string> tables,
             std::string& body) const override;
  std::size_t merge_changes_size(std::span<const ChangeReply> replies) const override;
  int merge_changes(std::span<const ChangeReply> given, std::string& out) const override;

 private:
  /// The beginning of the item for a line, with its id.
  void add_item_head(JsonLine& out, std::size_t at) const;

  const ElasticBulk bulk_;
  const BulkSplit split_;
  std::vector<std::size_t> last_lines_;  ///< number of each shard's last line; 0: it has none
};

/// Plans a `_bulk` like a `/bulk` for the shards of its table; the answer has one item for each
/// action.
std::expected<std::unique_ptr<FanOut>, ClientError> plan_elastic_bulk(ElasticBulk bulk,
                                                                      const Parsed& parsed,
                                                                      ShardLayout layout,
                                                                      unsigned max_depth);

}  // namespace karmad
