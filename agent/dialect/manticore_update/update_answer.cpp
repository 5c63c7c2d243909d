#include "agent/dialect/manticore_update/update_answer.hpp"

#include <vector>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

using Places = std::vector<std::string_view>;

/// Older releases use other names.
bool names_table(std::string_view key) {
  return key == "table" || key == "index" || key == "_index";
}

/// Adds the value of a member of a result, or what stands in its `error`, that names the table.
bool add_member(std::string_view key, std::string_view value, Places& places) {
  if (names_table(key) && is_string(value)) places.push_back(value);
  if (key != "error" || !is_object(value)) return true;
  return visit_members(value, [&](std::string_view of_error, std::string_view name) {
    if (names_table(of_error) && is_string(name)) places.push_back(name);
    return true;
  });
}

/// Adds the table names in the result of one update.
bool add_places(std::string_view result, Places& places) {
  return visit_members(result, [&](std::string_view key, std::string_view value) {
    return add_member(key, value, places);
  });
}

/// The same for `{"insert":{…}}` and similar items.
bool add_places_of_item(std::string_view item, Places& places) {
  if (!is_object(item)) return true;
  return visit_members(item, [&](std::string_view, std::string_view result) {
    return !is_object(result) || add_places(result, places);
  });
}

bool add_places_of_items(std::string_view items, Places& places) {
  JsonCursor json(items);
  JsonElements elements(json);
  while (elements.next()) {
    const auto item = take_value(json);
    if (!item || !add_places_of_item(*item, places)) return false;
  }
  return elements.complete();
}

/// All places, in order; nothing if the answer is malformed.
std::optional<Places> places_in(std::string_view answer) {
  Places places;
  const bool whole = visit_members(answer, [&](std::string_view key, std::string_view value) {
    if (key == "items" && is_array(value)) return add_places_of_items(value, places);
    return add_member(key, value, places);
  });
  if (!whole) return std::nullopt;
  return places;
}

}  // namespace

std::optional<std::string> with_table(std::string_view answer, std::string_view table) {
  if (answer.size() > kLongestNamedAnswer) return std::nullopt;
  const auto places = places_in(answer);
  if (!places) return std::nullopt;
  std::string name;
  JsonLine(name).add_quoted(table);
  std::string named;
  std::size_t copied = 0;
  for (const auto place : *places) {
    if (place == name) continue;
    const auto at = static_cast<std::size_t>(place.data() - answer.data());
    named.append(answer.substr(copied, at - copied)).append(name);
    copied = at + place.size();
  }
  if (copied == 0) return std::nullopt;
  return named.append(answer.substr(copied));
}

int pass_refusal_on(std::string& out, const ChangeReply& refusal, std::string_view table) {
  out.append(with_table(refusal.body, table).value_or(std::string(refusal.body)));
  return refusal.status;
}

}  // namespace karmad
