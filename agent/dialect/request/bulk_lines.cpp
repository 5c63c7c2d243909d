#include "agent/dialect/request/bulk_lines.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

/// A text for a place of the body. An empty place with an `end` gets the text inserted; `end` 0:
/// the edit is none.
struct LineEdit {
  BulkBytes place;
  std::string_view text;
};

/// Appends a line of the body with the edits, which lie in it and do not overlap.
void append_line(std::string& out, std::string_view body, BulkBytes line,
                 std::array<LineEdit, 3> edits) {
  std::ranges::sort(edits, {}, [](const LineEdit& edit) { return edit.place.begin; });
  for (const auto& [place, text] : edits) {
    if (place.end == 0) continue;
    out.append(BulkBytes{line.begin, place.begin}.in(body)).append(text);
    line.begin = place.end;
  }
  out.append(line.in(body));
}

}  // namespace

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
  visit_shard_lines(split, shard, [&](const BulkLine& line, std::size_t number) {
    if (number > written + 1) out.push_back('\n');
    written = number;
    std::string id;
    if (line.made_id != 0) id = made_id_text(line.made_id, line.id.begin != line.id.end);
    append_line(out, body, line.text,
                {{{line.table, quoted},
                  {line.other_table, quoted},
                  {id.empty() ? BulkBytes() : line.id, id}}});
    out.push_back('\n');
  });
}

std::string_view bulk_word(UpdateVerb verb) {
  switch (verb) {
    case UpdateVerb::insert:
      return "insert";
    case UpdateVerb::replace:
      return "replace";
    case UpdateVerb::update:
      return "update";
    case UpdateVerb::remove:
      return "delete";
  }
  return "bulk";
}

}  // namespace karmad
