#include "agent/dialect/manticore_json/aggregation_plan.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "agent/dialect/manticore_json/parse_part.hpp"
#include "agent/dialect/manticore_json/sort_plan.hpp"

namespace karmad {

namespace {

using rapidjson::Value;

// The search server's own defaults.
constexpr std::size_t kDefaultTerms = 20;
constexpr std::size_t kDefaultComposite = 10;
// Merging looks names and ranges up one by one; these bound it.
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

/// Kinds whose answers of parts do not determine the answer of the whole.
constexpr std::string_view kUnmergeable[] = {"percentiles",
                                             "percentile_ranks",
                                             "mad",
                                             "median_absolute_deviation",
                                             "cardinality",
                                             "distinct",
                                             "count_distinct",
                                             "significant_terms"};

/// Turns the client's aggregations into what the shards are asked, one at a time.
class Planner {
 public:
  explicit Planner(rapidjson::Document& aggs) : aggs_(aggs), pool_(aggs.GetAllocator()) {}

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
    add_sums();
    if (!plan_.empty()) write();
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
        return plan_order(aggregation, body, inner);
      case Merging::ranges:
        return plan_ranges(aggregation, inner);
      case Merging::composite:
        return plan_composite(aggregation, body, inner);
      case Merging::mean:
        sums_.push_back({plan_.wanted.size(), &inner});
        return std::nullopt;
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
    auto refusal = plan_size(aggregation, inner, kDefaultTerms);
    if (!refusal) refusal = plan_order(aggregation, body, inner);
    if (refusal) return refusal;
    const bool by_key = aggregation.order.front().by == BucketOrder::By::key;
    // In the order of the keys a shard's first buckets hold all of the whole's first.
    set_size(inner, by_key ? aggregation.size : over_request(aggregation.size));
    write_order(aggregation, field_name, body);
    return std::nullopt;
  }

  Refusal plan_composite(Aggregation& aggregation, Value& body, Value& inner) {
    if (body.HasMember("sort") || body.HasMember("order"))
      return no(
          fmt::format("aggregation \"{}\": composite is ordered by its sources", aggregation.name));
    const auto sources = inner.FindMember("sources");
    if (sources == inner.MemberEnd() || !sources->value.IsArray() || sources->value.Empty())
      return no(fmt::format("aggregation \"{}\" has no sources", aggregation.name));
    for (const auto& source : sources->value.GetArray()) {
      if (!source.IsObject() || source.MemberCount() != 1 ||
          !source.MemberBegin()->value.IsObject() || source.MemberBegin()->value.MemberCount() != 1)
        return no(
            fmt::format("aggregation \"{}\": a source must be an object with one name and "
                        "one kind",
                        aggregation.name));
      const auto& kind = source.MemberBegin()->value.MemberBegin()->value;
      bool descending = false;
      if (kind.IsObject())
        if (const auto order = kind.FindMember("order");
            order != kind.MemberEnd() && order->value.IsString())
          descending = same_attribute(text_of(order->value), "desc");
      aggregation.sources.push_back({std::string(text_of(source.MemberBegin()->name)), descending});
    }
    if (auto refusal = plan_size(aggregation, inner, kDefaultComposite)) return refusal;
    set_size(inner, over_request(aggregation.size));
    return std::nullopt;
  }

  Refusal plan_size(Aggregation& aggregation, const Value& inner, std::size_t otherwise) {
    aggregation.size = otherwise;
    const auto size = inner.FindMember("size");
    if (size == inner.MemberEnd()) return std::nullopt;
    if (!size->value.IsUint() || size->value.GetUint() == 0 ||
        size->value.GetUint() > std::numeric_limits<std::int32_t>::max())
      return no(
          fmt::format("aggregation \"{}\": \"size\" must be a positive integer", aggregation.name));
    aggregation.size = size->value.GetUint();
    return std::nullopt;
  }

  void set_size(Value& inner, std::size_t size) {
    plan_.most_buckets = std::max(plan_.most_buckets, size);
    inner.RemoveMember("size");
    inner.AddMember("size", static_cast<std::uint64_t>(size), pool_);
  }

  /// Reads `sort` or `order`, wherever it stands.
  Refusal plan_order(Aggregation& aggregation, const Value& body, const Value& inner) {
    const bool terms = aggregation.merging == Merging::terms;
    for (const auto* place : {&body, &inner}) {
      for (const auto* word : {"sort", "order"}) {
        const auto given = place->FindMember(word);
        if (given == place->MemberEnd()) continue;
        if (!aggregation.order.empty())
          return no(fmt::format("aggregation \"{}\" is ordered twice", aggregation.name));
        if (auto refusal = read_order(aggregation, given->value, inner)) return refusal;
      }
    }
    if (aggregation.order.empty() && terms)
      aggregation.order.push_back({BucketOrder::By::count, true});
    const auto by_key =
        std::ranges::find(aggregation.order, BucketOrder::By::key, &BucketOrder::by);
    if (by_key == aggregation.order.end())
      aggregation.order.push_back({BucketOrder::By::key, false});
    else
      aggregation.order.erase(by_key + 1, aggregation.order.end());  // keys do not tie
    return std::nullopt;
  }

