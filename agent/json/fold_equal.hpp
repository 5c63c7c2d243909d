#pragma once

#include <utility>
#include <vector>

namespace karmad {

/// Merges neighbours of `sorted` whose buckets have equal keys: the first one stays, with the
/// others added to it. `same(a, b)` compares the keys.
template <class Keyed, class Same>
void fold_equal(std::vector<Keyed>& sorted, Same same) {
  auto last = sorted.begin();
  for (auto at = sorted.begin(); at != sorted.end(); ++at) {
    if (at == last) continue;
    if (same(*last, *at))
      last->bucket.add(at->bucket);
    else if (++last != at)
      *last = std::move(*at);
  }
  if (!sorted.empty()) sorted.erase(last + 1, sorted.end());
}

}  // namespace karmad
