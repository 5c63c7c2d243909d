#include "agent/dialect/merge/merge_hits.hpp"

#include <algorithm>

#include "agent/dialect/merge/lanes.hpp"
#include "agent/dialect/merge/nearest_bound.hpp"
#include "agent/dialect/rows/sort_value.hpp"

namespace karmad {

namespace {

/// The hits of one shard during the walk, with the current hit.
struct Lane {
  JsonCursor rest;
  bool started = false;
  MergedHit hit;
  std::string_view id;  ///< its bytes; empty: the hit has none (a group)
  std::string_view distance;
};

enum class Advance { hit, end, malformed };

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

class Merge {
 public:
  Merge(std::span<const JsonCursor> hits, const HitOrder& order)
      : order_(order), lanes_(hits.size()), values_(hits.size() * order.keys.size()) {
    for (std::size_t s = 0; s < hits.size(); ++s) lanes_[s].rest = hits[s];
    const auto has_path = [](const SortKey& key) { return !key.path.empty(); };
    if (std::ranges::any_of(order.keys, has_path)) texts_.resize(values_.size());
  }

  std::expected<MergedHits, BadReply> run(std::size_t offset, std::size_t limit) {
    MergedHits merged;
    const auto wanted = offset + limit;
    if (limit == 0) return merged;
    if (order_.nearest != 0)
      if (const auto shard = find_nearest()) return malformed(*shard);
    LaneHeap heap(lanes_.size(),
                  [this](std::uint32_t a, std::uint32_t b) { return comes_after(a, b); });
    for (std::uint32_t s = 0; s < lanes_.size(); ++s) {
      if (lanes_[s].rest.at == nullptr) continue;
      const auto step = next_hit(s);
      if (step == Advance::malformed) return malformed(s);
      if (step == Advance::hit) heap.add(head(s));
    }
    heap.order();
    SeenIds seen(std::min(wanted, most_hits()));
    merged.page.reserve(std::min(limit, most_hits()));
    for (std::size_t walked = 0; walked < wanted && !heap.empty();) {
      const auto s = heap.best();
      const auto& lane = lanes_[s];
      if (!lane.id.empty() && !seen.insert(lane.id)) {
        ++merged.duplicates;
      } else {
        if (walked >= offset) merged.page.push_back(lane.hit);
        ++walked;
      }
      switch (next_hit(s)) {
        case Advance::malformed:
          return malformed(s);
        case Advance::hit:
          heap.replace_best(head(s));
          break;
        case Advance::end:
          heap.remove_best();
      }
    }
    return merged;
  }

 private:
  static std::unexpected<BadReply> malformed(std::size_t shard) {
    return std::unexpected(BadReply{shard, "a hit is malformed"});
  }

  /// Reads the distances of all hits; the shard with a malformed one, if any.
  std::optional<std::size_t> find_nearest() {
    for (std::size_t s = 0; s < lanes_.size(); ++s) {
      const auto before = lanes_[s];
      if (before.rest.at == nullptr) continue;
      auto step = advance(s);
      for (; step == Advance::hit; step = advance(s))
        nearest_.add(lanes_[s].distance, lanes_[s].id);
      if (step == Advance::malformed) return s;
      lanes_[s] = before;
    }
    nearest_.settle(order_.nearest);
    return std::nullopt;
  }

  /// Advances a shard to its next hit that may be on the page.
  Advance next_hit(std::size_t shard) {
    auto step = advance(shard);
    while (order_.nearest != 0 && step == Advance::hit &&
           !nearest_.includes(lanes_[shard].distance, lanes_[shard].id))
      step = advance(shard);
    return step;
  }

  /// Bounds the reserved memory by the bytes received: no hit is shorter than `{},`.
  std::size_t most_hits() const {
    std::size_t bytes = 0;
    for (const auto& lane : lanes_)
      bytes += static_cast<std::size_t>(lane.rest.end - lane.rest.at) + lane.hit.bytes.size();
    return bytes / 3 + lanes_.size();
  }

  SortValue* values_of(std::size_t shard) { return values_.data() + shard * order_.keys.size(); }
  const SortValue* values_of(std::size_t shard) const {
    return values_.data() + shard * order_.keys.size();
  }

  /// Advances a shard to its next hit and reads its sort values.
  Advance advance(std::size_t shard) {
    auto& lane = lanes_[shard];
    auto& json = lane.rest;
    if (take(json, lane.started ? ']' : '[')) {
      if (lane.started) return Advance::end;
      lane.started = true;
      if (take(json, ']')) return Advance::end;
    } else if (!lane.started || !take(json, ',')) {
      return Advance::malformed;
    }
    skip_space(json);
    return read_hit(shard) ? Advance::hit : Advance::malformed;
  }

