#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/merge/merge_steps.hpp"
#include "agent/dialect/merge/sorted_merge.hpp"
#include "agent/dialect/replies/error_text.hpp"
#include "agent/dialect/replies/infinities.hpp"
#include "agent/dialect/write/write_hits.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// Servers order ids as signed numbers of 64 bits, which they show as unsigned ones.
SortValue id_order(std::string_view id) {
  constexpr auto kSign = std::uint64_t{1} << 63;
  auto value = sort_value(id);
  auto& number = value.number;
  if (number.integer && !number.negative && number.magnitude >= kSign) {
    number.negative = true;
    number.magnitude = 0 - number.magnitude;
  }
  return value;
}

/// A hit: its bytes, and its `_source` within them.
struct Hit {
  std::string_view bytes;
  std::string_view source{};
  std::size_t shard = 0;
};

/// The hits of one shard during the walk, with the current hit.
struct HitLane : MergeLane {
  RawRows rows;
  Hit hit;
};

class HitRows {
 public:
  HitRows(std::span<const ReplyHead> shards, std::span<const SortKey> keys, Collation collation)
      : lanes(shards.size()),
        values(keys, collation, shards.size()),
        by_attribute_(std::ranges::any_of(keys, is_attribute)) {
    for (std::size_t s = 0; s < shards.size(); ++s) lanes[s].rows = RawRows(shards[s].hits);
  }

  std::vector<HitLane> lanes;
  SortTable<SortKey> values;
  std::vector<Hit> page;

  RawRows::Step next(std::size_t shard) {
    const auto step = lanes[shard].rows.to_next();
    return step != RawRows::Step::row || read_hit(shard) ? step : RawRows::Step::malformed;
  }

  /// By the bytes received: no hit is shorter than `{},`.
  std::size_t most_rows() const {
    std::size_t bytes = 0;
    for (const auto& lane : lanes) bytes += lane.rows.bytes_left() + lane.hit.bytes.size();
    return bytes / 3 + lanes.size();
  }

  void keep(std::size_t shard) { page.push_back(lanes[shard].hit); }

 private:
  static bool is_attribute(const SortKey& key) { return key.by == SortKey::By::attribute; }
  static bool has_path(const SortKey& key) { return !key.path.empty(); }

  bool read_hit(std::size_t shard) {
    auto& lane = lanes[shard];
    auto& json = lane.rows.rest();
    const auto* const begin = json.at;
    lane.id = lane.distance = lane.hit.source = {};
    for (auto& value : std::span(values.row(shard), values.keys().size()))
      value.kind = SortValue::Kind::missing;

    JsonMembers members(json);
    while (const auto key = members.next(R"("_id":)", R"("_score":)", R"("_source":)")) {
      const auto value = take_value(json);
      if (!value) return false;
      if (equals_literal(*key, "_id")) {
        if (is_object(*value) || is_array(*value)) return false;
        lane.id = *value;
        read_key(SortKey::By::id, *value, shard);
      } else if (equals_literal(*key, "_score")) {
        read_key(SortKey::By::score, *value, shard);
      } else if (equals_literal(*key, "_knn_dist")) {
        lane.distance = *value;
        read_key(SortKey::By::knn_dist, *value, shard);
      } else if (equals_literal(*key, "_hybrid_score")) {
        read_key(SortKey::By::hybrid_score, *value, shard);
      } else if (equals_literal(*key, "_source")) {
        lane.hit.source = *value;
      }
    }
    lane.hit.bytes = {begin, static_cast<std::size_t>(json.at - begin)};
    lane.hit.shard = shard;
    return members.complete() && (!by_attribute_ || read_attributes(lane.hit.source, shard));
  }

  void read_key(SortKey::By by, std::string_view value, std::size_t shard) {
    const auto keys = values.keys();
    auto* const row = values.row(shard);
    for (std::size_t k = 0; k < keys.size(); ++k)
      if (keys[k].by == by) row[k] = by == SortKey::By::id ? id_order(value) : sort_value(value);
  }

  /// Reads the keys that are attributes, or values inside of them. Of members with the same name
  /// the last counts.
  bool read_attributes(std::string_view source, std::size_t shard) {
    if (!source.empty() && !is_object(source)) return false;
    const auto keys = values.keys();
    PassedMembers members(source);
    while (const auto member = members.next())
      for (std::size_t k = 0; k < keys.size(); ++k)
        if (is_attribute(keys[k]) && !has_path(keys[k]) &&
            same_attribute(keys[k].name, member->name))
          values.row(shard)[k] = sort_value(member->value);
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (!has_path(keys[k])) continue;
      const auto attribute = last_member(source, keys[k].attribute, same_attribute);
      values.row(shard)[k] =
          json_sort_value(value_at(attribute, keys[k].path), values.room(shard, k));
    }
    return true;
  }

  bool by_attribute_;
};

