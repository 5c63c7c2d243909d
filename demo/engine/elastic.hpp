#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "demo/engine/engine.hpp"

namespace karmad {

/// A path in the form of Elasticsearch that the search server also has.
struct ElasticPath {
  enum class Verb : std::uint8_t { none, search, msearch, count, doc, create, update, bulk };
  Verb verb = Verb::none;
  std::string table;  ///< empty: the body names it
  std::string id;
};

/// Reads /{table}/_search, /{table}/_msearch, /{table}/_count, /{table}/_doc[/{id}],
/// /{table}/_create/{id}, /{table}/_update/{id} and /{table}/_bulk; the table is optional for
/// _search, _msearch and _bulk.
ElasticPath read_elastic_path(std::string_view path);
bool is_elastic_search(const ElasticPath& path);
bool is_elastic_update(const ElasticPath& path);

/// Answers the body of a `/search`.
using SearchOne = std::function<HttpAnswer(std::string_view body)>;

/// Answers a search, several searches or a count; `search` answers each.
HttpAnswer answer_elastic_search(const ElasticPath& path, const HttpRequest& request,
                                 const SearchOne& search);

/// Makes an update; `index` as in `answer_update`.
HttpAnswer answer_elastic_update(const ElasticPath& path, const HttpRequest& request,
                                 std::span<const std::string> tables, Index* index);

}  // namespace karmad
