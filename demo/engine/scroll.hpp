#pragma once

#include <string>
#include <vector>

#include "demo/data/columns.hpp"

namespace karmad {

/// One key of a token's order and its value in the last row of a page.
struct TokenKey {
  std::string attribute;
  bool descending = false;
  Value value;
  std::string text{};  ///< of the key in the statement; empty: made from the attribute
};
/// The token of a scroll in the search server's form, base64 of JSON: the order, and the values of
/// the last row of a page.
std::string scroll_token(const std::vector<TokenKey>& keys);

}  // namespace karmad
