#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/replies/raw_replies.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "agent/json/json_text.hpp"
#include "balancer/mysql/messages.hpp"

namespace karmad::mysql {

/// How the values of a row are written.
enum class Form : std::uint8_t {
  text,   ///< for COM_QUERY
  binary  ///< for prepared statements
};

/// What the result sets of a statement have: another answer cannot be read.
enum class ResultKind : std::uint8_t {
  any,
  rows,  ///< columns: of a SELECT
  count  ///< no columns: of INSERT, REPLACE, UPDATE and DELETE
};

/// Turns result sets into packets: those of an answer to `/sql?mode=raw`, or karmad's. Writes them
/// in pieces, so that a long answer needs little memory. A result set without columns becomes an OK
/// with its `total` as the number of changed rows. A column has the type that the search server
/// names, whatever its values: a value that does not fit is sent as its text, and in the binary
/// form as NULL if it is no number. Any thread.
class Results {
 public:
  struct Options {
    Form form = Form::text;
    std::uint32_t capabilities = 0;
    std::uint16_t status = status_flag::kAutocommit;
    bool has_more = false;             ///< further results follow these
    std::uint16_t warnings = 0;        ///< of sets without a warning in them
    std::uint64_t last_insert_id = 0;  ///< for the result sets without columns
    ResultKind kind = ResultKind::any;
    /// Names of columns of the first set, as the client wrote them; equal but for case.
    std::vector<std::string> spelled{};
  };
  /// Reads the whole of `json`, which must outlive it: long work if it is long. The values `inf`,
  /// `-inf` and `nan`, which the search server writes although JSON does not have them, are NULL;
  /// only for them is `json` copied.
  Results(std::string_view json, const Options& options);
  Results(std::vector<ResultSet> sets, const Options& options);

  /// Appends packets until `out` has `enough` bytes, also within a row; `out` must be the same each
  /// time. False: all are written.
  bool next(Writer& out, std::size_t enough);
  /// Lets the rows end with this error, behind the row that is being written.
  void interrupt(Error error) { interruption_ = std::move(error); }
  /// The error of the last packet that was written; null: none was.
  const Error* error() const { return error_ ? &*error_ : nullptr; }
  /// The warning of the last result set that had one.
  const std::string& warning() const { return warning_; }
  /// Rows that the sets without columns have changed, as far as they are written.
  std::uint64_t affected() const { return affected_; }
  /// Bytes of the copy of `json`.
  std::size_t copied() const { return finite_.capacity(); }

 private:
  /// How a value of the current row is sent.
  struct SentValue {
    std::size_t size = 0;  ///< bytes of a number, of the mark of NULL, or of a text's length
    std::uint64_t number = 0;
    std::size_t text_size = 0;
    bool is_text = false;
  };

  std::size_t sets() const { return readable_ ? read_.sets_each() : made_.size(); }
  std::optional<Error> error_of(const RawSet& set) const;
  bool begin_set(Writer& out);
  RawRows::Step next_row();
  void begin_row(Writer& out);
  SentValue sent_value(std::string_view value, Type type);
  bool write_row(Writer& out, std::size_t enough);
  void begin_value(Writer& out);
  bool write_text(Writer& out, std::size_t enough);
  void end_set(Writer& out);
  void fail(Writer& out, Error error);
  Ok end_of_set() const;

  const Options options_;
  const std::vector<ResultSet> made_;  ///< the sets, unless they are read
  RawReplies read_;                    ///< valid if `readable_`
  std::string finite_;                 ///< the JSON without `inf` and `nan`; empty: it had none
  std::size_t set_ = 0;
  bool readable_ = false;
  std::optional<Error> error_;
  std::optional<Error> interruption_;
  bool in_rows_ = false;
  std::vector<RawColumn> columns_;  ///< of the current set, without hidden ones
  std::vector<Type> types_;         ///< of these columns
  RawRowsByName rows_;              ///< of the current set, if it is read
  std::size_t begun_rows_ = 0;      ///< of the current set
  std::uint64_t affected_ = 0;
  std::vector<std::string_view> values_;  ///< of the current row; empty: NULL
  std::vector<SentValue> sent_;
  std::size_t begun_values_ = 0;  ///< of the current row
  std::string_view plain_;        ///< of the current value: what is to be sent as it is,
  JsonText escaped_{{}};          ///< and, behind it, what has escapes
  std::string scratch_;
  std::string warning_;
};

}  // namespace karmad::mysql
