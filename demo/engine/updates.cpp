#include "demo/engine/updates.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <array>

#include "demo/data/complaint.hpp"
#include "demo/data/text.hpp"
#include "demo/language/read_request.hpp"

namespace karmad {

namespace {

constexpr std::array<std::string_view, 5> kVerbs{"insert", "replace", "update", "delete", "bulk"};

constexpr unsigned kParseUpdates =
    rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag;

/// The verb of an update's path; empty for other paths.
std::string_view verb_of(std::string_view path) {
  constexpr std::string_view kJson = "/json/";
  path.remove_prefix(path.starts_with(kJson) ? kJson.size()
                                             : std::min<std::size_t>(1, path.size()));
  const auto* found = std::ranges::find(kVerbs, path);
  return found == kVerbs.end() ? std::string_view{} : *found;
}

/// One update of one document, or of all that a query finds.
struct Update {
  std::string table;
  std::string id;  ///< as JSON; "0": the server would choose one
  bool by_query = false;
};

std::string refused(std::string_view reason, std::string_view table) {
  return fmt::format(
      R"({{"error":{{"type":"action_request_validation_exception","reason":{},"table":{}}},)"
      R"("status":409}})",
      json_string(reason), json_string(table));
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Reads an update and checks its table: 400 if it cannot be read, 409 if it cannot be done.
Update read_update(const Json& json, std::span<const std::string> tables, Complaint& complaint) {
  Update out;
  const auto* table = json.IsObject() ? find_member(json, "table") : nullptr;
  if (table == nullptr && json.IsObject()) table = find_member(json, "index");
  if (table == nullptr || !table->IsString()) {
    complaint.say(400, "'table' is missing");
    return out;
  }
  out.table.assign(table->GetString(), table->GetStringLength());
  out.by_query = find_member(json, "query") != nullptr;
  if (!is_table(tables, out.table)) complaint.say(409, fmt::format("table '{}' absent", out.table));
  if (const auto* id = find_member(json, "id"); id != nullptr && id->IsString()) {
    // Numbers are also read as text, so that a long one keeps its digits.
    const std::string_view text(id->GetString(), id->GetStringLength());
    out.id = is_digits(text) ? std::string(text) : json_string(text);
  }
  return out;
}

std::string done(std::string_view verb, const Update& update) {
  const auto table = json_string(update.table);
  if (update.by_query && verb == "update")
    return fmt::format(R"({{"table":{},"updated":1}})", table);
  if (update.by_query && verb == "delete")
    return fmt::format(R"({{"table":{},"deleted":1}})", table);
  const auto head = fmt::format(R"({{"table":{},"id":{},)", table, update.id);
  if (verb == "insert") return head + R"("created":true,"result":"created","status":201})";
  if (verb == "replace") return head + R"("created":false,"result":"updated","status":200})";
  if (verb == "update") return head + R"("result":"updated"})";
  return head + R"("found":true,"result":"deleted"})";
}

/// Reads a line of a bulk, {"insert":{"table":…}}; sets `verb` to the name of its only member.
Update read_line(std::string_view line, std::span<const std::string> tables, std::string& verb,
                 Complaint& complaint) {
  rapidjson::Document json;
  json.Parse<kParseUpdates>(line.data(), line.size());
  if (json.HasParseError() || !json.IsObject() || json.MemberCount() != 1) {
    complaint.say(400, "a line of a bulk should be an object with one update");
    return {};
  }
  const auto& only = *json.MemberBegin();
  verb.assign(only.name.GetString(), only.name.GetStringLength());
  if (verb == "bulk" || verb_of(fmt::format("/{}", verb)).empty())
    complaint.say(400, fmt::format("unknown update '{}'", verb));
  return read_update(only.value, tables, complaint);
}

struct Counts {
  std::size_t created = 0;
  std::size_t updated = 0;
  std::size_t deleted = 0;
  std::size_t all() const { return created + updated + deleted; }
};

HttpAnswer bulk_failed(const Complaint& complaint, std::size_t line) {
  return {complaint.status() == 400 ? 400 : 500,
          fmt::format(R"({{"items":[],"current_line":{},"skipped_lines":{},"errors":true,)"
                      R"("error":{}}})",
                      line, line, json_string(complaint.text())),
          {}};
}

/// The updates of a bulk are one transaction: all are answered by one item that counts them.
HttpAnswer bulk(std::string_view body, std::span<const std::string> tables) {
  Counts counts;
  Update last;
  std::size_t lines = 0;
  while (!body.empty()) {
    const auto line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(body.size(), line.size() + 1));
    ++lines;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::string verb;
    Complaint complaint;
    last = read_line(line, tables, verb, complaint);
    if (complaint) return bulk_failed(complaint, lines);
    ++(verb == "update" ? counts.updated : verb == "delete" ? counts.deleted : counts.created);
  }
  if (counts.all() == 0) return error_answer(400, "an empty bulk");
  const bool created = counts.created > 0;
  HttpAnswer out;
  out.body = fmt::format(
      R"({{"items":[{{"bulk":{{"table":{},"_id":{},"created":{},"deleted":{},"updated":{},)"
      R"("result":"{}","status":{}}}}}],"current_line":{},"skipped_lines":0,"errors":false,)"
      R"("error":""}})",
      json_string(last.table), last.id, counts.created, counts.deleted, counts.updated,
      created ? "created" : "updated", created ? 201 : 200, lines);
  out.updates = counts.all();
  return out;
}

}  // namespace

bool is_update(std::string_view path) {
  return !verb_of(path).empty();
}

HttpAnswer answer_update(const HttpRequest& request, std::span<const std::string> tables) {
  const auto verb = verb_of(request.path);
  if (verb == "bulk") return bulk(request.body, tables);
  rapidjson::Document json;
  json.Parse<kParseUpdates>(request.body.data(), request.body.size());
  if (json.HasParseError() || !json.IsObject())
    return error_answer(400, "the body should be a JSON object");
  Complaint complaint;
  const auto update = read_update(json, tables, complaint);
  if (complaint.status() == 409) return {409, refused(complaint.text(), update.table), {}};
  if (complaint) return error_answer(complaint.status(), complaint.text());
  HttpAnswer out;
  out.body = done(verb, update);
  out.updates = 1;
  return out;
}

HttpAnswer not_primary(std::string_view role) {
  return {409,
          fmt::format(R"({{"error":{{"type":"not_primary","reason":"this agent's role is {}, )"
                      R"(updates go to the primary"}},"code":10107,"type":"not_primary",)"
                      R"("status":409}})",
                      role),
          {}};
}

}  // namespace karmad
