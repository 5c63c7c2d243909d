#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/engine/engine.hpp"

namespace karmad::demo {

/// A stored query that matches, and the places of the documents, from 1.
struct Percolated {
  std::uint64_t id = 0;
  const StoredQuery* query = nullptr;
  std::vector<std::size_t> documents;
};

/// Matches documents (JSON objects; unknown members are ignored) against stored queries.
std::vector<Percolated> percolate(const StoredQueries& queries,
                                  std::span<const std::string> documents);

/// Whether the path is /pq/{table}/doc or below it, with or without /json before it: a query is
/// stored; or /pq/{table}/search or /pq/{table}/_search.
bool stores_query(std::string_view path);
bool is_percolation(std::string_view path);

/// Stores the query of a request. The caller locks the queries of all tables.
HttpAnswer store_query(const HttpRequest& request, std::span<const std::string> tables,
                       std::map<std::string, StoredQueries>& queries);
/// Answers a percolation.
HttpAnswer answer_percolation(const HttpRequest& request, std::span<const std::string> tables,
                              const std::map<std::string, StoredQueries>& queries);

}  // namespace karmad::demo