void append_hit(std::string& out, const Hit& hit, const SourcePlan& source) {
  if (source.hidden.empty() || !is_object(hit.source)) {
    out += hit.bytes;
    return;
  }
  const auto before = static_cast<std::size_t>(hit.source.data() - hit.bytes.data());
  out += hit.bytes.substr(0, before);
  out += '{';
  bool first = true;
  PassedMembers members(hit.source);
  while (const auto member = members.next()) {
    if (source.hides(member->name)) continue;
    out.append(first ? "\"" : ",\"").append(member->name).append("\":").append(member->value);
    first = false;
  }
  out += '}';
  out += hit.bytes.substr(before + hit.source.size());
}

std::string_view value_in(const Hit& hit, const SortKey& key) {
  if (key.by == SortKey::By::score) return last_member(hit.bytes, "_score");
  if (key.by == SortKey::By::id) return last_member(hit.bytes, "_id");
  if (key.by == SortKey::By::knn_dist) return last_member(hit.bytes, "_knn_dist");
  if (key.by == SortKey::By::hybrid_score) return last_member(hit.bytes, "_hybrid_score");
  return last_member(hit.source, key.name, same_attribute);
}

/// Adds `"sort":[…]` to the hit at the end of `out`.
void append_sort_values(std::string& out, const Hit& hit, std::span<const SortKey> keys) {
  out.back() = ',';
  for (const auto& key : keys) {
    const auto value =
        key.path.empty()
            ? value_in(hit, key)
            : value_at(last_member(hit.source, key.attribute, same_attribute), key.path);
    out.append(&key == keys.data() ? R"("sort":[)" : ",").append(value.empty() ? "null" : value);
  }
  out += "]}";
}

/// A server does not continue behind a text that an expression gives.
ScrollKey key_of(const HitScroll& scroll, const Hit& hit, const SortKey& key) {
  auto read = scroll_key(scroll_attribute(key), key.descending, value_in(hit, key));
  if (read.type == "string" && !last_member(scroll.expressions, key.name, same_attribute).empty())
    read.type.clear();
  return read;
}

/// The token of the next page; empty if there is none: the first page is empty, or a sort value of
/// the last hit is too long. `before`: hits that were merged and precede the page.
std::string next_token(const HitScroll& scroll, const std::vector<SortKey>& keys,
                       std::size_t before, std::span<const Hit> page,
                       std::span<const ShardReply> replies) {
  if (page.empty()) return scroll.pages.given();
  return scroll.pages.next_token(
      {.before = before,
       .rows = page.size(),
       .keys = keys.size(),
       .value = [&](std::size_t row, std::size_t k) { return key_of(scroll, page[row], keys[k]); }},
      replies);
}

/// What the shards say besides their hits, and in all.
struct Heads {
  std::vector<ReplyHead> of_shards;
  TotalFound total{};
  bool timed_out = false;
};

