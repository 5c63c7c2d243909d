#include "agent/dialect/merge/percolated.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "agent/dialect/replies/search_reply.hpp"
#include "agent/dialect/rows/sort_value.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// A stored query that matched.
struct PercolatedHit {
  std::string_view bytes;
  std::string_view table;  ///< position of the name of the table; empty: it is not named
  SortValue id;
};

/// Adds the hits of one answer; false if they are malformed.
bool read_percolated(JsonCursor json, std::vector<PercolatedHit>& hits) {
  JsonElements elements(json);
  while (elements.next()) {
    skip_space(json);
    const auto* const begin = json.at;
    PercolatedHit hit;
    const bool whole = visit_members(json, [&](std::string_view key, std::string_view value) {
      if (key == "_id") hit.id = sort_value(value);
      if ((key == "table" || key == "_index") && is_string(value)) hit.table = value;
      return true;
    });
    if (!whole) return false;
    hit.bytes = {begin, static_cast<std::size_t>(json.at - begin)};
    hits.push_back(hit);
  }
  return elements.complete();
}

void add_hit(JsonLine& out, const PercolatedHit& hit, std::string_view table) {
  if (hit.table.empty()) return out.add(hit.bytes);
  const auto at = static_cast<std::size_t>(hit.table.data() - hit.bytes.data());
  out.add(hit.bytes.substr(0, at));
  out.add_quoted(table);
  out.add(hit.bytes.substr(at + hit.table.size()));
}

}  // namespace

std::string why_not_percolated(std::string_view body) {
  const auto head = read_reply(body, ReadTail::no);
  return head ? std::string() : head.error();
}

std::optional<BadReply> merge_percolated(const PercolateMerge& how,
                                         std::span<const ShardReply> replies,
                                         const MergeNotes& notes, std::string& to) {
  std::vector<PercolatedHit> hits;
  std::string warning(notes.warning);
  bool timed_out = notes.timed_out;
  for (std::size_t s = 0; s < replies.size(); ++s) {
    if (replies[s].body.empty()) continue;
    const auto head = read_reply(replies[s].body, ReadTail::no);
    if (!head) return BadReply{s, head.error()};
    timed_out |= head->timed_out;
    if (!head->warning.empty())
      warning.append(warning.empty() ? "" : ";\n").append(json_unescaped(head->warning));
    if (!read_percolated(head->hits, hits)) return BadReply{s, "a hit is malformed"};
  }
  std::ranges::stable_sort(hits, [](const PercolatedHit& a, const PercolatedHit& b) {
    return compare(a.id, b.id, Collation::binary) < 0;
  });
  JsonLine out(to);
  out.add(R"({"took":)");
  out.add_number(std::chrono::duration_cast<std::chrono::milliseconds>(notes.took).count());
  out.add(timed_out ? R"(,"timed_out":true)" : R"(,"timed_out":false)");
  if (!warning.empty()) {
    out.add(R"(,"warning":{"reason":)");
    out.add_quoted(warning);
    out.add('}');
  }
  out.add(R"(,"hits":{"total":)");
  out.add_number(hits.size());
  out.add(R"(,"max_score":1,"hits":[)");  // the server's score of every stored query
  for (const auto& hit : hits) {
    if (&hit != hits.data()) out.add(',');
    add_hit(out, hit, how.table);
  }
  out.add("]}}");
  return std::nullopt;
}

}  // namespace karmad
