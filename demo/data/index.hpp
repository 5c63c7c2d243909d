#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/data/document.hpp"

namespace karmad::demo {

/// Part `number` (from 0) of `of`, distributed as `part_of` does with `spread`.
struct Part {
  std::size_t number = 0;
  std::size_t of = 1;
  std::uint64_t spread = 0;
};

enum class Field : std::uint8_t { title, body };
inline constexpr std::array kFields{Field::title, Field::body};

const std::string& text_in(const Document& document, Field field);

/// A choice of text fields.
struct Fields {
  bool title = false;
  bool body = false;
  bool has(Field field) const { return field == Field::title ? title : body; }
  static Fields all() { return {true, true}; }
};

/// Where a word stands in a document: its position in a field, from 0.
struct Spot {
  Field field = Field::title;
  std::uint32_t position = 0;
  auto operator<=>(const Spot&) const = default;
};

struct Posting {
  std::uint32_t document = 0;  ///< position in `Index::documents`
  std::vector<Spot> spots;     ///< of the word, ascending
};

/// A word.
struct Entry {
  double idf = 0;                 ///< of -0.5 to 0.5
  std::vector<Posting> postings;  ///< of this part, ascending by document
};

struct WordCount {
  std::size_t documents = 0;
  std::size_t hits = 0;
};

/// An inverted index over one part of a corpus. Word frequencies are those of the whole corpus at
/// the start, so that a document has the same score in a part as in the whole corpus, also after
/// changes. The caller locks it.
class Index {
 public:
  Index(const std::vector<Document>& corpus, Part part);
  /// The documents of a corpus that `holds` wants, in its order.
  static Index chosen(const std::vector<Document>& corpus,
                      const std::function<bool(const Document&)>& holds) {
    return {corpus, holds, 0};
  }
  explicit Index(const std::vector<Document>& corpus) : Index(corpus, Part{}) {}

  /// The documents of this part, in the order of the corpus: the catalogue ascends by id.
  std::span<const Document> documents() const { return documents_; }
  /// The position of the document `id`; nothing without one.
  std::optional<std::uint32_t> position_of(std::uint64_t id) const;
  /// Adds a document behind the last one with a smaller id, or replaces the one with its id.
  void put(Document document);
  /// Removes the document `id`; false without one.
  bool erase(std::uint64_t id);
  /// An id for a document without one: the same after the same changes, and not used yet.
  std::uint64_t choose_id();
  /// A number that differs between parts: the seed of orders that differ between parts.
  std::uint64_t salt() const { return salt_; }
  /// Whether searches without an order stop when they have found their page, as the search server
  /// does. A catalogue is always searched wholly, so that its totals are exact.
  bool stops_early() const { return stops_early_; }
  void stop_early() { stops_early_ = true; }
  /// The postings of a word in lower case; null if the whole corpus has none.
  const Entry* find(std::string_view word) const;

 private:
  Index(const std::vector<Document>& corpus, const std::function<bool(const Document&)>& holds,
        std::uint64_t salt);
  void add_words(std::uint32_t position);
  void remove_words(std::uint32_t position);
  /// Adds `by`, 1 or -1, to all positions from `first` on.
  void move_positions(std::uint32_t first, int by);

  std::vector<Document> documents_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::uint64_t salt_;
  std::size_t corpus_size_;
  std::uint64_t chosen_ids_ = 0;
  bool stops_early_ = false;
};

/// How often a word is in the documents of this part.
WordCount count_of(const Index& index, std::string_view word);

}  // namespace karmad::demo
