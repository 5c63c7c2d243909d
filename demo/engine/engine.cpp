#include "demo/engine/engine.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <mutex>

#include "demo/data/text.hpp"
#include "demo/engine/membership.hpp"
#include "demo/engine/percolate.hpp"
#include "demo/language/read_request.hpp"
#include "demo/sql/show.hpp"

namespace karmad::demo {

namespace {

using Clock = std::chrono::steady_clock;

std::int64_t milliseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
}

HttpAnswer not_allowed(std::string allow) {
  auto out = error_answer(405, "method not allowed, use " + allow);
  out.allow = std::move(allow);
  return out;
}

std::string banner() {
  return "{\"name\":\"karmad-demo-agent\",\"version\":{\"number\":\"" KARMAD_VERSION
         "\"},\"tagline\":\"a small search server to try karmad with\"}";
}

}  // namespace

HttpAnswer error_answer(int status, std::string_view text) {
  return {status, fmt::format("{{\"error\":{}}}", json_string(text)), {}};
}

std::string parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const auto pair = query.substr(0, query.find('&'));
    const auto equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name)
      return url_decoded(pair.substr(equals + 1));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
  }
  return {};
}

Purpose purpose_of(std::string_view path) {
  if (path == "/search" || path == "/json/search" || path == "/autocomplete")
    return Purpose::search;
  if (path == "/sql" || path == "/cli_json" || path == "/cli") return Purpose::sql;
  if (path == "/" || path == "/healthz" || path == "/hello") return Purpose::ping;
  if (is_percolation(path) || is_elastic_search(read_elastic_path(path))) return Purpose::search;
  if (is_update(path) || stores_query(path) || is_elastic_update(read_elastic_path(path)))
    return Purpose::update;
  return Purpose::other;
}

HttpAnswer Engine::answer(const HttpRequest& request, const Membership& membership,
                          std::int64_t now_ms) const {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  const bool posts = request.method == "POST";
  switch (purpose_of(request.path)) {
    case Purpose::search:
      if (posts) return search(request);
      if (reads && !request.path.ends_with("/search") && request.path != "/autocomplete")
        return search(request);
      return not_allowed("POST");
    case Purpose::sql:
      return posts || reads ? sql(request, membership) : not_allowed("GET, HEAD, POST");
    case Purpose::ping:
      return reads ? ping(request, membership, now_ms) : not_allowed("GET, HEAD");
    case Purpose::update:
      if (!posts &&
          (is_update(request.path) || (request.method != "PUT" && request.method != "DELETE")))
        return not_allowed("POST");
      return update(request, membership);
    case Purpose::other:
      return error_answer(404, fmt::format("unknown path '{}'", request.path));
  }
  return error_answer(404, "unknown path");
}

void Engine::add_empty_table(const std::string& name) {
  tables_.push_back(empty_table_ = name);
}

void Engine::add_query_table(const std::string& name) {
  tables_.push_back(query_table_ = name);
}

SqlServer Engine::server(const Membership& membership, Index* changing) const {
  return {catalogue_->index, catalogue_->empty, empty_table_,        query_table_, tables_,
          hidden_column_,    membership,        catalogue_->queries, changing};
}

HttpAnswer Engine::update(const HttpRequest& request, const Membership& membership) const {
  if (!takes_updates(membership)) return not_primary(membership.role);
  const std::unique_lock changing(catalogue_->lock);
  if (stores_query(request.path)) return store_query(request, tables_, catalogue_->queries);
  auto* const index = updates_ == Updates::counted ? nullptr : &catalogue_->index;
  const auto path = read_elastic_path(request.path);
  if (path.verb != ElasticPath::Verb::none)
    return answer_elastic_update(path, request, tables_, index);
  return answer_update(request, tables_, index);
}

HttpAnswer Engine::ping(const HttpRequest& request, const Membership& membership,
                        std::int64_t now_ms) const {
  if (request.path == "/hello") return {200, write_hello(membership, now_ms), {}};
  return {200, request.path == "/" ? banner() : "{\"status\":\"ok\"}", {}};
}

