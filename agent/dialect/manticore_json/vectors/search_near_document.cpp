#include "agent/dialect/manticore_json/vectors/search_near_document.hpp"

#include <utility>

#include "agent/dialect/manticore_json/reply.hpp"
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

}  // namespace karmad
