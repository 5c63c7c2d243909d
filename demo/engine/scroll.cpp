#include "demo/engine/scroll.hpp"

#include <fmt/format.h>

#include <list>
#include <string>

#include "demo/data/text.hpp"

namespace karmad {

namespace {

std::string attribute_of(const SortKey& key, const std::vector<Computed>& computed) {
  switch (key.by) {
    case SortKey::By::score:
      return "weight()";
    case SortKey::By::distance:
      return "knn_dist()";
    case SortKey::By::fused:
      return "hybrid_score()";
    case SortKey::By::random:
      return "rand()";
    case SortKey::By::computed:
      return computed[key.computed].name;
    case SortKey::By::column:
      break;
  }
  return key.column.name;
}

std::string_view type_of(const Value& value) {
  if (std::holds_alternative<std::string_view>(value)) return "string";
  return std::holds_alternative<double>(value) ? "float" : "int";
}

}  // namespace

std::string scroll_token(const Index& index, const SearchRequest& request, const Hit& last) {
  std::vector<TokenKey> keys;
  std::list<std::string> texts;
  for (const auto& key : sort_keys(request))
    keys.push_back({attribute_of(key, request.computed), key.descending,
                    sort_value(index, last, key, request.computed, texts.emplace_back())});
  return scroll_token(keys);
}

std::string scroll_token(const std::vector<TokenKey>& keys) {
  std::string order;
  std::string values;
  for (const auto& [attribute, descending, value, text] : keys) {
    if (!order.empty()) order += ", ", values += ',';
    order += !text.empty() ? text
                           : (attribute == "weight()" ? "@weight" : attribute) +
                                 (descending ? " desc" : " asc");
    std::string json;
    // All digits, so that the next page begins behind this hit.
    if (const auto* real = std::get_if<double>(&value))
      json = fmt::format("{:.17g}", *real);
    else
      append_json(json, value);
    values += fmt::format(R"({{"attr":{},"desc":{},"value":{},"type":"{}"}})",
                          json_string(attribute), descending, json, type_of(value));
  }
  return to_base64(
      fmt::format(R"({{"order_by_str":{},"order_by":[{}]}})", json_string(order), values));
}

bool is_after(const Index& index, const std::vector<SortKey>& keys, const Hit& hit,
              const SearchRequest& request) {
  const auto& scroll = request.scroll;
  std::string text;
  for (std::size_t i = 0; i < keys.size() && i < scroll.after.size(); ++i) {
    const auto order =
        sort_order(keys[i].column, sort_value(index, hit, keys[i], request.computed, text),
                   view(scroll.after[i]));
    if (order != 0) return keys[i].descending ? order < 0 : order > 0;
  }
  return false;
}

}  // namespace karmad
