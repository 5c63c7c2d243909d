#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "demo/language/query.hpp"

namespace karmad::demo {

/// A query that waits for documents.
struct StoredQuery {
  Query query;
  std::string json;  ///< as answers show it: the JSON query, or {"ql":"…"}
  std::string text;  ///< in the language of `MATCH`; empty for a JSON query
  std::string tags;  ///< with commas
};

/// The stored queries of a table by id.
using StoredQueries = std::map<std::uint64_t, StoredQuery>;

}  // namespace karmad::demo
