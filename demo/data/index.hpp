#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/data/document.hpp"

namespace karmad {

/// Part `number` (from 0) of `of`, distributed as `part_of` does with `spread`.
struct Part {
  std::size_t number = 0;
  std::size_t of = 1;
  std::uint64_t spread = 0;
};

enum class Field : std::uint8_t { title, body };
inline constexpr std::array kFields{Field::title, Field::body};

/// A choice of text fields.
struct Fields {
  bool title = false;
  bool body = false;
  bool has(Field field) const { return field == Field::title ? title : body; }
  static Fields all() { return {true, true}; }
};

struct Posting {
  std::uint32_t document = 0;            ///< position in `Index::documents`
  std::vector<std::uint32_t> positions;  ///< of the word in the field, ascending
};

/// A word in one field.
struct Entry {
  double idf = 0;
  std::vector<Posting> postings;  ///< of this part, ascending by document
};

/// An inverted index over one part of a corpus. Word frequencies and average lengths are those of
/// the whole corpus at the start, so that a document has the same score in a part as in the whole
/// corpus, also after changes. The caller locks it.
class Index {
 public:
  Index(const std::vector<Document>& corpus, Part part);

  /// The documents of this part, ascending by id.
  std::span<const Document> documents() const { return documents_; }
  /// The position of the document `id`; nothing without one.
  std::optional<std::uint32_t> position_of(std::uint64_t id) const;
  /// Adds a document, or replaces the one with its id.
  void put(Document document);
  /// Removes the document `id`; false without one.
  bool erase(std::uint64_t id);
  /// An id for a document without one: the same after the same changes, and not used yet.
  std::uint64_t choose_id();
  /// A number that differs between parts: the seed of orders that differ between parts.
  std::uint64_t salt() const { return salt_; }
  /// The postings of a word in lower case; null if the whole corpus has none.
  const Entry* find(Field field, std::string_view word) const;
  /// The share of one posting in its document's BM25 score.
  double bm25(Field field, const Entry& entry, const Posting& posting) const;

 private:
  struct Side {
    std::map<std::string, Entry, std::less<>> entries;
    std::vector<std::uint32_t> lengths;  ///< in words, of the documents of this part
    double average_length = 1;
  };
  Side& side(Field field) { return sides_[static_cast<std::size_t>(field)]; }
  const Side& side(Field field) const { return sides_[static_cast<std::size_t>(field)]; }
  void build(Field field, const std::vector<Document>& corpus, Part part);
  /// Adds the words of the document at `position`, or removes them.
  void add_words(Field field, std::uint32_t position);
  void remove_words(Field field, std::uint32_t position);
  /// Adds `by`, 1 or -1, to all positions from `first` on.
  void move_positions(Field field, std::uint32_t first, int by);

  std::vector<Document> documents_;
  std::array<Side, 2> sides_;
  std::uint64_t salt_;
  std::size_t corpus_size_;
  std::uint64_t chosen_ids_ = 0;
};

}  // namespace karmad