std::optional<BadReply> read_heads(std::span<const ShardReply> replies, ReadTail tail,
                                   Heads& heads) {
  heads.of_shards.resize(replies.size());
  for (std::size_t s = 0; s < replies.size(); ++s) {
    if (replies[s].body.empty()) continue;
    auto head = read_reply(replies[s].body, tail);
    if (!head) return BadReply{s, std::move(head.error())};
    heads.total.add(head->total);
    heads.total.is_lower_bound |= head->total_is_lower_bound;
    heads.timed_out |= head->timed_out;
    heads.of_shards[s] = *head;
  }
  return std::nullopt;
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
  Heads heads{.timed_out = notes.timed_out};
  if (auto bad = read_heads(replies, how.reads_tail ? ReadTail::yes : ReadTail::no, heads))
    return bad;
  HitRows hits(heads.of_shards, how.keys, how.collation);
  hits.page.reserve(std::min(how.limit, hits.most_rows()));
  SortedMerge merge(hits, {how.offset, how.limit, how.nearest});
  if (const auto shard = merge.run()) return BadReply{*shard, "a hit is malformed"};
  auto& total = heads.total;
  total.count -= std::min(total.count, merge.copies());
  total.cut(how.stops_at);
  if (how.most_found) total.count = std::min(total.count, *how.most_found);
  if (how.scroll) total.count -= std::min(total.count, how.scroll->pages.skip());

  const auto before = out.size();
  Warnings warnings(notes.warning);
  for (std::size_t s = 0; s < replies.size(); ++s)
    warnings.add_of_shard(s, heads.of_shards[s].warning);
  {
    JsonLine line(out);
    add_hits_head(line, {notes.took, heads.timed_out, warnings.text()});
    add_total(line, total);
  }
  for (const auto& hit : hits.page) {
    if (&hit != hits.page.data()) out += ',';
    const auto begin = out.size();
    append_hit(out, hit, how.source);
    if (how.shown_keys != 0)
      append_sort_values(out, hit, std::span(how.keys).subspan(how.first_shown, how.shown_keys));
    if (notes.tables.empty() || hit.source.empty()) continue;
    out.insert(begin + 1, fmt::format(R"("_index":"{}",)", notes.tables[hit.shard]));
  }
  out += "]}";
  if (!how.aggregations.empty()) {
    if (auto bad = merge_aggregations(how.aggregations, heads.of_shards, how.collation, out)) {
      out.resize(before);
      return bad;
    }
  }
  add_of_shards(heads.of_shards, out);
  if (how.scroll) {
    const auto token = next_token(*how.scroll, how.keys, how.offset, hits.page, replies);
    if (!token.empty()) out.append(R"(,"scroll":")").append(token).append("\"");
  }
  out += '}';
  return std::nullopt;
}

/// The name of the table in a hit; empty: it does not name it.
std::string_view table_in(std::string_view hit) {
  std::string_view table;
  PassedMembers members(hit);
  while (const auto member = members.next())
    if ((member->name == "table" || member->name == "_index") && is_string(member->value))
      table = member->value;
  return table;
}

}  // namespace

bool SourcePlan::hides(std::string_view member) const {
  return std::ranges::any_of(hidden,
                             [&](const auto& pattern) { return source_matches(pattern, member); });
}

std::string scroll_attribute(const SortKey& key) {
  return key.by == SortKey::By::score ? "weight()" : key.by == SortKey::By::id ? "id" : key.name;
}

std::optional<BadReply> merge_replies(const SearchMerge& how, std::span<const ShardReply> replies,
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

std::optional<BadReply> merge_replies(const PercolateMerge& how,
                                      std::span<const ShardReply> replies, const MergeNotes& notes,
                                      std::string& to) {
  Heads heads{.timed_out = notes.timed_out};
  if (auto bad = read_heads(replies, ReadTail::no, heads)) return bad;
  const SortKey by_id[] = {{.by = SortKey::By::id}};
  HitRows hits(heads.of_shards, by_id, Collation::binary);
  SortedMerge merge(hits, {.limit = hits.most_rows(), .copies = true});
  if (const auto shard = merge.run()) return BadReply{*shard, "a hit is malformed"};
  Warnings warnings(notes.warning);
  for (const auto& head : heads.of_shards) warnings.add(json_unescaped(head.warning));
  JsonLine out(to);
  add_hits_head(out, {notes.took, heads.timed_out, warnings.text()});
  // The server's score of every stored query is 1.
  out.add(hits.page.size(), R"(,"max_score":1,"hits":[)");
  for (const auto& hit : hits.page) {
    if (&hit != hits.page.data()) out.add(',');
    const auto bytes = hit.bytes;
    const auto table = table_in(bytes);
    const auto at =
        table.empty() ? bytes.size() : static_cast<std::size_t>(table.data() - bytes.data());
    out.add(bytes.substr(0, at));
    if (!table.empty()) out.add(Quoted(how.table), bytes.substr(at + table.size()));
  }
  out.add("]}}");
  return std::nullopt;
}

std::string why_not_percolated(std::string_view body) {
  const auto head = read_reply(body, ReadTail::no);
  return head ? std::string() : head.error();
}

std::optional<BadReply> merge_replies(const OneShardObject&, std::span<const ShardReply> replies,
                                      const MergeNotes&, std::string& out) {
  const auto body = replies.front().body;
  if (const auto object = whole_object(body)) return out.append(*object), std::nullopt;
  const auto clean = without_infinities(body);
  const auto object = clean ? whole_object(*clean) : std::nullopt;
  if (!object) return BadReply{0, "it is malformed"};
  const auto begin = out.size();
  out += *object;
  end_infinities(out, begin);
  return std::nullopt;
}

}  // namespace karmad
