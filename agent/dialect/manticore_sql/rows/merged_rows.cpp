#include "agent/dialect/manticore_sql/rows/merged_rows.hpp"

#include <algorithm>
#include <unordered_map>

#include "agent/json/keyed_hash.hpp"

namespace karmad {

CommonColumns::CommonColumns(const RawReplies& replies, std::size_t set) {
  const RawSet* first = nullptr;
  bool same = true;
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    const auto& found = replies.set(s, set);
    if (found.columns == 0) continue;
    widest_ = std::max(widest_, found.columns);
    if (first == nullptr) first = &found;
    same &= found.columns == first->columns && found.first_column == first->first_column;
  }
  const auto columns = first == nullptr ? replies.listed_columns(set) : replies.columns_of(*first);
  columns_.assign(columns.begin(), columns.end());
  if (!same) keep_common(replies, set);
}

void CommonColumns::keep_common(const RawReplies& replies, std::size_t set) {
  using Places = std::unordered_map<std::string_view, std::size_t, KeyedHash>;
  std::vector<Places> known(replies.shards());
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    const auto columns = replies.columns_of(replies.set(s, set));
    for (std::size_t c = 0; c < columns.size(); ++c) known[s].try_emplace(columns[c].name, c);
  }
  std::erase_if(columns_, [&](const RawColumn& column) {
    return std::ranges::any_of(known, [&](const Places& places) {
      return !places.empty() && !places.contains(column.name);
    });
  });
  places_.resize(replies.shards() * columns_.size());
  for (std::size_t s = 0; s < replies.shards(); ++s)
    for (std::size_t c = 0; c < columns_.size() && !known[s].empty(); ++c)
      places_[s * columns_.size() + c] = known[s].find(columns_[c].name)->second;
}

void CommonColumns::append(std::size_t shard, std::span<const std::string_view> row,
                           std::vector<std::string_view>& cells) const {
  if (places_.empty()) {
    cells.insert(cells.end(), row.begin(),
                 row.begin() + static_cast<std::ptrdiff_t>(columns_.size()));
    return;
  }
  const auto places = std::span(places_).subspan(shard * columns_.size(), columns_.size());
  for (const auto place : places) cells.push_back(row[place]);
}

}  // namespace karmad
