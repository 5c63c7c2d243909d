#include "demo/sql/run.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace karmad::demo {

namespace {

using Vector = std::array<float, 4>;

double squared_distance(const Vector& a, const Vector& b) {
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    out += difference * difference;
  }
  return out;
}

std::vector<Hit> every_document(const Index& index) {
  std::vector<Hit> out;
  for (std::uint32_t i = 0; i < index.documents().size(); ++i) out.push_back({i});
  return out;
}

/// The nearest of the candidates, the best one first.
std::vector<Hit> nearest_of(const Index& index, const Knn& knn, std::vector<Hit> candidates) {
  const auto documents = index.documents();
  auto vector = knn.vector;
  std::optional<std::uint32_t> itself;
  if (knn.document) {
    itself = index.position_of(*knn.document);
    if (!itself || documents[*itself].embedding == Vector{}) return {};
    vector = documents[*itself].embedding;
  }
  Matches filter;
  if (knn.filter) filter = evaluate(index, *knn.filter);
  std::erase_if(candidates, [&](const Hit& hit) {
    return (knn.filter && filter.found[hit.document] == 0) || hit.document == itself ||
           documents[hit.document].embedding == Vector{};
  });
  for (auto& hit : candidates)
    hit.distance = squared_distance(vector, documents[hit.document].embedding);
  std::ranges::sort(candidates, [](const Hit& a, const Hit& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.document < b.document;
  });
  candidates.resize(std::min(candidates.size(), knn.k));
  return candidates;
}

std::vector<Hit> fuse(const Index& index, const Select& select, std::vector<Hit> hits) {
  const auto& fusion = *select.fusion;
  auto window = select.offset + select.limit;
  for (const auto& knn : select.knn) window = std::max(window, knn.k);
  if (fusion.window != 0) window = fusion.window;
  std::ranges::stable_sort(hits, std::ranges::greater{}, &Hit::score);
  std::vector<std::vector<Hit>> lists{std::move(hits)};
  for (const auto& knn : select.knn) lists.push_back(nearest_of(index, knn, every_document(index)));

  std::map<std::uint32_t, Hit> fused;
  for (std::size_t list = 0; list < lists.size(); ++list) {
    const double weight = list < fusion.weights.size() ? fusion.weights[list] : 1;
    const auto size = std::min(lists[list].size(), window);
    for (std::size_t rank = 1; rank <= size; ++rank) {
      const auto& hit = lists[list][rank - 1];
      const auto [at, is_new] = fused.try_emplace(hit.document, hit);
      auto& sum = at->second;
      if (list > 0)
        sum.distance =
            is_new || sum.distance == 0 ? hit.distance : std::min(sum.distance, hit.distance);
      sum.fused += weight / (fusion.rank_constant + static_cast<double>(rank));
    }
  }
  std::vector<Hit> out;
  for (const auto& [document, hit] : fused) out.push_back(hit);
  return out;
}

}  // namespace

std::vector<Hit> nearest_hits(const Index& index, const Select& select, std::vector<Hit> hits) {
  if (select.fusion) return fuse(index, select, std::move(hits));
  auto out = nearest_of(index, select.knn.front(), std::move(hits));
  std::ranges::sort(out, {}, &Hit::document);
  return out;
}

}  // namespace karmad::demo
