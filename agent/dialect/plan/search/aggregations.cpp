#include "agent/dialect/plan/search/aggregations.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <optional>

#include "agent/dialect/plan/search/sort_plan.hpp"
#include "agent/dialect/rows/group_key.hpp"
#include "agent/json/json_tree.hpp"

namespace karmad {

namespace {

using rapidjson::Value;
using Refusal = std::optional<ClientError>;

constexpr const char* kWords[] = {"sort", "order"};
/// More than the server accepts; bounds the work per bucket.
constexpr std::size_t kMostItems = 64;

Refusal no(std::string reason) {
  return ClientError{400, std::move(reason)};
}

Refusal add_item(std::string_view aggregation, std::string_view by, const Value* how,
                 std::vector<OrderItem>& items) {
  if (how != nullptr && how->IsObject()) {
    const auto order = how->FindMember("order");
    how = order == how->MemberEnd() ? nullptr : &order->value;
  }
  if (how != nullptr && (!how->IsString() || (text_of(*how) != "asc" && text_of(*how) != "desc")))
    return no(
        fmt::format("the order of aggregation \"{}\" must be \"asc\" or \"desc\"", aggregation));
  if (items.size() == kMostItems)
    return no(fmt::format("the order of aggregation \"{}\" has more than {} items", aggregation,
                          kMostItems));
  items.push_back({std::string(by), how != nullptr && text_of(*how) == "desc"});
  return std::nullopt;
}

Refusal add_items(std::string_view aggregation, const Value& order, std::vector<OrderItem>& items) {
  if (order.IsString()) return add_item(aggregation, text_of(order), nullptr, items);
  if (!order.IsObject())
    return no(fmt::format("the order of aggregation \"{}\" must be a string, an object or an array",
                          aggregation));
  for (const auto& member : order.GetObject())
    if (auto refusal = add_item(aggregation, text_of(member.name), &member.value, items))
      return refusal;
  return std::nullopt;
}

}  // namespace

std::expected<std::vector<OrderItem>, ClientError> read_order(std::string_view aggregation,
                                                              const Value& body,
                                                              const Value& inner) {
  std::vector<OrderItem> items;
  for (const auto* place : {&body, &inner}) {
    for (const auto* word : kWords) {
      const auto given = place->FindMember(word);
      if (given == place->MemberEnd()) continue;
      if (!items.empty())
        return refused(fmt::format("aggregation \"{}\" has two orders", aggregation));
      const auto& order = given->value;
      if (!order.IsArray()) {
        if (auto refusal = add_items(aggregation, order, items))
          return std::unexpected(std::move(*refusal));
        continue;
      }
      for (const auto& item : order.GetArray())
        if (auto refusal = add_items(aggregation, item, items))
          return std::unexpected(std::move(*refusal));
    }
  }
  return items;
}

bool same_field(std::string_view a, std::string_view b) {
  return key_kind(a) == KeyKind::attribute ? same_attribute(a, b) : a == b;
}

void write_order(const std::vector<OrderItem>& items, Value& body,
                 rapidjson::Document::AllocatorType& pool) {
  for (const auto* word : kWords) {
    body.RemoveMember(word);
    for (auto& member : body.GetObject())
      if (member.value.IsObject()) member.value.RemoveMember(word);
  }
  Value sort(rapidjson::kArrayType);
  for (const auto& item : items) {
    Value how(rapidjson::kObjectType);
    how.AddMember("order", rapidjson::StringRef(item.descending ? "desc" : "asc"), pool);
    Value by(rapidjson::kObjectType);
    by.AddMember(Value(item.by, pool), how, pool);
    sort.PushBack(by, pool);
  }
  body.AddMember("sort", sort, pool);
}

namespace {

using rapidjson::Value;
using Refusal = std::optional<ClientError>;

/// Bounds the work: every bucket is compared by every source.
constexpr std::size_t kMostSources = 64;
/// Most sort keys that the search server accepts.
constexpr std::size_t kMostKeys = 5;

Refusal no(const Aggregation& aggregation, std::string_view why) {
  return ClientError{400, fmt::format("aggregation \"{}\": {}", aggregation.name, why)};
}

Refusal add_source(Aggregation& aggregation, const Value& given) {
  constexpr std::string_view kForm = "a source must be an object with one name and one kind";
  if (!given.IsObject() || given.MemberCount() != 1) return no(aggregation, kForm);
  const auto& member = *given.MemberBegin();
  if (!member.value.IsObject() || member.value.MemberCount() != 1) return no(aggregation, kForm);
  const auto& kind = *member.value.MemberBegin();
  CompositeSource source{.name = std::string(text_of(member.name))};
  if (std::ranges::find(aggregation.sources, source.name, &CompositeSource::name) !=
      aggregation.sources.end())
    return no(aggregation, fmt::format("source \"{}\" is given twice", source.name));
  if (!kind.value.IsObject() || !kind.value.HasMember("field") || !kind.value["field"].IsString())
    return no(aggregation, fmt::format("source \"{}\" has no field", source.name));
  source.field = text_of(kind.value["field"]);
  // The keys of a histogram are always numbers.
  if (text_of(kind.name) == "terms") source.kind = key_kind(source.field);
  if (const auto order = kind.value.FindMember("order");
      order != kind.value.MemberEnd() && order->value.IsString())
    source.descending = same_attribute(text_of(order->value), "desc");
  aggregation.sources.push_back(std::move(source));
  return std::nullopt;
}

Refusal add_sources(Aggregation& aggregation, const Value& inner) {
  const auto sources = inner.FindMember("sources");
  if (sources == inner.MemberEnd() || !sources->value.IsArray() || sources->value.Empty())
    return no(aggregation, "it has no sources");
  if (sources->value.Size() > kMostSources)
    return no(aggregation, fmt::format("more than {} sources", kMostSources));
  for (const auto& source : sources->value.GetArray())
    if (auto refusal = add_source(aggregation, source)) return refusal;
  return std::nullopt;
}

/// Moves the sources that the client orders by to the front.
Refusal reorder(Aggregation& aggregation, const std::vector<OrderItem>& items) {
  auto& sources = aggregation.sources;
  auto next = sources.begin();
  for (const auto& item : items) {
    auto named = std::ranges::find_if(
        sources, [&](const auto& source) { return same_field(source.field, item.by); });
    if (named == sources.end()) named = std::ranges::find(sources, item.by, &CompositeSource::name);
    if (named == sources.end())
      return no(aggregation, fmt::format("composite can be ordered by its sources, not by \"{}\": "
                                         "the table has several shards",
                                         item.by));
    if (named < next) continue;  // an earlier key has decided already
    named->descending = item.descending;
    std::rotate(next, named, named + 1);
    ++next;
  }
  return std::nullopt;
}

/// Reads `after`: the page begins behind this group.
Refusal read_after(Aggregation& aggregation, const Value& inner) {
  const auto after = inner.FindMember("after");
  if (after == inner.MemberEnd()) return std::nullopt;
  if (!after->value.IsObject()) return no(aggregation, "\"after\" must be an object");
  if (after->value.ObjectEmpty()) return std::nullopt;
  if (after->value.MemberCount() != aggregation.sources.size())
    return no(aggregation, "\"after\" must have one value for each source");
  for (const auto& source : aggregation.sources) {
    const auto* const value = member_of(&after->value, source.name);
    if (value == nullptr)
      return no(aggregation, fmt::format("\"after\" has no value for source \"{}\"", source.name));
    if (value->IsArray() || value->IsObject())
      return no(aggregation, fmt::format("\"after\" must have a number or a text for source \"{}\"",
                                         source.name));
    aggregation.after.push_back(json_of(*value));
  }
  return std::nullopt;
}

}  // namespace

std::optional<ClientError> plan_composite(Aggregation& aggregation, std::size_t max_matches,
                                          const Value& body, Value& inner) {
  if (auto refusal = add_sources(aggregation, inner)) return refusal;
  const auto items = read_order(aggregation.name, body, inner);
  if (!items) return items.error();
  if (auto refusal = reorder(aggregation, *items)) return refusal;
  if (auto refusal = read_after(aggregation, inner)) return refusal;

  aggregation.sorted_by = std::min(aggregation.sources.size(), kMostKeys);
  aggregation.asked = with_spare(aggregation.size);
  if (!aggregation.after.empty()) aggregation.asked = std::max(aggregation.asked, max_matches);
  inner.RemoveMember("after");
  return std::nullopt;
}

std::vector<OrderItem> composite_order(const Aggregation& aggregation) {
  std::vector<OrderItem> order;
  for (std::size_t i = 0; i < aggregation.sorted_by; ++i)
    order.push_back({aggregation.sources[i].field, aggregation.sources[i].descending});
  return order;
}

namespace {

using rapidjson::Value;

// Defaults of the search server.
constexpr std::size_t kDefaultComposite = 1000;
/// Size of terms for a search without hits; otherwise the default is the limit of the search.
constexpr std::size_t kTermsWithoutHits = 20;
/// The server stores counts in 32 bits.
constexpr std::size_t kLargestSize = std::numeric_limits<std::int32_t>::max();
// Bounds the work: merging looks up names and ranges one by one.
constexpr std::size_t kMostAggregations = 256;
constexpr std::size_t kMostRanges = 1024;

struct Kind {
  std::string_view name;
  Merging merging;
};

constexpr Kind kKinds[] = {
    {"min", Merging::smallest},
    {"max", Merging::largest},
    {"sum", Merging::sum},
    {"avg", Merging::mean},
    {"terms", Merging::terms},
    {"range", Merging::ranges},
    {"date_range", Merging::ranges},
    {"histogram", Merging::histogram},
    {"date_histogram", Merging::histogram},
    {"composite", Merging::composite},
};

/// Which filters of the search apply to an aggregation: shards are told, merging is the same.
constexpr std::string_view kFilterWords[] = {"mode", "filter_mode", "filters", "exclude_filters"};

/// A kind whose results for parts of the data do not determine the result for all data.
struct UnmergeableKind {
  std::string_view name;
  std::string_view instead;
};
constexpr std::string_view kHistogram =
    "ask for a \"histogram\" of the field, whose buckets are merged exactly, and compute it from "
    "their counts: it is off by at most the interval";
constexpr std::string_view kDistinct =
    "ask in SQL for COUNT(DISTINCT field), which is exact up to 100000 values of a shard";
constexpr UnmergeableKind kUnmergeable[] = {
    {"percentiles", kHistogram},   {"percentile_ranks", kHistogram},
    {"mad", kHistogram},           {"median_absolute_deviation", kHistogram},
    {"cardinality", kDistinct},    {"distinct", kDistinct},
    {"count_distinct", kDistinct}, {"significant_terms", "ask for \"terms\""},
};

/// Converts the client's aggregations to the shards' request, one at a time.
class Planner {
 public:
  Planner(rapidjson::Document& aggs, const SearchPage& page)
      : aggs_(aggs), pool_(aggs.GetAllocator()), page_(page) {}

