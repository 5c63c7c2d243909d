#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/dialect/request/bulk_lines.hpp"
#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/search_request.hpp"

namespace karmad {

// What clients ask for, as the fronts have read it. Places count in the body that the engine gets:
// the client's, or that of TranslatedRequest.

/// Completion of a word.
struct Completion {};

/// The stored queries that a document matches.
struct Percolation {};

/// Storing a query for percolation.
struct StoredQuery {
  std::string_view id;  ///< as the path has it; empty: none
};

/// One update: of a document, or of those that a query finds.
struct UpdateRequest {
  BulkLine update;
  /// Why its documents cannot be told, to follow the words "the request"; empty: they can.
  std::string mistake{};
};

/// Many updates.
struct BulkRequest {
  BulkSplit split;           ///< without shards and made ids
  std::string mistake{};     ///< of the first line that has one, as that of UpdateRequest
  std::size_t mistaken = 0;  ///< its position among the lines
};

/// A statement of SQL, read.
using ReadStatement = std::shared_ptr<const sql::StatementText>;

/// A request in the engine's own language, translated from another.
struct TranslatedRequest {
  std::string_view path;  ///< `/search`, `/update`, `/insert`, `/replace`, `/delete` or `/bulk`
  std::string body{};
  bool only_count = false;    ///< its answer is a number
  bool hides_source = false;  ///< its hits have no `_source`
  std::string filter_path{};  ///< the parts of the answer that the client gets; empty: all
  /// Of an update that can also change texts, which mirrors take at the client's path only: where
  /// `"doc":` and the changed values stand in the body, up to its end. 0: it is another request.
  std::size_t changed_values = 0;
  std::vector<std::string>
      actions{};  ///< of a bulk, by line: `index`, `create`, `update`, `delete`
  std::vector<std::uint32_t> numbers{};  ///< of a bulk: the line in the client's body, from 1
};

/// How the client gets the answer of a mirror that is passed on.
enum class PassedAnswer : std::uint8_t {
  unchanged,
  with_table,          ///< with the client's name of the table
  elastic_error,       ///< an error has the form of the Elasticsearch-like paths
  error_of_statement,  ///< an error speaks of the client's statement and table
};

/// What the balancer must know of a query to route it and to retry it, and what it asks for.
struct Parsed {
  std::string table;        ///< empty: the first table of the dialect, for requests that name none
  ByteRange table_place{};  ///< the bytes of the body that name the table, quotes included
  ByteRange other_place{};  ///< a second place after the first that names it (`table` and `index`)
  bool read = true;         ///< may be sent more than once
  bool unclassified = false;        ///< not known to be a read: treated as an update
  bool should_use_primary = false;  ///< a read that replicas answer, but maybe with old data
  /// Continues, queries or ends something that an earlier request opened on one mirror (a cursor, a
  /// task): is sent once, and to no other mirror.
  bool follow_up = false;
  /// Needs a plan also on a table of one shard, because a mirror cannot be sent the client's
  /// request.
  bool planned = false;
  PassedAnswer answer = PassedAnswer::unchanged;
  /// The id of the last document that a change makes, if the request gives it as a number; 0: it
  /// does not.
  std::uint64_t last_insert_id = 0;
  QueryOptions options;
  /// Null: the engine gets the client's own.
  std::shared_ptr<const TranslatedRequest> translated{};
  /// Nothing: it was not read further.
  std::variant<std::monostate, SearchRequest, Completion, Percolation, UpdateRequest, BulkRequest,
               StoredQuery, ReadStatement>
      what;

  SelectionClass selection_class() const {
    if (!read)
      return unclassified ? SelectionClass::unclassified : SelectionClass::must_use_primary;
    return should_use_primary ? SelectionClass::should_use_primary
                              : SelectionClass::may_use_secondary;
  }
};

/// Appends `body`; in each place that names the table, `name` appends the text instead.
template <class Name>
void append_renamed(std::string& out, std::string_view body, const Parsed& parsed, Name name) {
  std::size_t copied = 0;
  for (const auto& place : {parsed.table_place, parsed.other_place}) {
    if (!place.found()) continue;
    out.append(body.substr(copied, place.begin - copied));
    name();
    copied = place.end;
  }
  out.append(body.substr(copied));
}

}  // namespace karmad
