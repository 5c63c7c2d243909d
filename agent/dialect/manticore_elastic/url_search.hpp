#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// A member of a search that the URL gives, in the engine's own JSON.
struct UrlMember {
  std::string_view name;   ///< `query`, `limit`, `offset`, `sort` or `_source`
  std::string_view alias;  ///< the other name that the body may have for it; empty: none
  std::string value;       ///< JSON
};

/// Reads `q`, `size`, `from`, `sort` and `_source` of the parameters of an Elasticsearch-like
/// search; other parameters have no effect, as in the engine. 400 for a value that cannot be read,
/// for one of them given twice, and for `scroll`.
std::expected<std::vector<UrlMember>, ClientError> read_url_search(std::string_view parameters);

}  // namespace karmad