  std::expected<AggregationPlan, ClientError> run() {
    if (!aggs_.IsObject()) return refused("\"aggs\" must be an object");
    if (aggs_.MemberCount() > kMostAggregations)
      return refused(fmt::format("more than {} aggregations", kMostAggregations));
    for (auto& member : aggs_.GetObject()) {
      const std::string name(text_of(member.name));
      for (const auto& known : plan_.wanted)
        if (known.name == name)
          return refused(fmt::format("aggregation \"{}\" is given twice", name));
      if (auto refusal = plan_one(name, member.value)) return std::unexpected(std::move(*refusal));
    }
    if (!plan_.empty()) plan_.rewritten = json_of(aggs_);
    return std::move(plan_);
  }

 private:
  using Refusal = std::optional<ClientError>;
  static Refusal no(std::string reason) { return ClientError{400, std::move(reason)}; }

  Refusal plan_one(const std::string& name, Value& body) {
    if (!body.IsObject()) return no(fmt::format("aggregation \"{}\" must be an object", name));
    if (body.HasMember("aggs") || body.HasMember("aggregations"))
      return no(fmt::format("aggregation \"{}\": nested \"aggs\" is not supported", name));
    Aggregation aggregation{.name = name};
    Value* inner = nullptr;
    for (auto& member : body.GetObject()) {
      const auto word = text_of(member.name);
      if (word == "sort" || word == "order") continue;
      if (std::ranges::find(kFilterWords, word) != std::end(kFilterWords)) continue;
      const auto* const unmergeable = std::ranges::find(kUnmergeable, word, &UnmergeableKind::name);
      if (unmergeable != std::end(kUnmergeable))
        return no(
            fmt::format("aggregation \"{}\": {} cannot be merged: the table has several shards, "
                        "and the results of "
                        "shards do not determine it; {}",
                        name, word, unmergeable->instead));
      const auto* const kind = std::ranges::find(kKinds, word, &Kind::name);
      if (kind == std::end(kKinds) || inner != nullptr)
        return no(fmt::format("aggregation \"{}\": {} is not known", name, word));
      if (!member.value.IsObject())
        return no(fmt::format("aggregation \"{}\": {} must be an object", name, word));
      aggregation.merging = kind->merging;
      inner = &member.value;
    }
    if (inner == nullptr) return no(fmt::format("aggregation \"{}\" has no kind", name));
    auto refusal = plan_kind(aggregation, body, *inner);
    if (!refusal) plan_.wanted.push_back(std::move(aggregation));
    return refusal;
  }

