#pragma once

#include <utility>
#include <vector>

namespace karmad {

/// Makes one of neighbours whose `bucket`s have the same key: the first stays, with the sum of the
/// counts. `same(a, b)` tells whether two have the same key.
template <class Keyed, class Same>
void fold_equal(std::vector<Keyed>& sorted, Same same) {
  auto last = sorted.begin();
  for (auto at = sorted.begin(); at != sorted.end(); ++at) {
    if (at == last) continue;
    if (same(*last, *at))
      last->bucket.count += at->bucket.count;
    else if (++last != at)
      *last = std::move(*at);
  }
  if (!sorted.empty()) sorted.erase(last + 1, sorted.end());
}

}  // namespace karmad
