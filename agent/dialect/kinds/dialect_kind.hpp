#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/parsed.hpp"

namespace karmad {

struct ClientStatement;  // replies/error_text.hpp
struct Plan;             // plan/plan.hpp
namespace sql {
struct StatementText;  // fronts/sql/sql_request.hpp
}

/// Appends an error body to `out`.
using ErrorWriter = void (*)(int status, std::string_view reason, std::string& out);

/// `{"error":"reason"}`, as Manticore Search writes it.
void write_error(int status, std::string_view reason, std::string& out);
/// `{"error":"reason","status":400}`.
void write_error_with_status(int status, std::string_view reason, std::string& out);
/// `{"error":{"type":"parse_exception","reason":"…"},"status":400}`, as Manticore Search writes it
/// at the Elasticsearch-like paths.
void write_elastic_error(int status, std::string_view reason, std::string& out);

/// The language of a backend: pure functions on bytes, safe to call from any worker.
class Dialect {
 public:
  explicit Dialect(ErrorWriter writer) : refuse(writer) {}
  virtual ~Dialect() = default;

  /// Appends an error body in this dialect.
  const ErrorWriter refuse;

  /// The class of a request to a route, whose path does not decide it: called before parse().
  virtual TicketClass ticket_class(const ClientRequest&) const { return TicketClass::search; }

  /// The table of the query, whether the query may be retried, and its options.
  virtual OrError<Parsed> parse(const ClientRequest& request) const = 0;

  /// Plans the query for the shards of its table, or says why it cannot be merged. Called for one
  /// shard only if the query is `planned`. The plan may refer to all arguments and to the dialect.
  /// The default refuses: for dialects that merge nothing.
  virtual OrError<Plan> plan(const ClientRequest& request, const Parsed& parsed,
                             ShardLayout layout) const;

  /// The request for a mirror that names the table `tables`, without a plan: the client's request
  /// with only the table's name replaced. Clears `buffer`; the result may refer to it.
  virtual AgentRequest write(const ClientRequest& request, const Parsed& parsed,
                             std::span<const std::string> tables, std::string& buffer) const = 0;

  /// The meaning of a reply. `merged`: the reply will be merged, so its shape is checked too.
  virtual Judgement judge(const AgentReply& reply, bool merged) const = 0;
};

/// The statement in the client's words and in those of engines; `table`: the client's name of it.
ClientStatement as_written(const sql::StatementText& statement, std::string_view table);

/// The body of a complete answer or error of a mirror, with the client's status, as `parsed.answer`
/// says: in the client's terms. An error of several shards always has the client's name of the
/// table. Nothing: the body is sent unchanged.
std::optional<std::string> body_for_client(const Parsed& parsed, int status, std::string_view body,
                                           std::size_t shards = 1);

/// The paths that belong to one table, and how they are rewritten for its agents.
struct TableRoute {
  std::string table;
  std::string route;                ///< prefix of its paths, `/x`; `/` covers every path
  std::optional<std::string> path;  ///< replaces the prefix; empty: the prefix is kept
  std::vector<std::string> reads;   ///< paths of reads as clients write them, without query string
  bool any_method = false;          ///< also methods that HTTP's registry does not have
};

/// True when `path` is the prefix itself or below it.
bool route_covers(std::string_view route, std::string_view path);

/// Appends `path`, which the route covers, to `out`, with `prefix` in place of the route.
void append_moved(std::string& out, std::string_view path, std::string_view route,
                  std::string_view prefix);

/// Properties of a dialect that hold for its tables and their agents.
struct DialectCapabilities {
  /// Passes end-to-end header fields of requests to the agents, and those of answers to the client.
  /// False: agents get only the fields that karmad writes.
  bool passes_fields = false;
  /// The error answers of its agents are understood. False: a status has its plain HTTP meaning,
  /// error texts are compared byte by byte, and the client gets the error answer unchanged.
  bool understands_errors = true;
  /// Merges nothing: a table has one shard.
  bool one_shard = false;
  /// Mirrors replicate updates among each other: any of them accepts an update, also without
  /// `updates = any` in the table.
  bool updates_anywhere = false;
};

/// How the answer to a statement about karmad itself is written.
enum class Statements : std::uint8_t {
  none,     ///< the endpoint takes no statements
  as_json,  ///< rows as JSON
  as_text,  ///< a table as text
};

/// How a request that holds several is taken apart, and its answer put together. The parameters of
/// its URL are about the whole.
struct SeveralRequests {
  /// The requests; their views are into the whole one. Null: the request is one.
  OrError<std::vector<RequestPart>> (*parts)(const ClientRequest&) = nullptr;
  /// Appends the answer, made of theirs in the same order.
  void (*join)(std::string& out, const ClientRequest&, std::span<const PartAnswer>,
               Micros took) = nullptr;
};

/// A path that is served by a dialect.
struct DialectEndpoint {
  /// The path itself, or a pattern (path_pattern.hpp). A pattern with `{table}` is served only
  /// where the path names a configured table of the dialect, or a list with one.
  std::string_view path;
  std::string_view methods;  ///< in the form of the Allow field: `GET, POST`
  /// For statements an upper bound; each has its own (StatementText).
  TicketClass ticket_class = TicketClass::search;
  std::unique_ptr<Dialect> (*make)(const DialectSettings& settings) = nullptr;
  Statements statements = Statements::none;
  SeveralRequests several{};

