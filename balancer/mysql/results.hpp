#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/keyed_hash.hpp"
#include "balancer/mysql/messages.hpp"

namespace karmad {

/// How the values of a row are written.
enum class MysqlForm : std::uint8_t {
  text,   ///< for COM_QUERY
  binary  ///< for prepared statements
};

/// What the result sets of a statement have: another answer cannot be read.
enum class MysqlResultKind : std::uint8_t {
  any,
  rows,  ///< columns: of a SELECT
  count  ///< no columns: of INSERT, REPLACE, UPDATE and DELETE
};

/// Turns the answer to a statement at `/sql?mode=raw`, a list of result sets in JSON, into packets.
/// Writes them in pieces, so that a long answer needs little memory. A result set without columns
/// becomes an OK with its `total` as the number of changed rows. A column has the type that the
/// search server names, whatever its values: a value that does not fit is sent as its text, and in
/// the binary form as NULL if it is no number. Any thread.
class MysqlResults {
 public:
  struct Options {
    MysqlForm form = MysqlForm::text;
    std::uint32_t capabilities = 0;
    MysqlMore more = MysqlMore::no;    ///< further results follow those of `json`
    std::uint64_t last_insert_id = 0;  ///< for the result sets without columns
    MysqlResultKind kind = MysqlResultKind::any;
  };
  /// Reads the whole of `json`, which must outlive it: long work if it is long. The values `inf`,
  /// `-inf` and `nan`, which the search server writes although JSON does not have them, are NULL;
  /// only for them is `json` copied.
  MysqlResults(std::string_view json, const Options& options);

  /// Appends packets until `out` has `enough` bytes, also within a row; `out` must be the same each
  /// time. False: all are written.
  bool next(MysqlWriter& out, std::size_t enough);
  /// Whether an error packet was written, which is then the last one.
  bool failed() const { return failed_; }
  /// The warning of the last result set that had one.
  const std::string& warning() const { return warning_; }
  /// Bytes of the copy of `json`.
  std::size_t copied() const { return finite_.capacity(); }

 private:
  struct Column {
    std::string_view key;  ///< as it is in JSON
    std::string name;
    std::string_view type;  ///< as the search server names it
  };
  /// How a value of the current row is sent.
  struct SentValue {
    std::size_t size = 0;  ///< bytes of a number, of the mark of NULL, or of a text's length
    std::uint64_t number = 0;
    std::size_t text_size = 0;
    bool is_text = false;
  };
  struct Set {
    std::optional<std::vector<Column>> columns;
    std::string_view rows;
    std::optional<std::uint64_t> total;
    std::string_view error;  ///< inside of a JSON string, as is the warning
    std::string_view warning;
    std::string_view unread;  ///< why the set cannot be read; empty: it can
  };
  /// The values of a row by column; empty: NULL.
  class Row {
   public:
    explicit Row(const std::vector<Column>& columns) : columns_(columns) {}
    /// A column that the row lacks is NULL. False: it is malformed.
    bool read(std::string_view row);
    const std::vector<std::string_view>& values() const { return values_; }

   private:
    std::size_t place_of(std::string_view key);

    const std::vector<Column>& columns_;
    std::vector<std::string_view> values_;
    /// Places of columns by key; filled when a row has another order than the columns.
    std::unordered_map<std::string_view, std::size_t, KeyedHash> places_;
  };

  bool read_sets(std::string_view json);
  bool read_set(std::string_view object);
  std::string_view why_unreadable(const Set& set, bool has_wrong_columns) const;
  std::optional<std::vector<Column>> read_columns(std::string_view columns);
  bool begin_set(MysqlWriter& out);
  void begin_row(MysqlWriter& out);
  SentValue sent_value(std::string_view value, MysqlType type);
  bool write_row(MysqlWriter& out, std::size_t enough);
  void begin_value(MysqlWriter& out);
  bool write_text(MysqlWriter& out, std::size_t enough);
  void end_set(MysqlWriter& out);
  void fail(MysqlWriter& out, MysqlError error);
  MysqlOk end_of_set() const;

  const Options options_;
  std::string finite_;  ///< the JSON without `inf` and `nan`; empty: it had none
  std::vector<Set> sets_;
  std::size_t columns_left_;  ///< that the sets may still have
  std::size_t set_ = 0;
  bool readable_ = false;
  bool failed_ = false;
  bool first_row_ = true;
  JsonCursor cursor_;             ///< in the rows of the current set
  std::optional<Row> row_;        ///< of the current set; nothing: its rows have not begun
  std::vector<MysqlType> types_;  ///< of the current set's columns
  std::vector<SentValue> sent_;   ///< of the current row
  std::size_t begun_values_ = 0;  ///< of the current row
  std::string_view plain_;        ///< of the current value: what is to be sent as it is,
  JsonText escaped_{{}};          ///< and, behind it, what has escapes
  std::string scratch_;
  std::string warning_;
};

}  // namespace karmad
