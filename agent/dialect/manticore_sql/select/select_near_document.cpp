#include "agent/dialect/manticore_sql/select/select_near_document.hpp"

#include <vector>

#include "agent/dialect/manticore_sql/rows/raw_replies.hpp"

namespace karmad {

std::size_t append_look_up(std::string& out, const SelectedDocument& document) {
  out.append("SELECT ").append(document.attribute).append(" FROM ");
  const auto table = out.size();
  out.append(" WHERE id=").append(document.id).append(" LIMIT 1");
  return table;
}

std::expected<std::optional<std::string_view>, std::string> vector_in(const SelectNearDocument&,
                                                                      std::string_view reply) {
  RawReplies replies;
  const ShardReply only{reply};
  if (auto bad = replies.read({&only, 1}, 1, LastSet::whole))
    return std::unexpected(std::move(bad->reason));
  const auto& set = replies.set(0, 0);
  if (set.columns == 0) return std::nullopt;
  std::vector<std::string_view> cells(set.columns);
  switch (RawRows(set.rows).next(replies.columns_of(set), cells.data())) {
    case RawRows::Step::row:
      return cells.front();
    case RawRows::Step::end:
      return std::nullopt;
    case RawRows::Step::malformed:
      break;
  }
  return std::unexpected("a row is malformed");
}

}  // namespace karmad