  Refusal plan_kind(Aggregation& aggregation, Value& body, Value& inner) {
    switch (aggregation.merging) {
      case Merging::terms:
        return plan_terms(aggregation, body, inner);
      case Merging::histogram:
        return plan_histogram(aggregation, body, inner);
      case Merging::ranges:
        return plan_ranges(aggregation, inner);
      case Merging::composite:
        return plan_groups(aggregation, body, inner);
      default:
        return std::nullopt;
    }
  }

  Refusal plan_ranges(Aggregation& aggregation, const Value& inner) {
    const auto ranges = inner.FindMember("ranges");
    if (ranges == inner.MemberEnd() || !ranges->value.IsArray())
      return no(fmt::format("aggregation \"{}\" has no ranges", aggregation.name));
    aggregation.size = ranges->value.Size();
    if (aggregation.size > kMostRanges)
      return no(
          fmt::format("aggregation \"{}\" has more than {} ranges", aggregation.name, kMostRanges));
    for (const auto& range : ranges->value.GetArray()) {
      const auto bound = [&](std::string_view name) {
        const auto* value = member_of(&range, name);
        return value == nullptr || value->IsNull() ? std::string() : json_of(*value);
      };
      aggregation.ranges.push_back({bound("from"), bound("to")});
    }
    return std::nullopt;
  }

