#include "demo/engine/percolate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/document.h>

#include <algorithm>

#include "demo/data/text.hpp"
#include "demo/engine/change.hpp"
#include "demo/language/query_string.hpp"
#include "demo/language/read_request.hpp"

namespace karmad::demo {

namespace {

constexpr std::size_t kMostDocuments = 1000;

/// /pq/{table}/{verb}[/{id}]
struct PercolatePath {
  std::string table;
  std::string verb;
  std::string id;
};

PercolatePath read_path(std::string_view path) {
  PercolatePath out;
  if (path.starts_with("/json/")) path.remove_prefix(5);
  if (!path.starts_with("/pq/")) return out;
  path.remove_prefix(4);
  for (auto* part : {&out.table, &out.verb, &out.id}) {
    const auto slash = std::min(path.find('/'), path.size());
    *part = url_decoded(path.substr(0, slash));
    path.remove_prefix(std::min(path.size(), slash + 1));
  }
  return out;
}

void read_stored(const Json& json, std::string_view table, StoredQuery& out, Complaint& complaint) {
  Reading reading{std::string(table), complaint, {}};
  const auto* query = find_member(json, "query");
  const auto* wrapped = find_member(query, "ql");
  if (wrapped != nullptr) query = wrapped;
  if (query == nullptr || (!query->IsString() && !query->IsObject()))
    return complaint.say(400, "\"query\" property missing");
  if (query->IsString()) {
    out.text = text_of(*query);
    out.query = read_query_string(out.text, table, complaint);
    out.json = fmt::format(R"({{"ql":{}}})", json_string(out.text));
  } else {
    out.query = read_query(*query, reading);
    out.json = json_text(*query);
  }
  const auto* filters = find_member(json, "filters");
  if (filters != nullptr && filters->IsString() && filters->GetStringLength() > 0)
    complaint.say(400, "\"filters\" are beyond the demo agent: use a JSON query with a filter");
  const auto* tags = find_member(json, "tags");
  if (tags != nullptr && tags->IsString()) out.tags = text_of(*tags);
  if (tags == nullptr || !tags->IsArray()) return;
  for (const auto& tag : tags->GetArray())
    if (tag.IsString()) out.tags.append(out.tags.empty() ? "" : ",").append(text_of(tag));
}

std::vector<std::string> read_documents(const Json& json) {
  const auto* query = find_member(json, "query");
  const auto* percolation = find_member(query, "percolate");
  if (percolation == nullptr || !percolation->IsObject()) return {};
  std::vector<std::string> out;
  if (const auto* one = find_member(*percolation, "document"); one != nullptr && one->IsObject())
    out.push_back(json_text(*one));
  const auto* all = find_member(*percolation, "documents");
  if (all != nullptr && all->IsArray())
    for (const auto& one : all->GetArray())
      if (one.IsObject()) out.push_back(json_text(one));
  return out;
}

std::string hit_of(std::string_view table, const Percolated& match) {
  return fmt::format(
      R"({{"table":{},"_type":"doc","_id":{},"_score":"1","_source":{{"query":{},"tags":{},)"
      R"("filters":""}},"fields":{{"_percolator_document_slot":[{}]}}}})",
      json_string(table), match.id, match.query->json, json_string(match.query->tags),
      fmt::join(match.documents, ","));
}

}  // namespace

std::vector<Percolated> percolate(const StoredQueries& queries,
                                  std::span<const std::string> documents) {
  Index index{{}};
  for (std::size_t place = 1; place <= documents.size(); ++place) {
    Complaint ignored;
    RowChange change{.ids = {place}};
    const auto json = parse_object(documents[place - 1]);
    if (json.IsObject()) change.given = read_given(json);
    std::erase_if(change.given, [](const Given& one) { return !column_named(one.column); });
    change_rows(index, change, ignored);
    if (!index.position_of(place)) index.put({.id = place});
  }
  std::vector<Percolated> out;
  for (const auto& [id, stored] : queries) {
    const auto matches = evaluate(index, stored.query);
    Percolated match{id, &stored, {}};
    for (std::size_t i = 0; i < matches.found.size(); ++i)
      if (matches.found[i] != 0) match.documents.push_back(i + 1);
    if (!match.documents.empty()) out.push_back(std::move(match));
  }
  return out;
}

bool stores_query(std::string_view path) {
  return read_path(path).verb == "doc";
}

bool is_percolation(std::string_view path) {
  const auto verb = read_path(path).verb;
  return verb == "search" || verb == "_search";
}

HttpAnswer store_query(const HttpRequest& request, std::span<const std::string> tables,
                       std::map<std::string, StoredQueries>& queries) {
  const auto path = read_path(request.path);
  if (!is_table(tables, path.table))
    return error_answer(500, fmt::format("unknown local table '{}'", path.table));
  const auto json = parse_object(request.body);
  if (!json.IsObject()) return error_answer(400, "the body should be a JSON object");
  auto& stored = queries[lower_case(path.table)];
  auto id = number_of<std::uint64_t>(path.id).value_or(0);
  if (!path.id.empty() && id == 0)
    return error_answer(400, fmt::format("'{}' is no id of a query", path.id));
  const bool exists = stored.contains(id);
  if (exists && parameter(request.query, "refresh") != "1")
    return error_answer(409, fmt::format("duplicate id '{}'", id));
  if (id == 0) id = stored.empty() ? 1 : stored.rbegin()->first + 1;
  Complaint complaint;
  StoredQuery query;
  read_stored(json, path.table, query, complaint);
  if (complaint) return error_answer(complaint.status(), complaint.text());
  stored[id] = std::move(query);
  HttpAnswer out;
  out.body = fmt::format(R"({{"table":{},"type":"doc","_id":{},"result":"{}"}})",
                         json_string(path.table), id, exists ? "updated" : "created");
  out.updates = 1;
  return out;
}

HttpAnswer answer_percolation(const HttpRequest& request, std::span<const std::string> tables,
                              const std::map<std::string, StoredQueries>& queries) {
  const auto path = read_path(request.path);
  if (!is_table(tables, path.table))
    return error_answer(500, fmt::format("unknown local table '{}'", path.table));
  const auto documents = read_documents(parse_object(request.body));
  if (documents.empty() || documents.size() > kMostDocuments)
    return error_answer(400, fmt::format("percolate needs 1 to {} documents", kMostDocuments));
  const auto found = queries.find(lower_case(path.table));
  const auto matches =
      found == queries.end() ? std::vector<Percolated>{} : percolate(found->second, documents);
  std::vector<std::string> hits;
  for (const auto& match : matches) hits.push_back(hit_of(path.table, match));
  return {200,
          fmt::format(R"({{"took":0,"timed_out":false,"hits":{{"total":{},"max_score":1,)"
                      R"("hits":[{}]}}}})",
                      hits.size(), fmt::join(hits, ",")),
          {}};
}

}  // namespace karmad::demo
