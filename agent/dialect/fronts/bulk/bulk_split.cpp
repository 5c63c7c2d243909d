#include "agent/dialect/fronts/bulk/bulk_split.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "agent/dialect/fronts/bulk/update_request.hpp"
#include "agent/dialect/fronts/bulk/update_target.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestBulk = std::numeric_limits<std::uint32_t>::max();

BulkBytes bulk_bytes(ByteRange range) {
  return {static_cast<std::uint32_t>(range.begin), static_cast<std::uint32_t>(range.end)};
}

/// The verb of a line and the update in it.
struct LineAction {
  UpdateVerb verb = UpdateVerb::insert;
  std::string_view update;
};

std::optional<LineAction> action_of(std::string_view line) {
  std::optional<LineAction> action;
  visit_members(line, [&](std::string_view key, std::string_view value) {
    if (const auto verb = update_verb(json_unescaped(key))) action = LineAction{*verb, value};
    return true;
  });
  return action;
}

class Splitter {
 public:
  Splitter(std::string_view body, std::string_view table, ShardLayout layout)
      : body_(body), table_(table), layout_(layout) {}

  /// Adds the line, or says what is wrong with it.
  std::optional<std::string> add(const UpdateLine& from) {
    const auto action = action_of(from.text);
    if (!action) return "is not JSON in UTF-8";
    auto target = read_target(action->update);
    if (!target) return target.error();
    if (makes_document(action->verb))
      if (auto why = place_document(*target, table_, layout_)) return why;
    auto& lines = split_.lines;
    BulkLine line{.text = bulk_bytes({from.begin, from.begin + from.text.size()}),
                  .table = bulk_bytes(from.places.first),
                  .other_table = bulk_bytes(from.places.second),
                  .made_id = target->made_id,
                  .verb = action->verb};
    if (target->id) {
      const auto at = static_cast<std::size_t>(target->raw_id.data() - body_.data());
      line.id = bulk_bytes({at, at + target->raw_id.size()});
    }
    const bool one = target->id && (makes_document(line.verb) || !target->by_query);
    if (one && layout_.by == ShardBy::id)
      line.shard = static_cast<std::uint32_t>(target->id->shard(layout_.shards));
    if (!lines.empty()) {
      const bool apart = from.number != last_number_ + 1 || line.verb == UpdateVerb::update ||
                         lines.back().verb == UpdateVerb::update;
      line.group = lines.back().group + (apart ? 1 : 0);
    }
    last_number_ = from.number;
    lines.push_back(line);
    return std::nullopt;
  }

  BulkSplit take() {
    split_.line_count = 1 + static_cast<std::size_t>(std::ranges::count(body_, '\n'));
    return std::move(split_);
  }

 private:
  std::string_view body_;
  std::string_view table_;
  ShardLayout layout_;
  BulkSplit split_;
  std::size_t last_number_ = 0;
};

}  // namespace

std::expected<BulkSplit, ClientError> split_bulk(std::string_view body, std::string_view table,
                                                 ShardLayout layout, unsigned max_depth) {
  if (body.size() > kLongestBulk)
    return std::unexpected(ClientError{
        413,
        fmt::format("the bulk has {} bytes in the engine's form, more than {}; send it in parts",
                    body.size(), kLongestBulk)});
  Splitter splitter(body, table, layout);
  auto wrong =
      visit_bulk(body, max_depth, [&](const UpdateLine& line) { return splitter.add(line); });
  if (wrong) return std::unexpected(*std::move(wrong));
  return splitter.take();
}

}  // namespace karmad
