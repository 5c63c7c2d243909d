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

const std::string& text_of(const Document& document, Field field) {
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
    : salt_(part.number * 1024 + part.of + part.spread) {
  for (const auto& document : corpus)
    if (holds(part, document)) documents_.push_back(document);
  for (const auto field : kFields) build(field, corpus, part);
}

void Index::build(Field field, const std::vector<Document>& corpus, Part part) {
  auto& here = side(field);
  std::map<std::string, std::size_t> frequencies;
  std::size_t total_length = 0;
  for (const auto& document : corpus) {
    const auto text = words(text_of(document, field));
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
