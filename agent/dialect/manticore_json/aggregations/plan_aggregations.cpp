#include "agent/dialect/manticore_json/aggregations/plan_aggregations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "agent/dialect/manticore_json/aggregations/bucket_order.hpp"
#include "agent/dialect/manticore_json/aggregations/composite_plan.hpp"
#include "agent/dialect/manticore_json/parse_part.hpp"

namespace karmad {

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

/// Kinds whose results for parts of the data do not determine the result for all data.
constexpr std::string_view kUnmergeable[] = {"percentiles",
                                             "percentile_ranks",
                                             "mad",
                                             "median_absolute_deviation",
                                             "cardinality",
                                             "distinct",
                                             "count_distinct",
                                             "significant_terms"};

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
      if (std::ranges::find(kUnmergeable, word) != std::end(kUnmergeable))
        return no(fmt::format(
            "aggregation \"{}\": {} cannot be merged: the table has several shards", name, word));
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
    // In the order of the keys, each shard's first buckets include all candidates for the first
    // ones.
    if (aggregation.order.front().by != BucketOrder::By::key)
      aggregation.asked = over_request(aggregation.size);
    else if (aggregation.key == KeyKind::json_path)
      aggregation.asked = with_spare(aggregation.size);
    else
      aggregation.asked = aggregation.size;
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
