#include "agent/dialect/request/parsed.hpp"

#include <fmt/format.h>
#include <array>

#include "agent/json/json_line.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {

std::optional<UpdateVerb> update_verb(std::string_view name) {
  if (name.starts_with("/json/")) name.remove_prefix(6);
  if (name.starts_with('/')) name.remove_prefix(1);
  if (name == "insert" || name == "create") return UpdateVerb::insert;
  if (name == "replace") return UpdateVerb::replace;
  if (name == "update") return UpdateVerb::update;
  if (name == "delete") return UpdateVerb::remove;
  return std::nullopt;
}

std::string made_id_text(std::uint64_t made_id, bool replaces_value) {
  return replaces_value ? fmt::to_string(made_id) : fmt::format(R"("id":{},)", made_id);
}

std::string BulkLine::id_text(std::string_view body) const {
  return made_id != 0 ? fmt::to_string(made_id) : std::string(id.in(body));
}

void append_shard_bulk(std::string& out, std::string_view body, const BulkSplit& split,
                       std::size_t shard, std::string_view table) {
  std::string quoted;
  JsonLine(quoted).add_quoted(table);
  std::size_t written = 0;
  ShardLines lines;
  for (const auto& line : split.lines) {
    if (!line.goes_to(shard)) continue;
    lines.advance(line);
    if (lines.number > written + 1) out.push_back('\n');
    written = lines.number;
    std::string id;
    if (line.made_id != 0) id = made_id_text(line.made_id, line.id.begin != line.id.end);
    std::array<Replaced, 3> replaced;
    std::size_t count = 0;
    for (const auto place : {line.table, line.other_table})
      if (place.end != 0) replaced[count++] = {place.in(body), quoted};
    if (!id.empty()) replaced[count++] = {line.id.in(body), id};
    append_replaced(out, line.text.in(body), std::span(replaced).first(count));
    out.push_back('\n');
  }
}

std::string_view bulk_word(UpdateVerb verb) {
  static constexpr auto kNames = enumerators<UpdateVerb>();
  return verb == UpdateVerb::remove ? "delete" : kNames[verb];
}

}  // namespace karmad
