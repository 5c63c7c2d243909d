#include "agent/dialect/manticore_update/bulk_plan.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/dialect/manticore_update/bulk_answer.hpp"
#include "agent/dialect/manticore_update/bulk_split.hpp"
#include "agent/dialect/manticore_update/update_answer.hpp"

namespace karmad {

namespace {

/// Bytes of the item for a line that failed, without the names of the table.
constexpr std::size_t kErrorItemSize = 170;

class BulkPlan final : public ChangePlan {
 public:
  BulkPlan(const ClientRequest& request, std::string table, BulkSplit split, std::size_t shards)
      : body_(request.body), table_(std::move(table)), split_(std::move(split)), asked_(shards) {
    for (const auto& line : split_.lines)
      for (std::size_t i = 0; i < shards; ++i)
        if (line.goes_to(i)) asked_[i] = true;
  }

  bool asks(std::size_t shard) const override { return asked_[shard]; }

  void write(std::size_t shard, std::span<const std::string> tables,
             std::string& body) const override {
    append_shard_bulk(body, body_, split_, shard, tables.front());
  }

  std::size_t merge_changes_size(std::span<const ChangeReply> replies) const override {
    const auto size = ChangePlan::merge_changes_size(replies);
    const bool all = std::ranges::all_of(replies, &ChangeReply::done);
    return all ? size : size + split_.lines.size() * (kErrorItemSize + 2 * table_.size());
  }

  int merge_changes(std::span<const ChangeReply> given, std::string& out) const override {
    const auto is_bulk = [](std::string_view body) { return read_bulk_answer(body).has_value(); };
    const bool any_bulk =
        std::ranges::any_of(given, [&](const auto& reply) { return is_bulk(reply.body); });
    if (const auto* refusal = common_refusal(given); refusal != nullptr && !any_bulk) {
      out.append(with_table(refusal->body, table_).value_or(std::string(refusal->body)));
      return refusal->status;
    }
    const auto replies = checked(given, is_bulk);
    const auto begin = out.size();
    const auto status = append_bulk_answer(
        out, {.body = body_, .table = table_, .split = &split_, .replies = replies});
    if (const auto named = with_table(std::string_view(out).substr(begin), table_))
      out.replace(begin, std::string::npos, *named);
    return status;
  }

 private:
  std::string_view body_;
  std::string table_;
  BulkSplit split_;
  std::vector<bool> asked_;
};

}  // namespace

std::expected<std::unique_ptr<FanOut>, ClientError> plan_bulk(const ClientRequest& request,
                                                              const Parsed& parsed,
                                                              ShardLayout layout,
                                                              unsigned max_depth) {
  auto split = split_bulk(request.body, parsed.table, layout, max_depth);
  if (!split) return std::unexpected(std::move(split.error()));
  return std::make_unique<BulkPlan>(request, parsed.table, *std::move(split), layout.shards);
}

}  // namespace karmad
