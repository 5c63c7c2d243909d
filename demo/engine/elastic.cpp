#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <utility>

#include "demo/data/text.hpp"
#include "demo/engine/change.hpp"
#include "demo/engine/engine.hpp"
#include "demo/language/read_request.hpp"

namespace karmad::demo {

namespace {

using Verb = ElasticPath::Verb;

constexpr std::array<std::pair<std::string_view, Verb>, 7> kElasticVerbs{{
    {"_search", Verb::search},
    {"_msearch", Verb::msearch},
    {"_count", Verb::count},
    {"_doc", Verb::doc},
    {"_create", Verb::create},
    {"_update", Verb::update},
    {"_bulk", Verb::bulk},
}};

constexpr std::string_view kShards =
    R"({ "total": 1, "successful": 1, "skipped": 0, "failed": 0 })";

std::string_view next_line(std::string_view& body) {
  const auto line = body.substr(0, body.find('\n'));
  body.remove_prefix(std::min(body.size(), line.size() + 1));
  return line;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// The object as the body of a `/search` in that table.
std::string with_table(std::string_view body, const std::string& table) {
  auto json = parse_object(is_blank(body) ? "{}" : body);
  if (!json.IsObject()) return std::string(body);
  if (!table.empty()) {
    json.RemoveMember("index");
    json.RemoveMember("table");
    json.AddMember("table", rapidjson::Value(table, json.GetAllocator()), json.GetAllocator());
  }
  return json_text(json);
}

std::string table_in(std::string_view body) {
  const auto json = parse_object(body);
  for (const auto* name : {"table", "index", "_index"})
    if (const auto* table = find_member(json, name); table != nullptr && table->IsString())
      return std::string(text_of(*table));
  return {};
}

/// The answer of a `/search` in the other form.
std::string elastic_form(std::string_view body, std::string_view table) {
  const auto json = parse_object(body);
  std::vector<std::string> hits;
  for (const auto& hit : json["hits"]["hits"].GetArray()) {
    std::string out = "{";
    for (const auto& member : hit.GetObject()) {
      const auto name = text_of(member.name);
      if (name == "_source")
        out += fmt::format(R"("_index":{},"_type": "doc","_version": 1,)", json_string(table));
      const auto value = json_text(member.value);
      out += fmt::format(R"("{}":{},)", name, name == "_id" ? '"' + value + '"' : value);
    }
    out.back() = '}';
    hits.push_back(std::move(out));
  }
  const auto* aggregations = find_member(json, "aggregations");
  return fmt::format(
      R"({{"took":{},"timed_out":false,"_shards":{},"hits":{{"total":{},"total_relation":{},)"
      R"("max_score": null,"hits":[{}]}}{},"status": 200}})",
      json["took"].GetInt64(), kShards, json_text(json["hits"]["total"]),
      json_text(json["hits"]["total_relation"]), fmt::join(hits, ","),
      aggregations == nullptr ? "" : ",\"aggregations\":" + json_text(*aggregations));
}

/// The refusal of a search in the other form: every mistake has the status 400.
HttpAnswer elastic_error(const HttpAnswer& answer) {
  const auto json = parse_object(answer.body);
  const auto* error = find_member(json, "error");
  return {400,
          fmt::format(R"({{"error":{{"type":"parse_exception","reason":{}}},"status":400}})",
                      error == nullptr ? "null" : json_text(*error)),
          {}};
}

HttpAnswer one_search(std::string_view body, const std::string& table, const SearchOne& search) {
  auto answer = search(with_table(body, table));
  if (answer.status != 200) return elastic_error(answer);
  answer.body = elastic_form(answer.body, table.empty() ? table_in(body) : table);
  return answer;
}

HttpAnswer several_searches(std::string_view body, const std::string& table,
                            const SearchOne& search) {
  std::vector<std::string> answers;
  while (!body.empty()) {
    const auto head = next_line(body);
    if (is_blank(head)) continue;
    auto named = table_in(head);
    answers.push_back(one_search(next_line(body), named.empty() ? table : named, search).body);
  }
  if (answers.empty()) return error_answer(400, "an empty msearch");
  return {200, fmt::format(R"({{"took":0,"responses":[{}]}})", fmt::join(answers, ",")), {}};
}

HttpAnswer count_of(std::string_view body, const std::string& table, const SearchOne& search) {
  auto answer = search(with_table(body, table));
  if (answer.status != 200) return elastic_error(answer);
  const auto json = parse_object(answer.body);
  return {200,
          fmt::format(R"({{"count":{},"_shards":{}}})", json_text(json["hits"]["total"]), kShards),
          {}};
}

/// One document's change.
struct ElasticChange {
  std::string action;  ///< index, create, update, delete
  std::string table;
  std::uint64_t id = 0;
};

struct ElasticDone {
  int status = 200;
  std::string body;  ///< members of the item
};

ElasticDone make_change(const ElasticChange& wanted, const Json* document,
                        std::span<const std::string> tables, Index* index) {
  Complaint complaint;
  RowChange change{.table = wanted.table, .ids = {wanted.id}};
  using Change = RowChange::Kind;
  change.kind = wanted.action == "create"   ? Change::insert
                : wanted.action == "index"  ? Change::replace
                : wanted.action == "update" ? Change::patch
                                            : Change::erase;
  if (!is_table(tables, wanted.table)) complaint.say(409, "table '{}' absent", wanted.table);
  if (document != nullptr && document->IsObject()) {
    const auto* inner = wanted.action == "update" ? find_member(*document, "doc") : nullptr;
    const auto& fields = inner != nullptr && inner->IsObject() ? *inner : *document;
    change.given = read_given(fields);
  }
  Changed changed{1, wanted.id, {}, false};
  if (!complaint && index != nullptr) changed = change_rows(*index, change, complaint);
  const auto head =
      fmt::format(R"("_index":{},"_type":"doc","_id":"{}")", json_string(wanted.table), changed.id);
  if (complaint)
    return {409, fmt::format(R"({},"status":409,"error":{{"type":"mapper_parsing_exception",)"
                             R"("reason":{}}})",
                             head, json_string(complaint.text()))};
  const bool creates =
      change.kind == RowChange::Kind::insert || change.kind == RowChange::Kind::replace;
  const bool is_new = creates && !changed.existed;
  const auto* result = is_new                                  ? "created"
                       : changed.rows == 0                     ? "not_found"
                       : change.kind == RowChange::Kind::erase ? "deleted"
                                                               : "updated";
  const int status = is_new ? 201 : changed.rows == 0 ? 404 : 200;
  return {status, fmt::format(R"({},"_version":1,"result":"{}","_shards":{{"total":1,)"
                              R"("successful":1,"failed":0}},"_seq_no":0,"_primary_term":1,)"
                              R"("status":{})",
                              head, result, status)};
}

HttpAnswer several_changes(std::string_view body, const std::string& table,
                           std::span<const std::string> tables, Index* index) {
  std::vector<std::string> items;
  bool errors = false;
  while (!body.empty()) {
    const auto line = next_line(body);
    if (is_blank(line)) continue;
    const auto json = parse_object(line);
    if (!json.IsObject() || json.MemberCount() != 1 || !json.MemberBegin()->value.IsObject())
      return error_answer(400, "a line of a bulk should be an object with one action");
    const auto& only = *json.MemberBegin();
    ElasticChange change{std::string(text_of(only.name)), table_in(json_text(only.value)), 0};
    if (change.table.empty()) change.table = table;
    if (const auto* id = find_member(only.value, "_id"))
      change.id = id->IsUint64()   ? id->GetUint64()
                  : id->IsString() ? number_of<std::uint64_t>(text_of(*id)).value_or(0)
                                   : 0;
    rapidjson::Document document;
    if (change.action != "delete") {
      document = parse_object(next_line(body));
      if (!document.IsObject()) return error_answer(400, "an action of a bulk has no document");
    }
    const auto done = make_change(change, &document, tables, index);
    errors = errors || done.status >= 300;
    items.push_back(fmt::format(R"({{"{}":{{{}}}}})", change.action, done.body));
  }
  HttpAnswer out;
  out.body = fmt::format(R"({{"took":0,"errors":{},"items":[{}]}})", errors, fmt::join(items, ","));
  out.updates = items.size();
  return out;
}

}  // namespace

ElasticPath read_elastic_path(std::string_view path) {
  ElasticPath out;
  if (path.empty()) return out;
  path.remove_prefix(1);
  if (!path.starts_with('_')) {
    const auto slash = std::min(path.find('/'), path.size());
    out.table = url_decoded(path.substr(0, slash));
    path.remove_prefix(std::min(path.size(), slash + 1));
  }
  const auto slash = std::min(path.find('/'), path.size());
  const auto* found = std::ranges::find(kElasticVerbs, path.substr(0, slash),
                                        [](const auto& v) { return v.first; });
  if (found == kElasticVerbs.end()) return out;
  const bool needs_table = found->second != Verb::search && found->second != Verb::msearch &&
                           found->second != Verb::bulk;
  if (needs_table && out.table.empty()) return out;
  out.verb = found->second;
  out.id = url_decoded(path.substr(std::min(path.size(), slash + 1)));
  return out;
}

bool is_elastic_search(const ElasticPath& path) {
  return path.verb == Verb::search || path.verb == Verb::msearch || path.verb == Verb::count;
}

bool is_elastic_update(const ElasticPath& path) {
  return path.verb != Verb::none && !is_elastic_search(path);
}

HttpAnswer answer_elastic_search(const ElasticPath& path, const HttpRequest& request,
                                 const SearchOne& search) {
  if (path.verb == Verb::msearch) return several_searches(request.body, path.table, search);
  if (path.verb == Verb::count) return count_of(request.body, path.table, search);
  return one_search(request.body, path.table, search);
}

HttpAnswer answer_elastic_update(const ElasticPath& path, const HttpRequest& request,
                                 std::span<const std::string> tables, Index* index) {
  if (path.verb == Verb::bulk) return several_changes(request.body, path.table, tables, index);
  const bool erases = request.method == "DELETE";
  const auto json = parse_object(request.body);
  if (!erases && !json.IsObject()) return error_answer(400, "the body should be a JSON object");
  const auto id = number_of<std::uint64_t>(path.id);
  if (!path.id.empty() && !id) return error_answer(400, fmt::format("'{}' is no id", path.id));
  const ElasticChange change{erases                      ? "delete"
                             : path.verb == Verb::create ? "create"
                             : path.verb == Verb::update ? "update"
                                                         : "index",
                             path.table, id.value_or(0)};
  const auto done = make_change(change, &json, tables, index);
  HttpAnswer out{done.status, "{" + done.body + "}", {}};
  if (done.status != 409) out.updates = 1;
  // The search server's own form of a partial replacement.
  if (path.verb == Verb::update && done.status != 409)
    out = {200,
           fmt::format(R"({{"table":{},"updated":{}}})", json_string(path.table),
                       done.status == 200 ? 1 : 0),
           {},
           1};
  return out;
}

}  // namespace karmad::demo
