#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/keyed_hash.hpp"

namespace karmad {

/// One result set of a shard's reply. One without rows has no columns: where a server finds
/// nothing, those that it lists are its inner ones, without aliases and in another order.
struct RawSet {
  std::size_t first_column = 0;  ///< in RawReplies; equal for sets with the same bytes of columns
  std::size_t columns = 0;
  std::size_t listed = 0;    ///< the columns in the reply, also of a set without rows
  JsonCursor rows;           ///< at the opening bracket of the rows; null: the set has none
  std::string_view warning;  ///< inside of the JSON string; empty: none
  std::string_view error;    ///< likewise
  std::optional<std::uint64_t> total;
};

/// The end of a reply in the server's layout, found without reading the rows before it. A line feed
/// in JSON text is never part of a string, so a line that is only a bracket is what it seems.
struct ReplyTail {
  std::size_t after_rows = 0;  ///< after the bracket that ends the rows of the last set but one
  std::size_t last_set = 0;    ///< position of the brace that begins the last set
  std::size_t after_last_rows = 0;  ///< likewise of the last set; 0: it has no rows
};

/// Nothing: the reply has another layout than the server's, or one set.
std::optional<ReplyTail> find_tail(std::string_view body);

/// How much of a reply's last result set is read.
enum class LastSet : bool {
  whole,
  up_to_rows,  ///< the columns and the position of the rows: without warning and error
};

inline constexpr std::size_t kMostRawSets = 1024;     ///< of one answer
inline constexpr std::size_t kMostRawColumns = 4096;  ///< of a result set of one answer

/// The replies of several shards in the form of `/sql?mode=raw`: arrays of result sets. Rows are
/// not read, only skipped where a set follows them. The object refers to the replies.
class RawReplies {
 public:
  /// Reads `sets` result sets of each reply. A reply that is empty has none. Refuses a reply with
  /// fewer sets, one with an error in a set, and malformed ones.
  std::optional<BadReply> read(std::span<const ShardReply> replies, std::size_t sets, LastSet last);

  /// Reads all result sets of one answer, which may also be one by itself, not in an array. False:
  /// the answer is malformed, or has more than kMostRawSets or kMostRawColumns.
  bool read_answer(std::string_view body);

  /// Number of the result sets of each reply.
  std::size_t sets_each() const { return sets_each_; }
  std::size_t shards() const { return answered_.size(); }
  /// False: the reply is empty.
  bool answered(std::size_t shard) const { return answered_[shard]; }
  const RawSet& set(std::size_t shard, std::size_t number) const {
    return sets_[shard * sets_each_ + number];
  }
  std::span<const RawColumn> columns_of(const RawSet& set) const {
    return std::span(columns_).subspan(set.first_column, set.columns);
  }
  /// Those in the reply, also of a set without rows.
  std::span<const RawColumn> all_columns_of(const RawSet& set) const {
    return std::span(columns_).subspan(set.first_column, set.listed);
  }
  /// Whether any shard has rows in its set of that number.
  bool has_rows(std::size_t number) const;
  /// The columns for a result without rows: those that the first set of that number lists.
  std::span<const RawColumn> listed_columns(std::size_t number) const;

 private:
  /// The columns of an earlier reply's set of the same number, which are often the same bytes.
  struct KnownColumns {
    std::string_view bytes;
    std::size_t first = 0;
    std::size_t count = 0;
  };

  bool is_without_match(const RawSet& set) const;
  bool read_reply(std::string_view body, RawSet* sets, LastSet last, std::string_view& wrong);
  /// Finds the second set from the end of the reply, so that the rows of the first are not skipped.
  /// False, with `json` unchanged: the reply has another layout than the server's, or an error.
  bool read_first_of_two(std::string_view body, JsonCursor& json, RawSet& set);
  bool read_set(JsonCursor& json, RawSet& set, KnownColumns& known, bool up_to_rows);
  bool read_columns(JsonCursor& json, RawSet& set, KnownColumns& known);
  bool read_column(JsonCursor& json);

  std::size_t sets_each_ = 0;
  std::vector<RawSet> sets_;
  std::vector<RawColumn> columns_;
  std::vector<KnownColumns> known_;
  std::vector<bool> answered_;
};

/// Steps through the rows of one result set, each with all its columns in their order.
class RawRows {
 public:
  RawRows() = default;
  explicit RawRows(JsonCursor rows) : rest_(rows) {}

  enum class Step : std::uint8_t { row, end, malformed };
  /// To the first byte of the next row, or of another element of an array.
  Step to_next() {
    if (rest_.at == nullptr) return Step::end;
    if (take(rest_, started_ ? ']' : '[')) {
      if (started_) return Step::end;
      started_ = true;
      if (take(rest_, ']')) return Step::end;
    } else if (!started_ || !take(rest_, ',')) {
      return Step::malformed;
    }
    skip_space(rest_);
    return Step::row;
  }
  /// Behind what is read.
  JsonCursor& rest() { return rest_; }
  /// Reads the values of the next row into `cells`, one for each column, in their order. A row with
  /// other members is malformed.
  Step next(std::span<const RawColumn> columns, std::string_view* cells);

  /// Bytes not read yet, also those after the rows.
  std::size_t bytes_left() const { return static_cast<std::size_t>(rest_.end - rest_.at); }

 protected:
  bool take_cells(std::span<const RawColumn> columns, std::string_view* cells);

  JsonCursor rest_;

 private:
  bool started_ = false;
};

/// Hands the cells of each row of a set to `visit`. False: a row is malformed.
template <class Visit>
bool visit_rows(const RawReplies& replies, const RawSet& set, Visit visit) {
  constexpr std::size_t kFewCells = 16;
  boost::container::small_vector<std::string_view, kFewCells> cells(set.columns);
  RawRows rows(set.rows);
  for (;;) {
    const auto step = rows.next(replies.columns_of(set), cells.data());
    if (step != RawRows::Step::row) return step == RawRows::Step::end;
    visit(std::span<const std::string_view>(cells));
  }
}

/// The same of rows whose members may stand in any order, be missing (the cell is empty) or unknown
/// (they are skipped).
class RawRowsByName : private RawRows {
 public:
  using RawRows::RawRows;
  using RawRows::Step;
  Step next(std::span<const RawColumn> columns, std::string_view* cells);

 private:
  std::size_t place_of(std::span<const RawColumn> columns, std::string_view name);

  /// Places of columns by name; filled when a row has another order than the columns.
  std::unordered_map<std::string_view, std::size_t, KeyedHash> places_;
};

}  // namespace karmad
