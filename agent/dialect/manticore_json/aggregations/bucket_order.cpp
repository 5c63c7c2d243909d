#include "agent/dialect/manticore_json/aggregations/bucket_order.hpp"

#include <fmt/format.h>

#include "agent/dialect/manticore_json/aggregations/bucket_key.hpp"
#include "agent/dialect/manticore_json/parse_part.hpp"
#include "agent/dialect/manticore_json/sort_plan.hpp"

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

}  // namespace karmad