  Refusal read_order(Aggregation& aggregation, const Value& order, const Value& inner) {
    if (order.IsArray()) {
      for (const auto& item : order.GetArray())
        if (auto refusal = read_order(aggregation, item, inner)) return refusal;
      return std::nullopt;
    }
    if (order.IsString()) return add_order(aggregation, text_of(order), nullptr, inner);
    if (!order.IsObject())
      return no(
          fmt::format("the order of aggregation \"{}\" must be a string, an object or an "
                      "array",
                      aggregation.name));
    for (const auto& member : order.GetObject())
      if (auto refusal = add_order(aggregation, text_of(member.name), &member.value, inner))
        return refusal;
    return std::nullopt;
  }

  Refusal add_order(Aggregation& aggregation, std::string_view by, const Value* how,
                    const Value& inner) {
    const auto field = inner.FindMember("field");
    const bool names_field = field != inner.MemberEnd() && field->value.IsString() &&
                             same_attribute(text_of(field->value), by);
    BucketOrder order;
    if (by == "count(*)" || by == "_count" || by == "doc_count")
      order = {BucketOrder::By::count, false};
    else if (names_field || by == "_key" || by == "key" || by == "_term")
      order = {BucketOrder::By::key, false};
    else
      return no(
          fmt::format("aggregation \"{}\" can be ordered by count(*) or its field, not by "
                      "\"{}\": the table has several shards",
                      aggregation.name, by));
    if (how != nullptr && how->IsObject()) {
      const auto inner_order = how->FindMember("order");
      how = inner_order == how->MemberEnd() ? nullptr : &inner_order->value;
    }
    if (how != nullptr) {
      if (!how->IsString() || (text_of(*how) != "asc" && text_of(*how) != "desc"))
        return no(fmt::format("the order of aggregation \"{}\" must be \"asc\" or \"desc\"",
                              aggregation.name));
      order.descending = text_of(*how) == "desc";
    }
    aggregation.order.push_back(order);
    return std::nullopt;
  }

  /// Shards must cut where the merge does, so the whole order is spelled out for them.
  void write_order(const Aggregation& aggregation, const std::string& field, Value& body) {
    for (const auto* word : {"sort", "order"}) {
      body.RemoveMember(word);
      for (auto& member : body.GetObject())
        if (member.value.IsObject()) member.value.RemoveMember(word);
    }
    Value sort(rapidjson::kArrayType);
    for (const auto& order : aggregation.order) {
      const bool by_count = order.by == BucketOrder::By::count;
      Value how(rapidjson::kObjectType);
      how.AddMember("order", rapidjson::StringRef(order.descending ? "desc" : "asc"), pool_);
      Value item(rapidjson::kObjectType);
      item.AddMember(by_count ? Value("count(*)") : Value(field, pool_), how, pool_);
      sort.PushBack(item, pool_);
    }
    body.AddMember("sort", sort, pool_);
  }

  /// An average cannot be merged without the number of values behind it; the sum beside it gives
  /// that number away.
  void add_sums() {
    std::vector<std::pair<std::string, Value>> added;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      auto name = fmt::format("_karmad_sum_{}", i);
      while (aggs_.HasMember(name)) name += '_';
      Value field(*sums_[i].inner, pool_);
      Value sum(rapidjson::kObjectType);
      sum.AddMember("sum", field, pool_);
      added.emplace_back(name, std::move(sum));
      plan_.wanted[sums_[i].aggregation].sum_name = std::move(name);
    }
    for (auto& [name, sum] : added) aggs_.AddMember(Value(name, pool_), sum, pool_);
  }

  void write() {
    rapidjson::StringBuffer text;
    rapidjson::Writer<rapidjson::StringBuffer> writer(text);
    aggs_.Accept(writer);
    plan_.rewritten.assign(text.GetString(), text.GetSize());
  }

  struct Mean {
    std::size_t aggregation;
    const Value* inner;
  };

  rapidjson::Document& aggs_;
  rapidjson::Document::AllocatorType& pool_;
  AggregationPlan plan_;
  std::vector<Mean> sums_;
};

}  // namespace

std::size_t over_request(std::size_t size) {
  return std::max(size, std::min<std::size_t>(1000, std::max<std::size_t>(200, 10 * size)));
}

std::expected<AggregationPlan, ClientError> plan_aggregations(std::string_view text) {
  if (text.empty()) return AggregationPlan{};
  rapidjson::Document aggs;
  parse_part(text, aggs);
  return Planner(aggs).run();
}

}  // namespace karmad
