#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/search_request.hpp"

namespace karmad {

/// The places that name the table of an update, quotes included, in order.
struct TablePlaces {
  ByteRange first;
  ByteRange second;  ///< if both `table` and `index` are present

  bool found() const { return first.found(); }
};

/// The table that a request changes, and the first place that names it; `second` of a bulk is that
/// of the first line with two such places.
struct NamedTable {
  std::string table;
  TablePlaces places;
};

/// Reads one update: an object with the member `table` or, in the older form, `index`; if both are
/// present, `table` counts, as in the search server. Checks the whole body (RFC 8259, nesting up to
/// `max_depth`) in one iterative pass without a tree, except the encoding of strings, which the
/// mirror checks. Errors are the client's (400).
std::expected<NamedTable, ClientError> read_update(std::string_view body, unsigned max_depth);

/// Reads a bulk: each line is an object with one member, `insert`, `create`, `replace`, `update` or
/// `delete`, whose value is an update. All lines must name one table, compared without case. Errors
/// name the line, from 1. Memory does not grow with the number of lines.
std::expected<NamedTable, ClientError> read_bulk(std::string_view body, unsigned max_depth);

/// A line of a bulk with an update.
struct UpdateLine {
  std::string_view text;
  std::size_t begin = 0;   ///< offset in the body
  std::size_t number = 0;  ///< from 1; blank lines count
  TablePlaces places;      ///< in the body
};

/// Calls `visit(line)` for each update of a bulk, in order, until the first mistake: of the bulk as
/// read_bulk() describes it, or one that `visit` returns. Errors name the line.
std::optional<ClientError> visit_bulk(
    std::string_view body, unsigned max_depth,
    const std::function<std::optional<std::string>(const UpdateLine&)>& visit);

/// Appends a bulk that `read_bulk` accepted, with `table` in each place that names one.
void append_renamed_bulk(std::string& out, std::string_view body, unsigned max_depth,
                         std::string_view table);

}  // namespace karmad
