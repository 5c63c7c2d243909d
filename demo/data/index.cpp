#include "demo/data/index.hpp"

#include <algorithm>
#include <cmath>

#include "demo/data/corpus.hpp"
#include "demo/data/text.hpp"

namespace karmad::demo {

namespace {

/// How rare a word is that is in `with_word` documents: 0.5 in none, -0.5 in all. An empty corpus
/// counts as one document.
double idf(std::size_t corpus, std::size_t with_word) {
  const auto n = static_cast<double>(std::max<std::size_t>(1, corpus));
  const auto df = static_cast<double>(std::max<std::size_t>(1, with_word));
  return std::log((n - df + 1) / df) / (2 * std::log(1 + n));
}

/// The words of a document and where they stand.
std::map<std::string, std::vector<Spot>> spots_in(const Document& document) {
  std::map<std::string, std::vector<Spot>> out;
  for (const auto field : kFields) {
    std::uint32_t position = 0;
    for (auto& word : words(text_in(document, field))) out[word].push_back({field, position++});
  }
  return out;
}

}  // namespace

const std::string& text_in(const Document& document, Field field) {
  return field == Field::title ? document.title : document.body;
}

Index::Index(const std::vector<Document>& corpus, Part part)
    : Index(
          corpus,
          [part](const Document& document) {
            return part_of(document.id, part.of, part.spread) == part.number;
          },
          part.number * 1024 + part.of + part.spread) {}

Index::Index(const std::vector<Document>& corpus, const std::function<bool(const Document&)>& holds,
             std::uint64_t salt)
    : salt_(salt), corpus_size_(corpus.size()) {
  std::map<std::string, std::size_t> frequencies;
  for (const auto& document : corpus) {
    for (const auto& [word, spots] : spots_in(document)) ++frequencies[word];
    if (!holds(document)) continue;
    documents_.push_back(document);
    add_words(static_cast<std::uint32_t>(documents_.size() - 1));
  }
  for (const auto& [word, with_word] : frequencies)
    entries_[word].idf = idf(corpus.size(), with_word);
}

std::optional<std::uint32_t> Index::position_of(std::uint64_t id) const {
  const auto found = std::ranges::find(documents_, id, &Document::id);
  if (found == documents_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - documents_.begin());
}

void Index::put(Document document) {
  if (const auto position = position_of(document.id)) {
    remove_words(*position);
    documents_[*position] = std::move(document);
    add_words(*position);
    return;
  }
  const auto before = std::find_if(documents_.rbegin(), documents_.rend(),
                                   [&](const Document& other) { return other.id < document.id; });
  const auto position = static_cast<std::uint32_t>(before.base() - documents_.begin());
  documents_.insert(before.base(), std::move(document));
  move_positions(position, 1);
  add_words(position);
}

bool Index::erase(std::uint64_t id) {
  const auto position = position_of(id);
  if (!position) return false;
  remove_words(*position);
  move_positions(*position + 1, -1);
  documents_.erase(documents_.begin() + *position);
  return true;
}

std::uint64_t Index::choose_id() {
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 60;
  do ++chosen_ids_;
  while (position_of(kFirst + chosen_ids_));
  return kFirst + chosen_ids_;
}

void Index::add_words(std::uint32_t position) {
  for (auto& [word, spots] : spots_in(documents_[position])) {
    const auto [found, is_new] = entries_.try_emplace(word);
    if (is_new) found->second.idf = idf(corpus_size_, 0);
    auto& postings = found->second.postings;
    const auto at = std::ranges::lower_bound(postings, position, {}, &Posting::document);
    postings.insert(at, {position, std::move(spots)});
  }
}

void Index::remove_words(std::uint32_t position) {
  for (const auto& [word, spots] : spots_in(documents_[position]))
    std::erase_if(entries_.at(word).postings,
                  [&](const Posting& posting) { return posting.document == position; });
}

void Index::move_positions(std::uint32_t first, int by) {
  for (auto& [word, entry] : entries_)
    for (auto& posting : entry.postings)
      if (posting.document >= first) posting.document += static_cast<std::uint32_t>(by);
}

const Entry* Index::find(std::string_view word) const {
  const auto found = entries_.find(word);
  return found == entries_.end() ? nullptr : &found->second;
}

WordCount count_of(const Index& index, std::string_view word) {
  WordCount out;
  const auto* entry = index.find(word);
  if (entry == nullptr) return out;
  out.documents = entry->postings.size();
  for (const auto& posting : entry->postings) out.hits += posting.spots.size();
  return out;
}

}  // namespace karmad::demo