  Refusal plan_terms(Aggregation& aggregation, Value& body, Value& inner) {
    const auto field = inner.FindMember("field");
    if (field == inner.MemberEnd() || !field->value.IsString())
      return no(fmt::format("aggregation \"{}\" has no field", aggregation.name));
    const std::string field_name(text_of(field->value));
    aggregation.key = key_kind(field_name);
    if (auto refusal =
            plan_size(aggregation, inner, page_.limit == 0 ? kTermsWithoutHits : page_.limit))
      return refusal;
    auto items = read_order(aggregation.name, body, inner);
    if (!items) return items.error();
    if (auto refusal = plan_order(aggregation, *items, field_name)) return refusal;
    // Without a size the server skips as many buckets as hits.
    if (inner.FindMember("size") == inner.MemberEnd()) aggregation.skip = page_.offset;
    const auto end = aggregation.skip + aggregation.size;
    // In the order of the keys, each shard's first buckets include all candidates for the first
    // ones.
    if (aggregation.order.front().by != BucketOrder::By::key)
      aggregation.asked = over_request(end);
    else if (aggregation.key == KeyKind::json_path)
      aggregation.asked = with_spare(end);
    else
      aggregation.asked = end;
    set_size(aggregation, inner);
    write_order(*items, body, pool_);  // may invalidate `inner`
    return std::nullopt;
  }