  bool read_hit(std::size_t shard) {
    auto& lane = lanes_[shard];
    auto* const values = values_of(shard);
    const auto& keys = order_.keys;
    const auto* const begin = lane.rest.at;
    lane.id = {};
    lane.distance = {};
    lane.hit.source = {};
    for (std::size_t k = 0; k < keys.size(); ++k) values[k].kind = SortValue::Kind::missing;

    JsonMembers members(lane.rest);
    while (const auto key = members.next(R"("_id":)", R"("_score":)", R"("_source":)")) {
      const auto value = take_value(lane.rest);
      if (!value) return false;
      if (equals_literal(*key, "_id")) {
        if (is_object(*value) || is_array(*value)) return false;
        lane.id = *value;
        read_key(SortKey::By::id, *value, values);
      } else if (equals_literal(*key, "_score")) {
        read_key(SortKey::By::score, *value, values);
      } else if (equals_literal(*key, "_knn_dist")) {
        lane.distance = *value;
        read_key(SortKey::By::knn_dist, *value, values);
      } else if (equals_literal(*key, "_hybrid_score")) {
        read_key(SortKey::By::hybrid_score, *value, values);
      } else if (equals_literal(*key, "_source")) {
        lane.hit.source = *value;
      }
    }
    if (!members.complete()) return false;
    lane.hit.bytes = {begin, static_cast<std::size_t>(lane.rest.at - begin)};
    return read_attributes(lane.hit.source, shard);
  }

  void read_key(SortKey::By by, std::string_view value, SortValue* values) const {
    for (std::size_t k = 0; k < order_.keys.size(); ++k)
      if (order_.keys[k].by == by)
        values[k] = by == SortKey::By::id ? id_order(value) : sort_value(value);
  }

  /// Reads the keys that are attributes. Of members with the same name the last counts.
  bool read_attributes(std::string_view source, std::size_t shard) {
    const auto& keys = order_.keys;
    const auto is_attribute = [](const SortKey& key) { return key.by == SortKey::By::attribute; };
    if (std::ranges::none_of(keys, is_attribute)) return true;
    const auto is_named = [&](const SortKey& key, std::string_view name) {
      return is_attribute(key) && key.path.empty() && same_attribute(key.name, name);
    };
    auto* const values = values_of(shard);
    if (!source.empty() && !is_object(source)) return false;
    PassedMembers members(source);
    while (const auto member = members.next())
      for (std::size_t k = 0; k < keys.size(); ++k)
        if (is_named(keys[k], member->name)) values[k] = sort_value(member->value);
    if (!texts_.empty()) read_paths(source, shard);
    return true;
  }

  /// Reads the keys that are paths into a JSON attribute.
  void read_paths(std::string_view source, std::size_t shard) {
    for (std::size_t k = 0; k < order_.keys.size(); ++k) {
      const auto& key = order_.keys[k];
      if (key.path.empty()) continue;
      const auto attribute = last_member(source, key.attribute, same_attribute);
      values_of(shard)[k] =
          json_sort_value(value_at(attribute, key.path), texts_[shard * order_.keys.size() + k]);
    }
  }

  LaneHead head(std::uint32_t shard) const {
    if (order_.keys.empty()) return {0, shard};
    const auto first = rank(*values_of(shard));
    return {order_.keys.front().descending ? ~first : first, shard};
  }

  /// Whether the current hit of shard `a` comes after that of shard `b` in the answer.
  bool comes_after(std::uint32_t a, std::uint32_t b) const {
    const auto* const x = values_of(a);
    const auto* const y = values_of(b);
    for (std::size_t k = 0; k < order_.keys.size(); ++k) {
      const auto compared = compare(x[k], y[k], order_.collation);
      if (compared != 0) return (compared > 0) != order_.keys[k].descending;
    }
    const bool same = !lanes_[a].id.empty() && lanes_[a].id == lanes_[b].id;
    return same ? a < b : a > b;  // of two copies the last shard's comes first and is kept
  }

  const HitOrder& order_;
  std::vector<Lane> lanes_;
  NearestBound nearest_;           // used with order_.nearest
  std::vector<SortValue> values_;  // by lane, one per sort key
  std::vector<SortText> texts_;    // likewise, sort texts of values inside JSON; may be empty
};

}  // namespace

bool source_matches(std::string_view pattern, std::string_view member) {
  std::size_t p = 0;
  std::size_t m = 0;
  auto star = pattern.npos;  // where to continue if the text after a `*` does not match
  std::size_t star_member = 0;
  while (m < member.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_member = m;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == member[m])) {
      ++p;
      ++m;
    } else if (star != pattern.npos) {
      p = star + 1;
      m = ++star_member;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool SourcePlan::hides(std::string_view member) const {
  return std::ranges::any_of(hidden,
                             [&](const auto& pattern) { return source_matches(pattern, member); });
}

std::expected<MergedHits, BadReply> merge_hits(std::span<const JsonCursor> hits,
                                               const HitOrder& order, std::size_t offset,
                                               std::size_t limit) {
  return Merge(hits, order).run(offset, limit);
}

void append_hit(std::string& out, const MergedHit& hit, const SourcePlan& source) {
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
    if (!first) out += ',';
    first = false;
    out += '"';
    out += member->name;
    out += "\":";
    out += member->value;
  }
  out += '}';
  out += hit.bytes.substr(before + hit.source.size());
}

}  // namespace karmad
