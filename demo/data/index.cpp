#include "demo/data/index.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "demo/data/corpus.hpp"
#include "demo/data/text.hpp"

namespace karmad {

namespace {

// The usual constants of BM25.
constexpr double kSaturation = 1.2;
constexpr double kLengthWeight = 0.75;

const std::string& text_in(const Document& document, Field field) {
  return field == Field::title ? document.title : document.body;
}

double idf(std::size_t corpus, std::size_t with_word) {
  const auto n = static_cast<double>(corpus);
  const auto df = static_cast<double>(with_word);
  return std::log(1 + (n - df + 0.5) / (df + 0.5));
}

bool holds(Part part, const Document& document) {
  return part_of(document.id, part.of, part.spread) == part.number;
}

}  // namespace

Index::Index(const std::vector<Document>& corpus, Part part)
    : salt_(part.number * 1024 + part.of + part.spread), corpus_size_(corpus.size()) {
  for (const auto& document : corpus)
    if (holds(part, document)) documents_.push_back(document);
  for (const auto field : kFields) build(field, corpus, part);
}

void Index::build(Field field, const std::vector<Document>& corpus, Part part) {
  auto& here = side(field);
  std::map<std::string, std::size_t> frequencies;
  std::size_t total_length = 0;
  for (const auto& document : corpus) {
    const auto text = words(text_in(document, field));
    total_length += text.size();
    for (const auto& word : std::set<std::string>(text.begin(), text.end())) ++frequencies[word];

    if (!holds(part, document)) continue;
    const auto number = static_cast<std::uint32_t>(here.lengths.size());
    here.lengths.push_back(static_cast<std::uint32_t>(text.size()));
    for (std::uint32_t position = 0; position < text.size(); ++position) {
      auto& postings = here.entries[text[position]].postings;
      if (postings.empty() || postings.back().document != number) postings.push_back({number, {}});
      postings.back().positions.push_back(position);
    }
  }
  for (const auto& [word, with_word] : frequencies)
    here.entries[word].idf = idf(corpus.size(), with_word);
  if (total_length != 0)
    here.average_length = static_cast<double>(total_length) / static_cast<double>(corpus.size());
}

std::optional<std::uint32_t> Index::position_of(std::uint64_t id) const {
  const auto found = std::ranges::lower_bound(documents_, id, {}, &Document::id);
  if (found == documents_.end() || found->id != id) return std::nullopt;
  return static_cast<std::uint32_t>(found - documents_.begin());
}

void Index::put(Document document) {
  if (const auto position = position_of(document.id)) {
    for (const auto field : kFields) remove_words(field, *position);
    documents_[*position] = std::move(document);
    for (const auto field : kFields) add_words(field, *position);
    return;
  }
  const auto at = std::ranges::lower_bound(documents_, document.id, {}, &Document::id);
  const auto position = static_cast<std::uint32_t>(at - documents_.begin());
  documents_.insert(at, std::move(document));
  for (const auto field : kFields) {
    move_positions(field, position, 1);
    auto& lengths = side(field).lengths;
    lengths.insert(lengths.begin() + position, 0);
    add_words(field, position);
  }
}

bool Index::erase(std::uint64_t id) {
  const auto position = position_of(id);
  if (!position) return false;
  for (const auto field : kFields) {
    remove_words(field, *position);
    auto& lengths = side(field).lengths;
    lengths.erase(lengths.begin() + *position);
    move_positions(field, *position + 1, -1);
  }
  documents_.erase(documents_.begin() + *position);
  return true;
}

std::uint64_t Index::choose_id() {
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 60;
  do ++chosen_ids_;
  while (position_of(kFirst + chosen_ids_));
  return kFirst + chosen_ids_;
}

void Index::add_words(Field field, std::uint32_t position) {
  auto& here = side(field);
  const auto text = words(text_in(documents_[position], field));
  here.lengths[position] = static_cast<std::uint32_t>(text.size());
  for (std::uint32_t place = 0; place < text.size(); ++place) {
    const auto [found, is_new] = here.entries.try_emplace(text[place]);
    if (is_new) found->second.idf = idf(corpus_size_, 0);
    auto& postings = found->second.postings;
    auto at = std::ranges::lower_bound(postings, position, {}, &Posting::document);
    if (at == postings.end() || at->document != position) at = postings.insert(at, {position, {}});
    at->positions.push_back(place);
  }
}

void Index::remove_words(Field field, std::uint32_t position) {
  auto& entries = side(field).entries;
  for (const auto& word : words(text_in(documents_[position], field)))
    std::erase_if(entries.at(word).postings,
                  [&](const Posting& posting) { return posting.document == position; });
}

void Index::move_positions(Field field, std::uint32_t first, int by) {
  for (auto& [word, entry] : side(field).entries)
    for (auto& posting : entry.postings)
      if (posting.document >= first) posting.document += static_cast<std::uint32_t>(by);
}

const Entry* Index::find(Field field, std::string_view word) const {
  const auto& entries = side(field).entries;
  const auto found = entries.find(word);
  return found == entries.end() ? nullptr : &found->second;
}

double Index::bm25(Field field, const Entry& entry, const Posting& posting) const {
  const auto& here = side(field);
  const auto frequency = static_cast<double>(posting.positions.size());
  const auto length = here.lengths[posting.document] / here.average_length;
  const auto damping = kSaturation * (1 - kLengthWeight + kLengthWeight * length);
  return entry.idf * frequency * (kSaturation + 1) / (frequency + damping);
}

}  // namespace karmad
