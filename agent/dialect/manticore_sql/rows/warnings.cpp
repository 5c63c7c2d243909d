#include "agent/dialect/manticore_sql/rows/warnings.hpp"

#include <fmt/format.h>

#include "agent/json/json_text.hpp"

namespace karmad {

void Warnings::add(std::string_view text) {
  if (text.empty()) return;
  if (!text_.empty()) text_ += ";\n";
  text_ += text;
}

void Warnings::add_of_shard(std::size_t shard, std::string_view escaped) {
  if (!escaped.empty()) add(fmt::format("shard {}: {}", shard + 1, json_unescaped(escaped)));
}

}  // namespace karmad
