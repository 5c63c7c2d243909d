#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/dialect/request/client_request.hpp"

namespace karmad {

/// The top-level properties of a search request that routing or merging uses. All others are passed
/// on unread.
enum class Property : std::uint8_t {
  table,
  index,
  limit,
  size,
  offset,
  from,
  max_matches,
  sort,
  track_scores,
  source,
  aggs,
  aggregations,
  options,
  scroll,
  profile,
  plan,
  knn,
  hybrid,
  join,
  expressions,
  search_after,
  cutoff,
};
inline constexpr std::size_t kProperties = 22;

std::string_view name(Property property);
std::optional<Property> property_named(std::string_view key);
/// Whether an engine may read this key as `table`, `index` or `join`, although it is none of them:
/// keys in another case, or with a zero byte.
bool may_name_table(std::string_view key);
/// Why a request with such a key is refused, to follow the words "the request".
std::string why_key_is_refused(std::string_view key);
/// Whether an engine may read this key as a property, although its letter case is another one, or
/// it has a zero byte.
bool may_name_property(std::string_view key);
/// Whether the value of a property has the same effect as if the property were missing.
bool is_off(std::string_view value);

/// Result of reading a search request once.
struct SearchRequest {
  /// The value of `table`, or of `index` if `table` is missing, as in the search server.
  std::string table;
  std::array<ByteRange, kProperties> properties;
  QueryOptions options;
  ByteRange scroll_option;       ///< `options.scroll`
  ByteRange max_matches_option;  ///< `options.max_matches`; if repeated, the last
  bool cutoff_option = false;    ///< `options.cutoff`
  std::size_t closing_brace = 0;
  bool odd_key = false;  ///< has a key as may_name_property() describes it

  ByteRange operator[](Property property) const {
    return properties[static_cast<std::size_t>(property)];
  }
  /// The places that name the table, in their order; a missing one comes last.
  std::pair<ByteRange, ByteRange> table_places() const {
    std::pair places((*this)[Property::table], (*this)[Property::index]);
    auto& [first, second] = places;
    if (!first.found() || (second.found() && second.begin < first.begin)) std::swap(first, second);
    return places;
  }
};

/// Upper bound for the nesting depth, whatever the setting says: parts of a request become trees
/// that are written recursively.
inline constexpr unsigned kDeepestRequest = 1000;

/// The kinds of updates. `create` is an insert.
enum class UpdateVerb : std::uint8_t { insert, replace, update, remove };

/// Whether an update of this kind makes a document, which belongs to one shard.
constexpr bool makes_document(UpdateVerb verb) {
  return verb == UpdateVerb::insert || verb == UpdateVerb::replace;
}

/// The verb of a path like /insert or /json/delete, or of a line of a bulk; nothing for others.
std::optional<UpdateVerb> update_verb(std::string_view name);

/// A range of bytes of a bulk; `end` 0: none. Memory grows with the lines, so it has 32 bits:
/// split_bulk() refuses longer bodies.
struct BulkBytes {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  std::string_view in(std::string_view body) const { return body.substr(begin, end - begin); }
};

/// One update of a bulk and its shard.
struct BulkLine {
  static constexpr std::uint32_t kEveryShard = std::numeric_limits<std::uint32_t>::max();

  BulkBytes text;
  BulkBytes table;        ///< the first place that names the table …
  BulkBytes other_table;  ///< … and the second, if there is one
  /// The value of `id`; empty: the place where the member can be put. In a plan none: no single
  /// document.
  BulkBytes id{};
  std::uint64_t made_id = 0;  ///< the id that karmad has made, which belongs at `id`; 0: none
  std::uint32_t shard = kEveryShard;
  std::uint32_t group = 0;   ///< the transaction that the engine makes of it, from 0
  std::uint32_t number = 0;  ///< of the line, from 1; blank ones count
  UpdateVerb verb = UpdateVerb::insert;
  bool by_query = false;

  bool goes_to(std::size_t of) const { return shard == kEveryShard || shard == of; }
  /// The id as a JSON value: the client's or the made one; empty: no single document.
  std::string id_text(std::string_view body) const;
};

/// A bulk split into lines. Those of one group follow each other without a blank line and are no
/// updates of fields; such an update is a group of its own. In the engine a group is a transaction
/// and has one item in the answer.
struct BulkSplit {
  std::vector<BulkLine> lines;
  std::size_t line_count = 0;  ///< as the engine counts them: blank ones and the last one too
};

/// Where a walk through the lines is in the bulk of one shard: there a blank line separates groups.
struct ShardLines {
  std::size_t number = 0;  ///< of the shard's last line, from 1
  std::optional<std::uint32_t> group{};

  /// To the next line of the shard; whether it opens a group.
  bool advance(const BulkLine& line) {
    const bool opens = group != line.group;
    number += group && opens ? 2 : 1;
    group = line.group;
    return opens;
  }
};

/// A made id as the text that belongs at `raw_id`: instead of the value, or as the first member.
std::string made_id_text(std::uint64_t made_id, bool replaces_value);

/// Appends the bulk of one shard, with `table` in each place that names one.
void append_shard_bulk(std::string& out, std::string_view body, const BulkSplit& split,
                       std::size_t shard, std::string_view table);

/// The word of the verb in a bulk.
std::string_view bulk_word(UpdateVerb verb);

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

/// Whether a query of that name searches words in a field. Where the name of the field is that of
/// an attribute, the server takes it for equality, but only at its own `_search`.
bool is_word_query(std::string_view name);

/// The body of a search with equality in place of the words that are searched in a field, where the
/// error of a shard says that there is no such field: an attribute may have that name, as only
/// servers know. All else keeps its place. Nothing: the error is about something else.
std::optional<std::string> with_equality(std::string_view body, std::string_view error);

}  // namespace karmad
