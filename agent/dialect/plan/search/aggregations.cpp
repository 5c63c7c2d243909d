#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "agent/dialect/plan/search/search_parts.hpp"
#include "agent/dialect/plan/two_rounds.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_tree.hpp"

namespace karmad {

namespace {

using rapidjson::Value;

constexpr const char* kOrderWords[] = {"sort", "order"};
/// More than the server accepts; bounds the work per bucket.
constexpr std::size_t kMostItems = 64;
/// Bounds the work: every bucket is compared by every source.
constexpr std::size_t kMostSources = 64;
// Bounds the work: merging looks up names and ranges one by one.
constexpr std::size_t kMostAggregations = 256;
constexpr std::size_t kMostRanges = 1024;
// Defaults of the search server.
constexpr std::size_t kDefaultComposite = 1000;
/// A histogram has at least so many buckets, if there are as many.
constexpr std::size_t kLeastHistogram = 1000;
/// Size of terms for a search without hits; otherwise the default is the limit of the search.
constexpr std::size_t kTermsWithoutHits = 20;
/// The server stores counts in 32 bits.
constexpr std::size_t kLargestSize = std::numeric_limits<std::int32_t>::max();

struct Kind {
  std::string_view name;
  Merging merging;
  Fold fold = Fold::keep;
  Measure::Is measure{};  ///< Merging::values: shards are asked for `terms`
};

constexpr Kind kKinds[] = {
    {"min", Merging::metric, Fold::smallest},
    {"max", Merging::metric, Fold::largest},
    {"sum", Merging::metric, Fold::sum},
    {"avg", Merging::metric, Fold::mean},
    {"terms", Merging::terms},
    {"range", Merging::ranges},
    {"date_range", Merging::ranges},
    {"histogram", Merging::histogram},
    {"date_histogram", Merging::histogram},
    {"composite", Merging::composite},
    {"cardinality", Merging::values, Fold::keep, Measure::Is::distinct},
    {"percentiles", Merging::values, Fold::keep, Measure::Is::percentiles},
    {"percentile_ranks", Merging::values, Fold::keep, Measure::Is::ranks},
    {"median_absolute_deviation", Merging::values, Fold::keep, Measure::Is::deviation},
};

/// Which filters of the search apply to an aggregation: shards are told, merging is the same.
constexpr std::string_view kFilterWords[] = {"mode", "filter_mode", "filters", "exclude_filters",
                                             "zeroes"};

/// Most values of a shard of which a measure is computed: about 4 MB of reply, as for
/// COUNT(DISTINCT …) of SQL.
constexpr std::size_t kMostValues = 100'000;
/// Of the search server.
constexpr double kDefaultPercentiles[] = {1, 5, 25, 50, 75, 95, 99};

template <class Words, class Name = std::identity>
bool is_one_of(std::string_view word, const Words& words, Name name = {}) {
  return std::ranges::find(words, word, name) != std::end(words);
}

MaybeError no(const Aggregation& aggregation, std::string_view why) {
  return bad_request("aggregation \"{}\": {}", aggregation.name, why);
}

/// One item of the `sort` or `order` of an aggregation, as the client wrote it.
struct OrderItem {
  std::string by;
  bool descending = false;
};
using OrderItems = std::vector<OrderItem>;

MaybeError add_item(const Aggregation& aggregation, std::string_view by, const Value* how,
                    OrderItems& items) {
  if (how != nullptr && how->IsObject()) how = member_of(how, "order");
  if (how != nullptr && text_of(how) != "asc" && text_of(how) != "desc")
    return bad_request("the order of aggregation \"{}\" must be \"asc\" or \"desc\"",
                       aggregation.name);
  if (items.size() == kMostItems)
    return bad_request("the order of aggregation \"{}\" has more than {} items", aggregation.name,
                       kMostItems);
  items.push_back({std::string(by), text_of(how) == "desc"});
  return std::nullopt;
}

MaybeError add_items(const Aggregation& aggregation, const Value& order, OrderItems& items) {
  if (order.IsString()) return add_item(aggregation, text_of(order), nullptr, items);
  if (!order.IsObject())
    return bad_request("the order of aggregation \"{}\" must be a string, an object or an array",
                       aggregation.name);
  for (const auto& member : order.GetObject())
    if (auto refusal = add_item(aggregation, text_of(member.name), &member.value, items))
      return refusal;
  return std::nullopt;
}

/// Reads `sort` or `order`, beside the kind (`body`) or inside it (`inner`); leaves `items` empty
/// if there is none. Refuses (400) a malformed order, or two of them.
MaybeError read_bucket_order(const Aggregation& aggregation, const Value& body, const Value& inner,
                             OrderItems& items) {
  for (const auto* place : {&body, &inner}) {
    for (const auto* word : kOrderWords) {
      const auto* const order = member_of(place, word);
      if (order == nullptr) continue;
      if (!items.empty()) return bad_request("aggregation \"{}\" has two orders", aggregation.name);
      for (const auto& each : each_of(*order))
        if (auto refusal = add_items(aggregation, each, items)) return refusal;
    }
  }
  return std::nullopt;
}

/// Replaces the order that read_bucket_order() found by `items`, written as `sort` beside the kind.
void write_bucket_order(const OrderItems& items, Value& body,
                        rapidjson::Document::AllocatorType& pool) {
  for (const auto* word : kOrderWords) {
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

/// Compares names of attributes without case, and names of members of JSON attributes with case.
bool same_field(std::string_view a, std::string_view b) {
  return key_kind(a) == KeyKind::attribute ? same_attribute(a, b) : a == b;
}

MaybeError add_source(Aggregation& aggregation, const Value& given) {
  constexpr std::string_view kForm = "a source must be an object with one name and one kind";
  if (!given.IsObject() || given.MemberCount() != 1) return no(aggregation, kForm);
  const auto& member = *given.MemberBegin();
  if (!member.value.IsObject() || member.value.MemberCount() != 1) return no(aggregation, kForm);
  const auto& kind = *member.value.MemberBegin();
  CompositeSource source{.name = std::string(text_of(member.name))};
  if (is_one_of(source.name, aggregation.sources, &CompositeSource::name))
    return no(aggregation, fmt::format("source \"{}\" is given twice", source.name));
  const auto* const field = member_of(&kind.value, "field");
  if (field == nullptr || !field->IsString())
    return no(aggregation, fmt::format("source \"{}\" has no field", source.name));
  source.field = text_of(field);
  // The keys of a histogram are always numbers.
  if (text_of(kind.name) == "terms") source.kind = key_kind(source.field);
  source.descending = same_attribute(text_of(member_of(&kind.value, "order")), "desc");
  aggregation.sources.push_back(std::move(source));
  return std::nullopt;
}

MaybeError add_sources(Aggregation& aggregation, const Value& inner) {
  const auto* const sources = member_of(&inner, "sources");
  if (sources == nullptr || !sources->IsArray() || sources->Empty())
    return no(aggregation, "it has no sources");
  if (sources->Size() > kMostSources)
    return no(aggregation, fmt::format("more than {} sources", kMostSources));
  for (const auto& source : sources->GetArray())
    if (auto refusal = add_source(aggregation, source)) return refusal;
  return std::nullopt;
}

/// Moves the sources that the client orders by to the front.
MaybeError reorder(Aggregation& aggregation, const OrderItems& items) {
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
MaybeError read_after(Aggregation& aggregation, const Value& inner) {
  const auto* const after = member_of(&inner, "after");
  if (after == nullptr) return std::nullopt;
  if (!after->IsObject()) return no(aggregation, "\"after\" must be an object");
  if (after->ObjectEmpty()) return std::nullopt;
  if (after->MemberCount() != aggregation.sources.size())
    return no(aggregation, "\"after\" must have one value for each source");
  for (const auto& source : aggregation.sources) {
    const auto* const value = member_of(after, source.name);
    if (value == nullptr)
      return no(aggregation, fmt::format("\"after\" has no value for source \"{}\"", source.name));
    if (value->IsArray() || value->IsObject())
      return no(aggregation, fmt::format("\"after\" must have a number or a text for source \"{}\"",
                                         source.name));
    aggregation.after.push_back(json_of(*value));
  }
  return std::nullopt;
}

std::optional<BucketOrder::By> bucket_order_by(std::string_view by, std::string_view field) {
  if (by == "count(*)" || by == "_count" || by == "doc_count") return BucketOrder::By::count;
  const bool names_field = !field.empty() && same_field(field, by);
  if (names_field || by == "_key" || by == "key" || by == "_term") return BucketOrder::By::key;
  return std::nullopt;
}

/// Reads `items` and replaces them by the order to request of the shards. Does not add the key: the
/// server refuses to sort by an attribute with several values.
MaybeError plan_bucket_order(Aggregation& aggregation, OrderItems& items, std::string_view field) {
  if (items.empty() && aggregation.merging == Merging::terms) items.push_back({"count(*)", true});
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto by = bucket_order_by(items[i].by, field);
    if (!by)
      return bad_request(
          "aggregation \"{}\" can be ordered by count(*) or its field, not by \"{}\": the table "
          "has several shards",
          aggregation.name, items[i].by);
    aggregation.order.push_back({*by, items[i].descending});
    items[i].by = *by == BucketOrder::By::count ? "count(*)" : field;
    if (*by != BucketOrder::By::key) continue;
    items.resize(i + 1);  // keys are unique
    return std::nullopt;
  }
  aggregation.order.push_back({BucketOrder::By::key, false});
  return std::nullopt;
}

MaybeError plan_ranges(Aggregation& aggregation, const Value& inner) {
  const auto* const ranges = member_of(&inner, "ranges");
  if (ranges == nullptr || !ranges->IsArray())
    return bad_request("aggregation \"{}\" has no ranges", aggregation.name);
  aggregation.size = ranges->Size();
  if (aggregation.size > kMostRanges)
    return bad_request("aggregation \"{}\" has more than {} ranges", aggregation.name, kMostRanges);
  for (const auto& range : ranges->GetArray()) {
    const auto bound = [&](std::string_view name) {
      const auto* const value = member_of(&range, name);
      return value == nullptr || value->IsNull() ? std::string() : json_of(*value);
    };
    aggregation.ranges.push_back({bound("from"), bound("to")});
  }
  return std::nullopt;
}

/// Reads the numbers of percentiles and ranks, `values` (`percents` in Elasticsearch), and `keyed`.
MaybeError read_numbers(Aggregation& aggregation, const Value& inner) {
  auto& measure = aggregation.measure;
  const bool percentiles = measure.is == Measure::Is::percentiles;
  if (!percentiles && measure.is != Measure::Is::ranks) return std::nullopt;
  const auto* const keyed = member_of(&inner, "keyed");
  if (keyed != nullptr && !keyed->IsBool())
    return no(aggregation, "\"keyed\" must be true or false");
  measure.keyed = keyed != nullptr && keyed->GetBool();
  const auto* values = member_of(&inner, "values");
  if (values == nullptr && percentiles) values = member_of(&inner, "percents");
  if (values == nullptr && percentiles) {
    measure.at.assign(std::begin(kDefaultPercentiles), std::end(kDefaultPercentiles));
    return std::nullopt;
  }
  if (values == nullptr || !values->IsArray() || values->Empty() || values->Size() > kMostRanges)
    return no(aggregation,
              fmt::format("\"values\" must be an array of 1 to {} numbers", kMostRanges));
  for (const auto& value : values->GetArray()) {
    if (!value.IsNumber()) return no(aggregation, "\"values\" must be numbers");
    measure.at.push_back(value.GetDouble());
    if (percentiles && (measure.at.back() < 0 || measure.at.back() > 100))
      return no(aggregation, "percentages must be from 0 to 100");
  }
  return std::nullopt;
}

/// Number of buckets to request of a shard when the best `size` are wanted. A bucket among the best
/// of all shards may be missing in the reply of one shard, and its sum is then too small. Ten times
/// `size`, at least 200, makes that rare; 1000 is the server's default limit.
std::size_t over_request(std::size_t size) {
  return std::max(size, std::min<std::size_t>(1000, std::max<std::size_t>(200, 10 * size)));
}

/// The same for an order in which different buckets of the first `size` can be equal.
std::size_t with_spare(std::size_t size) {
  constexpr std::size_t kSpare = 16;  // groups that a page may lose at its end
  return std::max(over_request(size), size + kSpare);
}

/// Converts the client's aggregations to the shards' request, one at a time.
class Planner {
 public:
  Planner(rapidjson::Document& aggs, const SearchPage& page)
      : aggs_(aggs), pool_(aggs.GetAllocator()), page_(page) {}

  OrError<AggregationPlan> run() {
    if (!aggs_.IsObject()) return refused("\"aggs\" must be an object");
    if (aggs_.MemberCount() > kMostAggregations)
      return refused("more than {} aggregations", kMostAggregations);
    for (auto& member : aggs_.GetObject()) {
      Aggregation aggregation{.name = std::string(text_of(member.name))};
      if (is_one_of(aggregation.name, plan_.wanted, &Aggregation::name))
        return refused("aggregation \"{}\" is given twice", aggregation.name);
      if (auto refusal = plan_one(aggregation, member.value))
        return std::unexpected(std::move(*refusal));
      plan_.wanted.push_back(std::move(aggregation));
    }
    if (!plan_.empty()) plan_.rewritten = json_of(aggs_);
    return std::move(plan_);
  }

 private:
  MaybeError plan_one(Aggregation& aggregation, Value& body) {
    const auto& name = aggregation.name;
    if (!body.IsObject()) return bad_request("aggregation \"{}\" must be an object", name);
    if (body.HasMember("aggs") || body.HasMember("aggregations"))
      return no(aggregation, "nested \"aggs\" is not supported");
    Value* inner = nullptr;
    for (auto& member : body.GetObject()) {
      const auto word = text_of(member.name);
      if (is_one_of(word, kOrderWords) || is_one_of(word, kFilterWords)) continue;
      if (word == "significant_terms")
        return no(aggregation,
                  "significant_terms cannot be merged: the table has several shards, and the "
                  "results of shards do not determine it; ask for \"terms\"");
      const auto* const kind = std::ranges::find(kKinds, word, &Kind::name);
      if (inner != nullptr || kind == std::end(kKinds))
        return no(aggregation, fmt::format("{} is not known", word));
      if (!member.value.IsObject())
        return no(aggregation, fmt::format("{} must be an object", word));
      inner = &member.value;
      aggregation.merging = kind->merging;
      aggregation.fold = kind->fold;
      aggregation.measure.is = kind->measure;
      if (kind->merging != Merging::values) continue;
      if (auto refusal = plan_measure(aggregation, *inner)) return refusal;
      member.name.SetString("terms");
    }
    if (inner == nullptr) return bad_request("aggregation \"{}\" has no kind", name);
    if (aggregation.merging == Merging::metric || aggregation.merging == Merging::values)
      return std::nullopt;
    if (aggregation.merging == Merging::ranges) return plan_ranges(aggregation, *inner);
    return plan_ordered(aggregation, body, *inner);
  }

  /// Asks for all values of the field instead. Their order does not matter, and what the client
  /// says of a digest neither: the measure is exact.
  MaybeError plan_measure(Aggregation& aggregation, Value& inner) {
    const auto* const field = member_of(&inner, "field");
    if (field == nullptr || !field->IsString()) return no(aggregation, "it has no field");
    aggregation.asked = kMostValues;
    aggregation.sources.push_back({.kind = key_kind(text_of(field))});
    if (auto refusal = read_numbers(aggregation, inner)) return refusal;
    plan_.most_buckets = std::max(plan_.most_buckets, aggregation.asked);
    Value terms(rapidjson::kObjectType);
    terms.AddMember("field", Value(*field, pool_), pool_);
    terms.AddMember("size", static_cast<std::uint64_t>(aggregation.asked), pool_);
    inner = std::move(terms);
    return std::nullopt;
  }

  MaybeError plan_ordered(Aggregation& aggregation, Value& body, Value& inner) {
    const auto* const field = member_of(&inner, "field");
    const std::string field_name(text_of(field));
    const bool terms = aggregation.merging == Merging::terms;
    const bool composite = aggregation.merging == Merging::composite;
    if (terms && (field == nullptr || !field->IsString()))
      return bad_request("aggregation \"{}\" has no field", aggregation.name);
    if (terms || composite)
      if (auto refusal = read_size(aggregation, inner)) return refusal;
    if (composite)
      if (auto refusal = add_sources(aggregation, inner)) return refusal;
    OrderItems items;
    if (auto refusal = read_bucket_order(aggregation, body, inner, items)) return refusal;
    if (composite) {
      if (auto refusal = plan_composite(aggregation, items, inner)) return refusal;
    } else {
      if (auto refusal = plan_bucket_order(aggregation, items, field_name)) return refusal;
      aggregation.sources.push_back({.kind = terms ? key_kind(field_name) : KeyKind::attribute});
      if (!terms) {
        plan_histogram(aggregation, inner);
        return std::nullopt;
      }
      plan_terms(aggregation, field_name);
    }
    aggregation.asked = std::min(aggregation.asked, kLargestSize);
    plan_.most_buckets = std::max(plan_.most_buckets, aggregation.asked);
    inner.RemoveMember("size");
    inner.AddMember("size", static_cast<std::uint64_t>(aggregation.asked), pool_);
    write_bucket_order(items, body, pool_);  // may invalidate `inner`
    return std::nullopt;
  }

  MaybeError read_size(Aggregation& aggregation, const Value& inner) const {
    aggregation.size = aggregation.merging == Merging::composite ? kDefaultComposite
                       : page_.limit == 0                        ? kTermsWithoutHits
                                                                 : page_.limit;
    const auto* const size = member_of(&inner, "size");
    if (size == nullptr) {
      // The server skips as many buckets as hits.
      if (aggregation.merging == Merging::terms) aggregation.skip = page_.offset;
      return std::nullopt;
    }
    if (!size->IsUint() || size->GetUint() == 0 || size->GetUint() > kLargestSize)
      return no(aggregation, "\"size\" must be a positive integer");
    aggregation.size = size->GetUint();
    return std::nullopt;
  }

  /// The buckets behind the last one of a shard that has more lack its documents. So there are as
  /// many as of one server.
  void plan_histogram(Aggregation& aggregation, const Value& inner) const {
    const auto* const size = member_of(&inner, "size");
    const std::size_t wanted = size != nullptr && size->IsUint() ? size->GetUint() : 0;
    aggregation.size = std::min(std::max(wanted, kLeastHistogram), page_.max_matches);
  }

  /// In the order of the keys, each shard's first buckets include all candidates for the first
  /// ones.
  static void plan_terms(Aggregation& aggregation, std::string_view field) {
    const auto end = aggregation.skip + aggregation.size;
    if (aggregation.order.front().by != BucketOrder::By::key)
      aggregation.asked = over_request(end);
    else if (key_kind(field) == KeyKind::json_path)
      aggregation.asked = with_spare(end);
    else
      aggregation.asked = end;
  }

  /// By default each shard uses an order of its own. So the shards get an explicit order: the
  /// client's, then the remaining sources, which the server names by their fields. They start at
  /// the first group, because a shard that lacks the group named in `after` could not continue from
  /// it.
  MaybeError plan_composite(Aggregation& aggregation, OrderItems& items, Value& inner) const {
    if (auto refusal = reorder(aggregation, items)) return refusal;
    if (auto refusal = read_after(aggregation, inner)) return refusal;
    aggregation.sorted_by = std::min(aggregation.sources.size(), kMostServerKeys);
    aggregation.asked = with_spare(aggregation.size);
    if (!aggregation.after.empty())
      aggregation.asked = std::max(aggregation.asked, page_.max_matches);
    inner.RemoveMember("after");
    items.clear();
    for (const auto& source : std::span(aggregation.sources).first(aggregation.sorted_by))
      items.push_back({source.field, source.descending});
    return std::nullopt;
  }

  rapidjson::Document& aggs_;
  rapidjson::Document::AllocatorType& pool_;
  const SearchPage& page_;
  AggregationPlan plan_;
};

/// Whether servers answer that kind, and not with empty buckets as any word that they do not know.
bool is_known_to_servers(std::string_view kind) {
  constexpr std::string_view kOthers[] = {"mad", "significant_terms"};
  return is_one_of(kind, kOthers) ||
         (kind != "cardinality" && is_one_of(kind, kKinds, &Kind::name));
}

}  // namespace

bool has_kind_unknown_to_servers(std::string_view aggs) {
  PassedMembers aggregations(aggs);
  while (const auto aggregation = aggregations.next()) {
    bool known = !is_object(aggregation->value);
    PassedMembers members(aggregation->value);
    while (const auto member = members.next()) known |= is_known_to_servers(member->name);
    if (!known) return true;
  }
  return false;
}

OrError<AggregationPlan> plan_aggregations(std::string_view text, const SearchPage& page) {
  if (text.empty()) return AggregationPlan{};
  rapidjson::Document aggs;
  parse_part(text, aggs);
  return Planner(aggs, page).run();
}

}  // namespace karmad
