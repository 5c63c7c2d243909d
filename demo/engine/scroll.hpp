#pragma once

#include <string>
#include <vector>

#include "demo/engine/search.hpp"

namespace karmad {

/// The token of a scroll in the search server's form, base64 of JSON: the order, and the values of
/// the last hit of a page.
std::string scroll_token(const Index& index, const SearchRequest& request, const Hit& last);

/// One key of a token's order and its value in the last row of a page.
struct TokenKey {
  std::string attribute;
  bool descending = false;
  Value value;
  std::string text{};  ///< of the key in the statement; empty: made from the attribute
};
std::string scroll_token(const std::vector<TokenKey>& keys);

/// Whether the hit follows the position of the scroll.
bool is_after(const Index& index, const std::vector<SortKey>& keys, const Hit& hit,
              const SearchRequest& request);

}  // namespace karmad
