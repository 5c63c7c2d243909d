#include "agent/dialect/plan/near_document.hpp"

#include <utility>
#include <vector>

#include "agent/dialect/replies/raw_replies.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

std::size_t append_look_up(std::string& to, const KnnDocument& document) {
  to += R"({"table":)";
  const auto table = to.size();
  JsonLine out(to);
  out.add(R"(,"query":{"equals":{"id":)");
  out.add(document.id);
  out.add(R"(}},"_source":[)");
  out.add_quoted(lower(document.field));
  out.add(R"(],"limit":1})");
  return table;
}

std::expected<std::optional<std::string_view>, std::string> vector_in(
    const SearchNearDocument& step, std::string_view reply) {
  auto head = read_reply(reply, ReadTail::no);
  if (!head) return std::unexpected(std::move(head.error()));
  JsonElements hits(head->hits);
  if (!hits.next()) {
    if (!hits.complete()) return std::unexpected("its hits are malformed");
    return std::nullopt;
  }
  std::string_view source;
  const bool whole = visit_members(head->hits, [&](std::string_view key, std::string_view value) {
    if (json_says(key, "_source")) source = value;
    return true;
  });
  if (!whole || !is_object(source)) return std::unexpected("a hit is malformed");
  PassedMembers members(source);
  while (const auto member = members.next())
    if (same_attribute(json_unescaped(member->name), step.document.field)) return member->value;
  return std::string_view();
}

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
