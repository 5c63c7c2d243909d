#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <array>

#include "demo/data/complaint.hpp"
#include "demo/data/text.hpp"
#include "demo/engine/change.hpp"
#include "demo/engine/engine.hpp"
#include "demo/language/read_request.hpp"

namespace karmad::demo {

namespace {

constexpr std::array<std::string_view, 5> kVerbs{"insert", "replace", "update", "delete", "bulk"};

/// The verb of an update's path; empty for other paths.
std::string_view verb_of(std::string_view path) {
  constexpr std::string_view kJson = "/json/";
  path.remove_prefix(path.starts_with(kJson) ? kJson.size()
                                             : std::min<std::size_t>(1, path.size()));
  const auto* found = std::ranges::find(kVerbs, path);
  return found == kVerbs.end() ? std::string_view{} : *found;
}

/// An update as it was read.
struct Update {
  std::string verb;
  std::string id;  ///< as in the request's JSON; empty: none
  RowChange change;
  bool several = false;  ///< by query or by a list of ids: the answer counts
};

std::string refusal(std::string_view reason, std::string_view table) {
  return fmt::format(
      R"({{"error":{{"type":"action_request_validation_exception","reason":{},"table":{}}},)"
      R"("status":409}})",
      json_string(reason), json_string(table));
}

/// An id, a number or its digits; nothing for other JSON.
std::optional<std::uint64_t> number_of_id(const Json& json) {
  if (json.IsUint64()) return json.GetUint64();
  if (json.IsString()) return number_of<std::uint64_t>(text_of(json));
  return std::nullopt;
}

void read_ids(const Json& json, Update& out) {
  if (json.IsArray()) {
    out.several = true;
    for (const auto& item : json.GetArray())
      if (const auto id = number_of_id(item)) out.change.ids.push_back(*id);
  } else if (const auto id = number_of_id(json)) {
    out.change.ids.push_back(*id);
    out.id = fmt::to_string(*id);
  } else if (json.IsString()) {
    out.id = json_string(text_of(json));
  } else if (json.IsInt64()) {
    out.id = fmt::to_string(json.GetInt64());
  }
}

RowChange::Kind kind_of(std::string_view verb) {
  return verb == "insert"    ? RowChange::Kind::insert
         : verb == "replace" ? RowChange::Kind::replace
         : verb == "update"  ? RowChange::Kind::update
                             : RowChange::Kind::erase;
}

/// Reads an update and checks its table: 400 if it cannot be read, 409 if it cannot be done.
Update read_update(std::string_view verb, const Json& json, std::span<const std::string> tables,
                   Complaint& complaint) {
  Update out;
  out.verb = verb;
  out.change.kind = kind_of(verb);
  const auto* table = find_member(json, "table");
  if (table == nullptr) table = find_member(json, "index");
  if (table == nullptr || !table->IsString()) {
    complaint.say(400, "'table' is missing");
    return out;
  }
  out.change.table = text_of(*table);
  if (!is_table(tables, out.change.table))
    complaint.say(409, "table '{}' absent", out.change.table);
  if (const auto* id = find_member(json, "id")) read_ids(*id, out);
  if (out.several && (verb == "insert" || verb == "replace"))
    complaint.say(400, "'id' of one document should be a number");
  if (const auto* query = find_member(json, "query")) {
    Reading reading{out.change.table, complaint, {}};
    out.several = true;
    out.change.where = read_query(*query, reading);
  }
  if (const auto* document = find_member(json, "doc"); document != nullptr && document->IsObject())
    out.change.given = read_given(*document);
  return out;
}

/// Makes the update; without an index it is taken to have changed one document.
Changed make(const Update& update, Index* index, Complaint& complaint, Undo* undo) {
  if (index != nullptr) return change_rows(*index, update.change, complaint, undo);
  Changed out{1, 0, {}, update.verb == "replace"};
  if (!update.change.ids.empty()) out.id = update.change.ids.back();
  return out;
}

std::string done(const Update& update, const Changed& changed) {
  const auto table = json_string(update.change.table);
  if (update.several)
    return fmt::format(R"({{"table":{},"{}":{}}})", table,
                       update.verb == "update" ? "updated" : "deleted", changed.rows);
  const bool chosen = update.id.empty() || update.id == "0";
  const auto head = fmt::format(R"({{"table":{},"id":{},)", table,
                                chosen ? fmt::to_string(changed.id) : update.id);
  if (update.verb == "insert" || (update.verb == "replace" && !changed.existed))
    return head + R"("created":true,"result":"created","status":201})";
  if (update.verb == "replace") return head + R"("created":false,"result":"updated","status":200})";
  const bool any = changed.rows > 0;
  if (update.verb == "update")
    return head + fmt::format(R"("result":"{}"}})", any ? "updated" : "noop");
  return head + fmt::format(R"("found":{},"result":"{}"}})", any, any ? "deleted" : "not found");
}

/// Reads a line of a bulk, {"insert":{"table":…}}.
Update read_line(std::string_view line, std::span<const std::string> tables, Complaint& complaint) {
  const auto json = parse_object(line);
  if (!json.IsObject() || json.MemberCount() != 1) {
    complaint.say(400, "a line of a bulk should be an object with one update");
    return {};
  }
  const auto& only = *json.MemberBegin();
  const auto name = text_of(only.name);
  const auto verb = name == "create" ? std::string_view("insert") : name;
  if (verb == "bulk" || verb_of(fmt::format("/{}", verb)).empty())
    complaint.say(400, "unknown update '{}'", verb);
  return read_update(verb, only.value, tables, complaint);
}

/// Consecutive lines of one table in a bulk: they are done together, and one item counts them. A
/// blank line ends a group; an update of fields is one alone.
struct Group {
  std::string table;
  bool alone = false;
  std::uint64_t last = 0;
  std::size_t created = 0, updated = 0, deleted = 0;
  Undo undo;

