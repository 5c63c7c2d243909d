#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/json/json_cursor.hpp"
#include "balancer/mysql/messages.hpp"

namespace karmad {

/// How the values of a row are written.
enum class MysqlForm : std::uint8_t {
  text,   ///< for COM_QUERY
  binary  ///< for prepared statements
};

/// Turns the answer to a statement at `/sql?mode=raw`, a list of result sets in JSON, into packets.
/// Writes them in pieces, so that a long answer needs little memory. A result set without columns
/// becomes an OK with its `total` as the number of changed rows.
class MysqlResults {
 public:
  struct Options {
    MysqlForm form = MysqlForm::text;
    std::uint32_t capabilities = 0;
    MysqlMore more = MysqlMore::no;    ///< further results follow those of `json`
    std::uint64_t last_insert_id = 0;  ///< for the result sets without columns
  };
  /// `json` must outlive it.
  MysqlResults(std::string_view json, const Options& options);

  /// Appends packets until `out` has `enough` bytes. False: all are written.
  bool next(MysqlWriter& out, std::size_t enough);
  /// Whether an error packet was written, which is then the last one.
  bool failed() const { return failed_; }
  /// The warning of the last result set that had one.
  const std::string& warning() const { return warning_; }

 private:
  struct Set {
    std::optional<std::string_view> columns;
    std::string_view rows;
    std::uint64_t total = 0;
    std::string_view error;  ///< inside of a JSON string, as are the next ones
    std::string_view warning;
  };
  struct Column {
    std::string_view key;  ///< as it is in JSON
    std::string name;
    MysqlType type = MysqlType::var_string;
    bool is_unsigned = false;
  };

  bool read_sets(std::string_view json);
  bool read_set(std::string_view object);
  bool begin_set(MysqlWriter& out);
  bool read_columns(std::string_view columns);
  void fit_types(std::string_view rows);
  bool read_row(std::string_view row);
  void write_row(MysqlWriter& out);
  void write_text_row(MysqlWriter& out);
  void write_binary_row(MysqlWriter& out);
  void end_set(MysqlWriter& out);
  void fail(MysqlWriter& out, MysqlError error);
  void note_warning(const Set& set);
  MysqlOk end_of(const Set& set) const;

  const Options options_;
  std::vector<Set> sets_;
  std::size_t set_ = 0;
  bool readable_ = false;
  bool failed_ = false;
  bool in_rows_ = false;
  bool first_row_ = true;
  JsonCursor cursor_;  ///< in the rows of the current set
  std::vector<Column> columns_;
  std::vector<std::string_view> values_;  ///< of the current row; empty: NULL
  std::string scratch_;
  std::string warning_;
};

}  // namespace karmad
