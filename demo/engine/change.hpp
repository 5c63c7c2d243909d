#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "demo/data/complaint.hpp"
#include "demo/data/index.hpp"
#include "demo/language/query.hpp"
#include "demo/language/read_request.hpp"

namespace karmad::demo {

/// A value given for a column.
struct Given {
  std::string column;           ///< "price", "tags", "meta", "meta.n"
  std::vector<Literal> values;  ///< one; of a list any number; of JSON its text
};

/// One change of rows, from JSON or SQL.
struct RowChange {
  enum class Kind : std::uint8_t {
    insert,   ///< a new row; an id that exists is an error
    replace,  ///< a row with the given values only
    update,   ///< attributes of all rows of `ids` or `where`
    patch,    ///< any columns of the one row of `ids`; the others stay
    erase,    ///< all rows of `ids` or `where`
  };
  Kind kind = Kind::insert;
  std::string table;         ///< named in errors
  std::vector<Given> given;  ///< of insert, replace, update, patch
  std::vector<std::uint64_t>
      ids;  ///< insert and replace: at most one; none or 0: the index chooses
  std::optional<Query> where;
};

/// What a change did.
struct Changed {
  std::size_t rows = 0;  ///< changed, added or removed
  std::uint64_t id = 0;  ///< of the last one; also of one that was not found
  std::string warning;   ///< about rows that an update left as they were
  bool existed = false;  ///< insert, replace: there was a row with that id
};

/// The rows before a series of changes, newest last: no document if there was none.
using Undo = std::vector<std::pair<std::uint64_t, std::optional<Document>>>;

/// Changes the rows, all or none: with a complaint (status 409) nothing is changed. The former rows
/// are appended to `undo` unless it is null. The caller locks the index.
Changed change_rows(Index& index, const RowChange& change, Complaint& complaint,
                    Undo* undo = nullptr);

/// The document with the given values and the first of `ids`, or a complaint.
Document document_of(const RowChange& change, Complaint& complaint);

/// Takes back the changes recorded in `undo`.
void roll_back(Index& index, Undo& undo);

/// The members of a JSON object as values of columns.
std::vector<Given> read_given(const Json& json);

/// Reads a file with a JSON list of documents {"id":…, "shard":…, "doc":{column: value, …}}, whose
/// columns may also stand beside the id, and makes the columns of the file those of the table.
/// Holds those of one shard, of all with 0, in the order of the file. The frequencies of words are
/// those of the documents that it holds, or with `whole_frequencies` of all. Nothing for a file
/// that is none.
std::optional<Index> load_documents(const std::string& path, std::uint64_t shard,
                                    bool whole_frequencies);

}  // namespace karmad::demo