  std::size_t all() const { return created + updated + deleted; }
  void count(const Update& update, const Changed& changed) {
    if (!update.change.where) last = changed.id;
    (update.verb == "update"   ? updated
     : update.verb == "delete" ? deleted
                               : created) += changed.rows;
  }
  bool takes(const Update& update) const {
    return !alone && update.verb != "update" && table == update.change.table;
  }
  std::string item() const {
    if (alone)
      return fmt::format(R"({{"update":{{"table":{},"_id":{},"result":"{}"}}}})",
                         json_string(table), last, updated > 0 ? "updated" : "noop");
    return fmt::format(R"({{"bulk":{{"table":{},"_id":{},"created":{},"deleted":{},"updated":{},)"
                       R"("result":"{}","status":{}}}}})",
                       json_string(table), last, created, deleted, updated,
                       created > 0 ? "created" : "updated", created > 0 ? 201 : 200);
  }
};

/// The progress of a bulk.
struct Bulk {
  std::vector<std::string> items;
  std::size_t line = 0;       ///< the current one, from 1; the end of the last one is another
  std::size_t committed = 0;  ///< the last line of the last finished group
  std::size_t updates = 0;    ///< accepted, in finished groups
};

std::string bulk_body(const Bulk& bulk, std::string_view error) {
  return fmt::format(
      R"({{"items":[{}],"current_line":{},"skipped_lines":{},"errors":{},"error":{}}})",
      fmt::join(bulk.items, ","), bulk.line, error.empty() ? 0 : bulk.line - bulk.committed,
      !error.empty(), json_string(error));
}

/// The current group is taken back; the groups before it stay.
HttpAnswer bulk_failed(Bulk& bulk, const Update& failed, const Complaint& complaint, Group& group,
                       Index* index) {
  if (index != nullptr) roll_back(*index, group.undo);
  if (complaint.status() != 400)
    bulk.items.push_back(
        fmt::format(R"({{"{}":{{"error":{{"type":{},"table":{}}},"status":409}}}})", failed.verb,
                    json_string(complaint.text()), json_string(failed.change.table)));
  HttpAnswer out{complaint.status() == 400 ? 400 : 500, bulk_body(bulk, complaint.text()), {}};
  out.updates = bulk.updates;
  return out;
}

HttpAnswer bulk_of(std::string_view body, std::span<const std::string> tables, Index* index) {
  Bulk bulk;
  Group group;
  std::size_t read = 0;
  const std::size_t after_last = body.ends_with('\n') ? 1 : 0;
  const auto finish = [&](std::size_t line) {
    if (!group.table.empty()) bulk.items.push_back(group.item());
    bulk.updates = read;
    bulk.committed = line;
    group = {};
  };
  while (!body.empty()) {
    const auto line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(body.size(), line.size() + 1));
    ++bulk.line;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      finish(bulk.line);
      continue;
    }
    Complaint complaint;
    const auto update = read_line(line, tables, complaint);
    if (!complaint && !group.takes(update)) {
      finish(bulk.line - 1);
      group.table = update.change.table;
      group.alone = update.verb == "update";
    }
    const auto changed = complaint ? Changed{} : make(update, index, complaint, &group.undo);
    if (complaint) return bulk_failed(bulk, update, complaint, group, index);
    group.count(update, changed);
    ++read;
  }
  if (read == 0) return error_answer(400, "an empty bulk");
  finish(bulk.line);
  bulk.line += after_last;
  HttpAnswer out{200, bulk_body(bulk, {}), {}};
  out.updates = bulk.updates;
  return out;
}

}  // namespace

bool is_update(std::string_view path) {
  return !verb_of(path).empty();
}

HttpAnswer answer_update(const HttpRequest& request, std::span<const std::string> tables,
                         Index* index) {
  const auto verb = verb_of(request.path);
  if (verb == "bulk") return bulk_of(request.body, tables, index);
  const auto json = parse_object(request.body);
  if (!json.IsObject()) return error_answer(400, "the body should be a JSON object");
  Complaint complaint;
  const auto update = read_update(verb, json, tables, complaint);
  const auto changed = complaint ? Changed{} : make(update, index, complaint, nullptr);
  if (complaint && complaint.status() != 400)
    return {409, refusal(complaint.text(), update.change.table), {}};
  if (complaint) return error_answer(complaint.status(), complaint.text());
  HttpAnswer out;
  out.body = done(update, changed);
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

}  // namespace karmad::demo