HttpAnswer Engine::search(const HttpRequest& request) const {
  if (is_percolation(request.path)) {
    const std::shared_lock reading(catalogue_->lock);
    return answer_percolation(request, tables_, catalogue_->queries);
  }
  if (request.path == "/autocomplete") return autocomplete(request.body);
  const auto path = read_elastic_path(request.path);
  if (path.verb == ElasticPath::Verb::none) return search(request.body);
  return answer_elastic_search(path, request, [&](std::string_view body) { return search(body); });
}

HttpAnswer Engine::autocomplete(std::string_view body) const {
  const auto json = parse_object(body);
  const auto member = [&](const char* name) { return std::string(text_member(json, name)); };
  Statement call;
  call.kind = Statement::Kind::call;
  call.what = "autocomplete";
  call.arguments = {{Literal{member("query")}}, {Literal{member("table")}}};
  Complaint complaint;
  const std::shared_lock reading(catalogue_->lock);
  const auto results = run_script(server(Membership{}), {&call, 1}, complaint);
  if (complaint) return error_answer(complaint.status(), complaint.text());
  return {200, write_raw(results), {}};
}

HttpAnswer Engine::search(std::string_view body) const {
  const auto start = Clock::now();
  Complaint complaint;
  const auto request = read_search(body, tables_, complaint);
  if (complaint) return error_answer(complaint.status(), complaint.text());
  const std::shared_lock reading(catalogue_->lock);
  const auto& index = server(Membership{}).index_of(request.select.table);
  return {200, answer_search(index, request, start), {}};
}

HttpAnswer Engine::sql(const HttpRequest& request, const Membership& membership) const {
  if (request.path == "/cli_json" || request.path == "/cli")
    return statements(request.body.empty() ? url_decoded(request.query) : request.body,
                      request.path == "/cli" ? SqlLayout::text : SqlLayout::raw, membership);
  // The body decides: clients that send a bare statement often label it as a form.
  const bool form = request.body.starts_with("query=") || request.body.starts_with("mode=raw&");
  const auto& parameters = form ? request.body : request.query;
  const bool raw = parameter(request.query, "mode") == "raw" ||
                   parameter(request.query, "raw_response") == "true" ||
                   (form && parameter(parameters, "mode") == "raw");
  const auto text = form || request.body.empty() ? parameter(parameters, "query") : request.body;
  if (text.empty()) return error_answer(400, "query missing");
  return statements(text, raw ? SqlLayout::raw : SqlLayout::hits, membership);
}

HttpAnswer Engine::statements(std::string_view text, SqlLayout layout,
                              const Membership& membership) const {
  const auto start = Clock::now();
  Complaint complaint;
  auto read = read_sql(text, tables_, complaint);
  const bool hits = layout == SqlLayout::hits;
  if (complaint) return error_answer(hits ? complaint.status() : 500, complaint.text());
  if (hits && read.size() > 1) return error_answer(501, "multiple queries not supported");
  if (hits && read[0].kind != Statement::Kind::select)
    return error_answer(501, "only SELECT queries are supported");
  // Hits in a total order can always be paged through.
  if (hits && is_strict() && std::ranges::any_of(read[0].select.order, [](const OrderKey& key) {
        return key.expression.kind == Expression::Kind::column && key.expression.column.is_id();
      }))
    read[0].select.scrolls = true;
  const auto changes = std::ranges::count(read, Statement::Kind::change, &Statement::kind);
  if (changes > 0 && !takes_updates(membership)) return not_primary(membership.role);
  std::shared_lock reading(catalogue_->lock, std::defer_lock);
  std::unique_lock changing(catalogue_->lock, std::defer_lock);
  const bool change = changes > 0 && updates_ == Updates::applied;
  change ? changing.lock() : reading.lock();
  auto& index = catalogue_->index;
  const auto results = run_script(server(membership, change ? &index : nullptr), read, complaint);
  if (complaint)
    return error_answer(layout == SqlLayout::hits ? complaint.status() : 500, complaint.text());
  const auto took = milliseconds_since(start);
  HttpAnswer out;
  out.updates = static_cast<std::size_t>(changes);
  if (hits) {
    out.body = write_sql_hits(index, results, took);
  } else if (layout == SqlLayout::raw) {
    out.body = write_raw(results);
  } else {
    out.body = write_text(results, static_cast<double>(took) / 1000);
    out.type = "text/plain; charset=UTF-8";
  }
  return out;
}

}  // namespace karmad::demo
