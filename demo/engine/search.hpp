#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "demo/data/index.hpp"
#include "demo/language/request.hpp"

namespace karmad {

/// A document on the requested page.
struct Hit {
  std::uint32_t document = 0;  ///< position in `Index::documents`
  std::int64_t score = 1;
  double distance = 0;  ///< to the vector of the search, squared
  double fused = 0;     ///< sum over the lists of a fusion
};

struct SearchResult {
  std::size_t total = 0;
  bool more = false;  ///< the search was cut off: `total` is a lower bound
  std::vector<Hit> page;
  std::vector<std::uint32_t> found;  ///< all of them, ascending by id
};

/// The keys by which a search sorts: those of the request, and those it implies.
std::vector<SortKey> sort_keys(const SearchRequest& request);
/// The value by which a hit sorts; a computed text is put into `text`.
Value sort_value(const Index& index, const Hit& hit, const SortKey& key,
                 const std::vector<Computed>& computed, std::string& text);

/// Finds, sorts and cuts out the page. The order is total: equal documents sort by ascending id.
SearchResult search(const Index& index, const SearchRequest& request);

/// The body of an answer to `POST /search`.
std::string write_answer(const Index& index, const SearchRequest& request,
                         const SearchResult& result, std::int64_t took_ms);

/// Whether an answer shows the column `name`.
bool shows(const Source& source, std::string_view name);

}  // namespace karmad
