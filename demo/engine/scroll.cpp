#include "demo/engine/scroll.hpp"

#include <fmt/format.h>

#include <string>

#include "demo/data/text.hpp"

namespace karmad {

namespace {

std::string_view type_of(const Value& value) {
  if (std::holds_alternative<std::string_view>(value)) return "string";
  return std::holds_alternative<double>(value) ? "float" : "int";
}

}  // namespace

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

}  // namespace karmad
