#include "agent/dialect/fronts/elastic/multi_search.hpp"

#include <fmt/format.h>
#include <optional>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

std::unexpected<ClientError> no_multi_search(std::size_t line, std::string_view reason) {
  return std::unexpected(ClientError{
      400, fmt::format("line {}: {}; a _msearch has pairs of lines, {{\"index\":\"table\"}} and a "
                       "search",
                       line, reason)});
}

/// The names in `"index"`: a string, or an array of strings. Nothing: it is neither.
std::optional<std::string> names_in(std::string_view value) {
  if (is_string(value)) return json_unescaped(without_quotes(value));
  JsonCursor json(value);
  if (!is_array(value)) return std::nullopt;
  std::string names;
  JsonElements elements(json);
  while (elements.next()) {
    const auto name = take_value(json);
    if (!name || !is_string(*name)) return std::nullopt;
    names.append(names.empty() ? "" : ",").append(json_unescaped(without_quotes(*name)));
  }
  if (names.empty()) return std::nullopt;
  return names;
}

/// The tables of a header; `otherwise` if it names none. Nothing: it is malformed.
std::optional<std::string> tables_of(std::string_view header, std::string_view otherwise) {
  std::optional<std::string> tables(otherwise);
  JsonCursor json(header);
  const bool whole = visit_members(json, [&](std::string_view key, std::string_view value) {
    if (key == "index" || key == "table") tables = names_in(value);
    return tables.has_value();
  });
  skip_space(json);
  if (!whole || !json.done()) return std::nullopt;
  return tables;
}

/// Takes the first line that is not blank off `rest`, and counts all lines taken; empty at the end.
std::string_view take_line(std::string_view& rest, std::size_t& number) {
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    auto line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    ++number;
    if (line.find_first_not_of(kJsonSpace) != line.npos) return line;
  }
  return {};
}

}  // namespace

std::expected<std::vector<RequestPart>, ClientError> read_multi_search(
    const ClientRequest& request) {
  const std::string_view everywhere = "_all";
  const auto otherwise = request.path_table.empty() ? everywhere : request.path_table;
  std::vector<RequestPart> searches;
  auto rest = request.body;
  std::size_t line = 0;
  for (auto header = take_line(rest, line); !header.empty(); header = take_line(rest, line)) {
    if (searches.size() == kMostSearches)
      return no_multi_search(line, fmt::format("more than {} searches", kMostSearches));
    auto tables = tables_of(header, otherwise);
    if (!tables)
      return no_multi_search(line, "no object, or \"index\" is no name or list of names");
    const auto body = take_line(rest, line);
    if (body.empty()) return no_multi_search(line, "the search behind this line is missing");
    searches.push_back({.path = "/_search", .tables = *std::move(tables), .body = body});
  }
  if (searches.empty()) return no_multi_search(1, "the body is empty");
  return searches;
}

void append_responses(std::string& to, std::span<const PartAnswer> answers, Micros took) {
  JsonLine out(to);
  out.add(R"({"took":)");
  out.add_number(std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  out.add(R"(,"responses":[)");
  for (const auto& answer : answers) {
    if (&answer != &answers.front()) out.add(',');
    // Answers to searches have a status, and so have errors that karmad wrote.
    auto object = whole_object(answer.body);
    if (object && !PassedMembers(*object).next()) object.reset();
    if (object && (answer.status == 200 || !last_member(*object, "status").empty())) {
      out.add(*object);
    } else {
      out.add(object ? object->substr(0, object->size() - 1) : R"({"error":"no answer")");
      out.add(R"(,"status":)");
      out.add_number(answer.status);
      out.add('}');
    }
  }
  out.add("]}");
}

}  // namespace karmad
