#include "agent/dialect/merge/search_merge.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/merge/aggregations.hpp"
#include "agent/dialect/merge/merge_hits.hpp"
#include "agent/dialect/replies/infinities.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

std::string_view value_in(const MergedHit& hit, const SortKey& key) {
  if (key.by == SortKey::By::score) return last_member(hit.bytes, "_score");
  if (key.by == SortKey::By::id) return last_member(hit.bytes, "_id");
  return last_member(hit.source, key.name, same_attribute);
}

/// A server does not continue behind a text that an expression gives.
ScrollKey key_of(const HitScroll& scroll, const MergedHit& hit, const SortKey& key) {
  auto read = scroll_key(scroll_attribute(key), key.descending, value_in(hit, key));
  if (read.type == "string" && !last_member(scroll.expressions, key.name, same_attribute).empty())
    read.type.clear();
  return read;
}

/// The token of the next page; empty if there is none: the first page is empty, or a sort value of
/// the last hit is too long. `before`: hits that were merged and precede the page.
std::string next_token(const HitScroll& scroll, const std::vector<SortKey>& keys,
                       std::size_t before, std::span<const MergedHit> page,
                       std::span<const ShardReply> replies) {
  if (page.empty()) return scroll.pages.given();
  return scroll.pages.next_token(
      {.before = before,
       .rows = page.size(),
       .keys = keys.size(),
       .value = [&](std::size_t row, std::size_t k) { return key_of(scroll, page[row], keys[k]); }},
      replies);
}

/// Sums over all shards besides hits and aggregations.
struct Totals {
  std::uint64_t total = 0;
  bool lower_bound = false;
  bool timed_out = false;
};

void add_warning(JsonLine& out, std::string_view notes, std::span<const ReplyHead> heads) {
  bool open = false;
  const auto add = [&](std::string_view text) {
    out.add(open ? ";\\n" : R"(,"warning":{"reason":")");
    open = true;
    out.add_escaped(text);
  };
  if (!notes.empty()) add(notes);
  for (std::size_t s = 0; s < heads.size(); ++s)
    if (!heads[s].warning.empty())
      add(fmt::format("shard {}: {}", s + 1, json_unescaped(heads[s].warning)));
  if (open) out.add("\"}");
}

/// The merged answer up to the hits.
void add_beginning(JsonLine out, const MergeNotes& notes, const Totals& totals,
                   std::span<const ReplyHead> heads) {
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(notes.took).count();
  out.add(R"({"took":)");
  out.add_number(took);
  out.add(R"(,"timed_out":)");
  out.add(totals.timed_out ? "true" : "false");
  add_warning(out, notes.warning, heads);
  out.add(R"(,"hits":{"total":)");
  out.add_number(totals.total);
  out.add(R"(,"total_relation":")");
  out.add(totals.lower_bound ? "gte" : "eq");
  out.add(R"(","hits":[)");
}

/// `profile` and `plan` of each shard under its number.
void add_of_shards(std::span<const ReplyHead> heads, std::string& out) {
  const auto add = [&](std::string_view name, std::string_view ReplyHead::*part) {
    bool open = false;
    for (std::size_t s = 0; s < heads.size(); ++s) {
      if ((heads[s].*part).empty()) continue;
      out += open ? "," : fmt::format(R"(,"{}":{{"shards":[)", name);
      open = true;
      fmt::format_to(std::back_inserter(out), R"({{"shard":{},"{}":{}}})", s + 1, name,
                     heads[s].*part);
    }
    if (open) out += "]}";
  };
  add("profile", &ReplyHead::profile);
  add("plan", &ReplyHead::plan);
}

std::optional<BadReply> merge_valid(const SearchMerge& how, std::span<const ShardReply> replies,
                                    const MergeNotes& notes, std::string& out) {
  const auto tail = how.reads_tail ? ReadTail::yes : ReadTail::no;
  std::vector<ReplyHead> heads(replies.size());
  std::vector<JsonCursor> hits(replies.size());
  Totals totals{.timed_out = notes.timed_out};
  for (std::size_t s = 0; s < replies.size(); ++s) {
    if (replies[s].body.empty()) continue;
    auto head = read_reply(replies[s].body, tail);
    if (!head) return BadReply{s, std::move(head.error())};
    totals.total += head->total;
    totals.lower_bound |= head->total_is_lower_bound;
    totals.timed_out |= head->timed_out;
    hits[s] = head->hits;
    heads[s] = *head;
  }
  const auto merged =
      merge_hits(hits, {how.keys, how.collation, how.nearest}, how.offset, how.limit);
  if (!merged) return merged.error();
  totals.total -= std::min(totals.total, merged->duplicates);
  if (how.most_found) totals.total = std::min(totals.total, *how.most_found);
  if (how.scroll) totals.total -= std::min(totals.total, how.scroll->pages.skip());

  const auto before = out.size();
  add_beginning(JsonLine(out), notes, totals, heads);
  for (const auto& hit : merged->page) {
    if (&hit != &merged->page.front()) out += ',';
    append_hit(out, hit, how.source);
  }
  out += "]}";
  if (!how.aggregations.empty()) {
    if (auto bad = merge_aggregations(how.aggregations, heads, how.collation, out)) {
      out.resize(before);
      return bad;
    }
  }
  add_of_shards(heads, out);
  if (how.scroll) {
    const auto token = next_token(*how.scroll, how.keys, how.offset, merged->page, replies);
    if (!token.empty()) out.append(R"(,"scroll":")").append(token).append("\"");
  }
  out += '}';
  return std::nullopt;
}

}  // namespace

std::string scroll_attribute(const SortKey& key) {
  return key.by == SortKey::By::score ? "weight()" : key.by == SortKey::By::id ? "id" : key.name;
}

std::optional<BadReply> merge_search(const SearchMerge& how, std::span<const ShardReply> replies,
                                     const MergeNotes& notes, std::string& out) {
  return merge_with_infinities(replies, out, false, [&](std::span<const ShardReply> readable) {
    return merge_valid(how, readable, notes, out);
  });
}

unsigned merge_weight(const SearchMerge& how) {
  constexpr unsigned kOfBuckets = 4;
  constexpr std::size_t kKeysForOne = 4;
  return 1 + static_cast<unsigned>(how.keys.size() / kKeysForOne) +
         (how.aggregations.empty() ? 0 : kOfBuckets);
}

std::optional<BadReply> pass_object_on(const ShardReply& reply, std::string& out) {
  if (const auto object = whole_object(reply.body)) return out.append(*object), std::nullopt;
  const auto clean = without_infinities(reply.body);
  const auto object = clean ? whole_object(*clean) : std::nullopt;
  if (!object) return BadReply{0, "it is malformed"};
  const auto begin = out.size();
  out += *object;
  end_infinities(out, begin);
  return std::nullopt;
}

}  // namespace karmad
