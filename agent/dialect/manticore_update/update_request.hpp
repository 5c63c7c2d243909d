#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/request.hpp"

namespace karmad {

/// Where an update names its table, quotes included, in the order of the text.
struct TablePlaces {
  ByteRange first;
  ByteRange second;  ///< with both `table` and `index`

  bool found() const { return first.found(); }
};

/// Which table a request changes, and where its body says so first; of a bulk, `second` is that of
/// the first line with two such places.
struct NamedTable {
  std::string table;
  TablePlaces places;
};

/// Reads one update, an object with the member `table` or, as older clients write, `index`. Of both
/// `table` counts, as for the search server. The whole body is checked (RFC 8259, nesting up to
/// `max_depth`) in one iterative pass without a tree, but for the encoding of strings, which is the
/// mirror's business. Errors are the client's (400).
std::expected<NamedTable, ClientError> read_update(std::string_view body, unsigned max_depth);

/// Reads a bulk: on each line an object with one member, `insert`, `create`, `replace`, `update` or
/// `delete`, whose value is an update. All lines name one table, whatever the case of its letters.
/// Errors tell the line, from 1. Memory does not grow with the number of lines.
std::expected<NamedTable, ClientError> read_bulk(std::string_view body, unsigned max_depth);

/// Appends a bulk that `read_bulk` took, with `table` in every place that names one.
void append_renamed_bulk(std::string& out, std::string_view body, unsigned max_depth,
                         std::string_view table);

}  // namespace karmad