  Refusal plan_histogram(Aggregation& aggregation, const Value& body, const Value& inner) {
    const auto field = inner.FindMember("field");
    const bool named = field != inner.MemberEnd() && field->value.IsString();
    auto items = read_order(aggregation.name, body, inner);
    if (!items) return items.error();
    return plan_order(aggregation, *items, named ? text_of(field->value) : std::string_view{});
  }

  Refusal plan_groups(Aggregation& aggregation, Value& body, Value& inner) {
    if (auto refusal = plan_size(aggregation, inner, kDefaultComposite)) return refusal;
    if (auto refusal = plan_composite(aggregation, page_.max_matches, body, inner)) return refusal;
    set_size(aggregation, inner);
    write_order(composite_order(aggregation), body, pool_);  // may invalidate `inner`
    return std::nullopt;
  }

  Refusal plan_size(Aggregation& aggregation, const Value& inner, std::size_t otherwise) {
    aggregation.size = otherwise;
    const auto size = inner.FindMember("size");
    if (size == inner.MemberEnd()) return std::nullopt;
    if (!size->value.IsUint() || size->value.GetUint() == 0 || size->value.GetUint() > kLargestSize)
      return no(
          fmt::format("aggregation \"{}\": \"size\" must be a positive integer", aggregation.name));
    aggregation.size = size->value.GetUint();
    return std::nullopt;
  }

  void set_size(Aggregation& aggregation, Value& inner) {
    aggregation.asked = std::min(aggregation.asked, kLargestSize);
    plan_.most_buckets = std::max(plan_.most_buckets, aggregation.asked);
    inner.RemoveMember("size");
    inner.AddMember("size", static_cast<std::uint64_t>(aggregation.asked), pool_);
  }

  /// Reads `items` and replaces them by the order to request of the shards. Does not add the key:
  /// the server refuses to sort by an attribute with several values.
  static Refusal plan_order(Aggregation& aggregation, std::vector<OrderItem>& items,
                            std::string_view field) {
    if (items.empty() && aggregation.merging == Merging::terms) items.push_back({"count(*)", true});
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto by = order_by(aggregation, items[i].by, field);
      if (!by) return by.error();
      aggregation.order.push_back({*by, items[i].descending});
      items[i].by = *by == BucketOrder::By::count ? "count(*)" : field;
      if (*by != BucketOrder::By::key) continue;
      items.resize(i + 1);  // keys are unique
      return std::nullopt;
    }
    aggregation.order.push_back({BucketOrder::By::key, false});
    return std::nullopt;
  }

  static std::expected<BucketOrder::By, ClientError> order_by(const Aggregation& aggregation,
                                                              std::string_view by,
                                                              std::string_view field) {
    if (by == "count(*)" || by == "_count" || by == "doc_count") return BucketOrder::By::count;
    const bool names_field = !field.empty() && same_field(field, by);
    if (names_field || by == "_key" || by == "key" || by == "_term") return BucketOrder::By::key;
    return refused(
        fmt::format("aggregation \"{}\" can be ordered by count(*) or its field, not by "
                    "\"{}\": the table has several shards",
                    aggregation.name, by));
  }

  rapidjson::Document& aggs_;
  rapidjson::Document::AllocatorType& pool_;
  const SearchPage& page_;
  AggregationPlan plan_;
};

}  // namespace

std::size_t over_request(std::size_t size) {
  return std::max(size, std::min<std::size_t>(1000, std::max<std::size_t>(200, 10 * size)));
}

std::size_t with_spare(std::size_t size) {
  constexpr std::size_t kSpare = 16;  // groups that a page may lose at its end
  return std::max(over_request(size), size + kSpare);
}

std::expected<AggregationPlan, ClientError> plan_aggregations(std::string_view text,
                                                              const SearchPage& page) {
  if (text.empty()) return AggregationPlan{};
  rapidjson::Document aggs;
  parse_part(text, aggs);
  return Planner(aggs, page).run();
}

}  // namespace karmad