  /// The class of its requests, `none` for statements: each has its own (StatementText).
  /// docs/read-preference.md has the table of all.
  constexpr SelectionClass selection_class() const {
    if (statements != Statements::none) return SelectionClass::none;
    return ticket_class == TicketClass::update ? SelectionClass::must_use_primary
                                               : SelectionClass::may_use_secondary;
  }

  /// Other engines have the path too (`/_search`): without a table of the dialect it is not served,
  /// and a route may have it.
  constexpr bool is_shared() const { return path.starts_with("/_"); }
};

/// One dialect as a table of values. dialects.cpp lists the known dialects; code outside a
/// dialect's folder works with this table and does not distinguish dialects.
struct DialectKind {
  std::string_view name;  ///< value of `dialect` in a table's settings; unique
  DialectCapabilities capabilities;
  /// Paths of queries that name their table in the request. Unique among all dialects.
  std::span<const DialectEndpoint> endpoints;
  /// Content type of answers made by karmad: merged ones and refusals.
  std::string_view content_type = "application/json; charset=UTF-8";
  /// Makes the dialect for requests below a table's route. Null: its tables have no routes.
  std::unique_ptr<Dialect> (*make_routed)(TableRoute route) = nullptr;

  bool is_routed() const { return make_routed != nullptr; }
  bool operator==(const DialectKind& other) const { return this == &other || name == other.name; }
};

/// The known dialects, in the order in which messages list them.
using Dialects = std::span<const DialectKind* const>;

/// The built-in dialects. A program that links karmad may pass other ones (Hooks::dialects).
Dialects dialects();

/// The dialect of that name; null if there is none.
const DialectKind* find_dialect(Dialects known, std::string_view name);

/// The dialect that a table names; null, and a problem, if its name is unknown.
const DialectKind* dialect_of(const TableSettings& table, Dialects known, Problems& problems);

/// Checks the tables' settings `route`, `path`, `reads` and number of shards against their
/// dialects. Unknown names are reported by dialect_of(), not here; such a table must have no route.
void judge_dialects(const Settings& settings, Dialects known, Problems& problems,
                    Problems& notices);

/// The part of an endpoint's pattern that stands for a table, or for a list of tables.
inline constexpr std::string_view kTableSegment = "{table}";

/// Length of the longest text for a table in a path, in encoded form; a longer one matches nothing.
inline constexpr std::size_t kMaxTableSegment = 4096;

/// True for the path of an endpoint that stands for several paths: a segment `{name}` of it stands
/// for any segment that is not empty.
constexpr bool is_pattern(std::string_view path) {
  return path.find('{') != std::string_view::npos;
}

/// Takes the first segment, and the slash before it, off a path, which must not be empty.
std::string_view take_segment(std::string_view& path);

/// Whether `path` has as many segments as `pattern` and the same ones, `{name}` left aside.
bool matches_pattern(std::string_view pattern, std::string_view path);

/// The segment of `path`, as received, that stands where `pattern` has `segment` (`{id}`). Empty:
/// the pattern has none. `path` must match the pattern.
std::string_view pattern_segment(std::string_view pattern, std::string_view path,
                                 std::string_view segment);

/// The name or list of names in a segment of a path, URL-decoded. Nothing if the segment cannot be
/// one: it is too long, has an invalid escape, or a character that no name has (a control
/// character, a slash, a quote, white space …).
std::optional<std::string> decoded_tables(std::string_view segment);

/// Where Solr, Elasticsearch and OpenSearch take updates, also below these paths.
inline constexpr std::array<std::string_view, 9> kUpdatePaths{
    "/solr/{core}/update",
    "/{index}/_doc",
    "/{index}/_update",
    "/{index}/_create",
    "/{index}/_bulk",
    "/_bulk",
    "/{index}/_update_by_query",
    "/{index}/_delete_by_query",
    "/_reindex",
};

/// A path of updates of a known engine that `pattern`, a path of `reads` in the mirrors' terms,
/// covers: with `{name}` for a segment that may be any. Empty: there is none.
std::string_view update_path_in(std::string_view pattern);

}  // namespace karmad
