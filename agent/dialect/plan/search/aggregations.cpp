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

/// One item of the `sort` or `order` of an aggregation, as the client wrote it.
struct OrderItem {
  std::string by;
  bool descending = false;
};
using OrderItems = std::vector<OrderItem>;

/// Replaces the order that the client wrote by `items`, written as `sort` beside the kind.
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

std::optional<BucketOrder::By> bucket_order_by(std::string_view by, std::string_view field) {
  if (by == "count(*)" || by == "_count" || by == "doc_count") return BucketOrder::By::count;
  const bool names_field = !field.empty() && same_field(field, by);
  if (names_field || by == "_key" || by == "key" || by == "_term") return BucketOrder::By::key;
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
class Planner : FirstRefusal {
 public:
  Planner(rapidjson::Document& aggs, const SearchPage& page)
      : aggs_(aggs), pool_(aggs.GetAllocator()), page_(page) {}

  OrError<AggregationPlan> run() {
    if (!aggs_.IsObject()) return refused("\"aggs\" must be an object");
    if (aggs_.MemberCount() > kMostAggregations)
      return refused("more than {} aggregations", kMostAggregations);
    for (auto& member : aggs_.GetObject()) {
      planned_ = {.name = std::string(text_of(member.name))};
      if (is_one_of(planned_.name, plan_.wanted, &Aggregation::name))
        return refused("aggregation \"{}\" is given twice", planned_.name);
      plan_one(member.value);
      if (why) return std::unexpected(*std::move(why));
      plan_.wanted.push_back(std::move(planned_));
    }
    if (!plan_.empty()) plan_.rewritten = json_of(aggs_);
    return std::move(plan_);
  }

 private:
  /// `reason`: follows the name of the aggregation.
  template <class... Args>
  void no(fmt::format_string<Args...> reason, Args&&... args) {
    refuse("aggregation \"{}\": {}", planned_.name,
           fmt::format(reason, std::forward<Args>(args)...));
  }

  void plan_one(Value& body) {
    if (!body.IsObject()) return refuse("aggregation \"{}\" must be an object", planned_.name);
    if (body.HasMember("aggs") || body.HasMember("aggregations"))
      return no("nested \"aggs\" is not supported");
    Value* inner = nullptr;
    for (auto& member : body.GetObject()) {
      const auto word = text_of(member.name);
      if (is_one_of(word, kOrderWords) || is_one_of(word, kFilterWords)) continue;
      if (word == "significant_terms")
        return no(
            "significant_terms cannot be merged: the table has several shards, and the results of "
            "shards do not determine it; ask for \"terms\"");
      const auto* const kind = std::ranges::find(kKinds, word, &Kind::name);
      if (inner != nullptr || kind == std::end(kKinds)) return no("{} is not known", word);
      if (!member.value.IsObject()) return no("{} must be an object", word);
      inner = &member.value;
      planned_.merging = kind->merging;
      planned_.fold = kind->fold;
      planned_.measure.is = kind->measure;
      if (kind->merging != Merging::values) continue;
      plan_measure(*inner);
      member.name.SetString("terms");
    }
    if (inner == nullptr) return refuse("aggregation \"{}\" has no kind", planned_.name);
    if (planned_.merging == Merging::metric || planned_.merging == Merging::values) return;
    planned_.merging == Merging::ranges ? plan_ranges(*inner) : plan_ordered(body, *inner);
  }

  /// Asks for all values of the field instead. Their order does not matter, and what the client
  /// says of a digest neither: the measure is exact.
  void plan_measure(Value& inner) {
    const auto* const field = member_of(&inner, "field");
    if (field == nullptr || !field->IsString()) return no("it has no field");
    planned_.asked = kMostValues;
    planned_.sources.push_back({.kind = key_kind(text_of(field))});
    read_numbers(inner);
    plan_.most_buckets = std::max(plan_.most_buckets, planned_.asked);
    Value terms(rapidjson::kObjectType);
    terms.AddMember("field", Value(*field, pool_), pool_);
    terms.AddMember("size", static_cast<std::uint64_t>(planned_.asked), pool_);
    inner = std::move(terms);
  }

  /// Reads the numbers of percentiles and ranks, `values` (`percents` in Elasticsearch), and
  /// `keyed`.
  void read_numbers(const Value& inner) {
    auto& measure = planned_.measure;
    const bool percentiles = measure.is == Measure::Is::percentiles;
    if (!percentiles && measure.is != Measure::Is::ranks) return;
    const auto* const keyed = member_of(&inner, "keyed");
    if (keyed != nullptr && !keyed->IsBool()) return no("\"keyed\" must be true or false");
    measure.keyed = keyed != nullptr && keyed->GetBool();
    const auto* values = member_of(&inner, "values");
    if (values == nullptr && percentiles) values = member_of(&inner, "percents");
    if (values == nullptr && percentiles)
      return measure.at.assign(std::begin(kDefaultPercentiles), std::end(kDefaultPercentiles));
    if (values == nullptr || !values->IsArray() || values->Empty() || values->Size() > kMostRanges)
      return no("\"values\" must be an array of 1 to {} numbers", kMostRanges);
    for (const auto& value : values->GetArray()) {
      if (!value.IsNumber()) return no("\"values\" must be numbers");
      measure.at.push_back(value.GetDouble());
      if (percentiles && (measure.at.back() < 0 || measure.at.back() > 100))
        return no("percentages must be from 0 to 100");
    }
  }

  void plan_ranges(const Value& inner) {
    const auto* const ranges = member_of(&inner, "ranges");
    if (ranges == nullptr || !ranges->IsArray())
      return refuse("aggregation \"{}\" has no ranges", planned_.name);
    planned_.size = ranges->Size();
    if (planned_.size > kMostRanges)
      return refuse("aggregation \"{}\" has more than {} ranges", planned_.name, kMostRanges);
    for (const auto& range : ranges->GetArray()) {
      const auto bound = [&](std::string_view name) {
        const auto* const value = member_of(&range, name);
        return value == nullptr || value->IsNull() ? std::string() : json_of(*value);
      };
      planned_.ranges.push_back({bound("from"), bound("to")});
    }
  }

  void plan_ordered(Value& body, Value& inner) {
    const auto* const field = member_of(&inner, "field");
    const std::string field_name(text_of(field));
    const bool terms = planned_.merging == Merging::terms;
    const bool composite = planned_.merging == Merging::composite;
    if (terms && (field == nullptr || !field->IsString()))
      return refuse("aggregation \"{}\" has no field", planned_.name);
    if (terms || composite) read_size(inner);
    if (composite) add_sources(inner);
    auto items = read_bucket_order(body, inner);
    if (composite) {
      plan_composite(items, inner);
    } else {
      plan_bucket_order(items, field_name);
      planned_.sources.push_back({.kind = terms ? key_kind(field_name) : KeyKind::attribute});
      if (!terms) return plan_histogram(inner);
      plan_terms(field_name);
    }
    planned_.asked = std::min(planned_.asked, kLargestSize);
    plan_.most_buckets = std::max(plan_.most_buckets, planned_.asked);
    inner.RemoveMember("size");
    inner.AddMember("size", static_cast<std::uint64_t>(planned_.asked), pool_);
    write_bucket_order(items, body, pool_);  // may invalidate `inner`
  }

  void read_size(const Value& inner) {
    planned_.size = planned_.merging == Merging::composite ? kDefaultComposite
                    : page_.limit == 0                     ? kTermsWithoutHits
                                                           : page_.limit;
    const auto* const size = member_of(&inner, "size");
    if (size == nullptr) {
      // The server skips as many buckets as hits.
      if (planned_.merging == Merging::terms) planned_.skip = page_.offset;
      return;
    }
    if (!size->IsUint() || size->GetUint() == 0 || size->GetUint() > kLargestSize)
      return no("\"size\" must be a positive integer");
    planned_.size = size->GetUint();
  }

  void add_sources(const Value& inner) {
    const auto* const sources = member_of(&inner, "sources");
    if (sources == nullptr || !sources->IsArray() || sources->Empty())
      return no("it has no sources");
    if (sources->Size() > kMostSources) return no("more than {} sources", kMostSources);
    for (const auto& source : sources->GetArray()) add_source(source);
  }

  void add_source(const Value& given) {
    const auto only_member = [](const Value& object) {
      return object.IsObject() && object.MemberCount() == 1 ? &*object.MemberBegin() : nullptr;
    };
    const auto* const member = only_member(given);
    const auto* const kind = member == nullptr ? nullptr : only_member(member->value);
    if (kind == nullptr) return no("a source must be an object with one name and one kind");
    CompositeSource source{.name = std::string(text_of(member->name))};
    if (is_one_of(source.name, planned_.sources, &CompositeSource::name))
      return no("source \"{}\" is given twice", source.name);
    const auto* const field = member_of(&kind->value, "field");
    if (field == nullptr || !field->IsString())
      return no("source \"{}\" has no field", source.name);
    source.field = text_of(field);
    // The keys of a histogram are always numbers.
    if (text_of(kind->name) == "terms") source.kind = key_kind(source.field);
    source.descending = same_attribute(text_of(member_of(&kind->value, "order")), "desc");
    planned_.sources.push_back(std::move(source));
  }

  /// Reads `sort` or `order`, beside the kind (`body`) or inside it (`inner`); there may be none.
  OrderItems read_bucket_order(const Value& body, const Value& inner) {
    OrderItems items;
    for (const auto* place : {&body, &inner}) {
      for (const auto* word : kOrderWords) {
        const auto* const order = member_of(place, word);
        if (order == nullptr) continue;
        if (!items.empty()) refuse("aggregation \"{}\" has two orders", planned_.name);
        for (const auto& each : each_of(*order)) add_items(each, items);
      }
    }
    return items;
  }

  void add_items(const Value& order, OrderItems& items) {
    if (order.IsString()) return add_item(text_of(order), nullptr, items);
    if (!order.IsObject())
      return refuse("the order of aggregation \"{}\" must be a string, an object or an array",
                    planned_.name);
    for (const auto& member : order.GetObject())
      add_item(text_of(member.name), &member.value, items);
  }

  void add_item(std::string_view by, const Value* how, OrderItems& items) {
    if (how != nullptr && how->IsObject()) how = member_of(how, "order");
    if (how != nullptr && text_of(how) != "asc" && text_of(how) != "desc")
      return refuse("the order of aggregation \"{}\" must be \"asc\" or \"desc\"", planned_.name);
    if (items.size() == kMostItems)
      return refuse("the order of aggregation \"{}\" has more than {} items", planned_.name,
                    kMostItems);
    items.push_back({std::string(by), text_of(how) == "desc"});
  }

  /// Reads `items` and replaces them by the order to request of the shards. Does not add the key:
  /// the server refuses to sort by an attribute with several values.
  void plan_bucket_order(OrderItems& items, std::string_view field) {
    if (items.empty() && planned_.merging == Merging::terms) items.push_back({"count(*)", true});
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto by = bucket_order_by(items[i].by, field);
      if (!by)
        return refuse(
            "aggregation \"{}\" can be ordered by count(*) or its field, not by \"{}\": the table "
            "has several shards",
            planned_.name, items[i].by);
      planned_.order.push_back({*by, items[i].descending});
      items[i].by = *by == BucketOrder::By::count ? "count(*)" : field;
      if (*by == BucketOrder::By::key) return items.resize(i + 1);  // keys are unique
    }
    planned_.order.push_back({BucketOrder::By::key, false});
  }

  /// The buckets behind the last one of a shard that has more lack its documents. So there are as
  /// many as of one server.
  void plan_histogram(const Value& inner) {
    const auto* const size = member_of(&inner, "size");
    const std::size_t wanted = size != nullptr && size->IsUint() ? size->GetUint() : 0;
    planned_.size = std::min(std::max(wanted, kLeastHistogram), page_.max_matches);
  }

  /// In the order of the keys, each shard's first buckets include all candidates for the first
  /// ones.
  void plan_terms(std::string_view field) {
    const auto end = planned_.skip + planned_.size;
    if (planned_.order.empty() || planned_.order.front().by != BucketOrder::By::key)
      planned_.asked = over_request(end);
    else if (key_kind(field) == KeyKind::json_path)
      planned_.asked = with_spare(end);
    else
      planned_.asked = end;
  }

  /// By default each shard uses an order of its own. So the shards get an explicit order: the
  /// client's, then the remaining sources, which the server names by their fields. They start at
  /// the first group, because a shard that lacks the group named in `after` could not continue from
  /// it.
  void plan_composite(OrderItems& items, Value& inner) {
    reorder(items);
    read_after(inner);
    planned_.sorted_by = std::min(planned_.sources.size(), kMostServerKeys);
    planned_.asked = with_spare(planned_.size);
    if (!planned_.after.empty()) planned_.asked = std::max(planned_.asked, page_.max_matches);
    inner.RemoveMember("after");
    items.clear();
    for (const auto& source : std::span(planned_.sources).first(planned_.sorted_by))
      items.push_back({source.field, source.descending});
  }

  /// Moves the sources that the client orders by to the front.
  void reorder(const OrderItems& items) {
    auto& sources = planned_.sources;
    auto next = sources.begin();
    for (const auto& item : items) {
      auto named = std::ranges::find_if(
          sources, [&](const auto& source) { return same_field(source.field, item.by); });
      if (named == sources.end())
        named = std::ranges::find(sources, item.by, &CompositeSource::name);
      if (named == sources.end())
        return no(
            "composite can be ordered by its sources, not by \"{}\": the table has several shards",
            item.by);
      if (named < next) continue;  // an earlier key has decided already
      named->descending = item.descending;
      std::rotate(next, named, named + 1);
      ++next;
    }
  }

  /// Reads `after`: the page begins behind this group.
  void read_after(const Value& inner) {
    const auto* const after = member_of(&inner, "after");
    if (after == nullptr) return;
    if (!after->IsObject()) return no("\"after\" must be an object");
    if (after->ObjectEmpty()) return;
    if (after->MemberCount() != planned_.sources.size())
      return no("\"after\" must have one value for each source");
    for (const auto& source : planned_.sources) {
      const auto* const value = member_of(after, source.name);
      if (value == nullptr) return no("\"after\" has no value for source \"{}\"", source.name);
      if (value->IsArray() || value->IsObject())
        return no("\"after\" must have a number or a text for source \"{}\"", source.name);
      planned_.after.push_back(json_of(*value));
    }
  }

  rapidjson::Document& aggs_;
  rapidjson::Document::AllocatorType& pool_;
  const SearchPage& page_;
  AggregationPlan plan_;
  Aggregation planned_;  // the present one
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
