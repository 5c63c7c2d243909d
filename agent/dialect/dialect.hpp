#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/stats/outcome.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

struct ResultSet;
struct SelectMeta;

/// White space that JSON allows around a text (RFC 8259 section 2).
inline constexpr std::string_view kJsonSpace = " \t\r\n";

struct StatementText;

/// A client's request as a dialect sees it. The views live as long as the query.
struct ClientRequest {
  std::string_view method;
  std::string_view path;   ///< as received, without the query string
  std::string_view query;  ///< what follows `?`
  std::string_view content_type;
  std::string_view body;
  /// One of several statements, or of a connection that keeps what a query tells aside: its answer
  /// must be complete before the client gets any of it.
  bool in_session = false;
  bool rows_only = false;  ///< its client can read rows, and no hits in their place
  /// The table or the list of tables in the path of an endpoint `/{table}/…`, URL-decoded; empty:
  /// its path has none.
  std::string_view path_table{};
  std::string_view path_table_raw{};  ///< the same as it stands in `path`
  /// At an endpoint of statements: the one that the request is, found and classified before. Null:
  /// it was not looked for.
  std::shared_ptr<const StatementText> statement{};
  /// SHOW PLAN or SHOW PROFILE, which a mirror is asked for behind the SELECT; empty: neither.
  std::string_view inspected_by{};
};

/// Appends the request's path. A table in it is replaced by `tables`, URL-encoded, if there are
/// any.
void append_path(std::string& out, const ClientRequest& request,
                 std::span<const std::string> tables);

/// Why a client gets no answer: an HTTP status and a reason that says how to correct the request.
struct ClientError {
  int status = 400;
  std::string reason;
};

/// What a query may set for itself.
struct QueryOptions {
  std::optional<Micros> agent_query_timeout;
  std::optional<unsigned> retry_count;  ///< per mirror, as a table's agent_retry_count
  std::optional<Micros> retry_delay;
};

/// Which mirrors a request may use, and whether it takes a read preference (SS-107). In the order
/// of what several in one request need together.
enum class SelectionClass : std::uint8_t {
  none,                ///< asks no mirror; a preference has no effect
  may_use_secondary,   ///< takes a preference, else the configured one is used (SS-105)
  should_use_primary,  ///< a read of the primary that takes none (SS-104)
  unclassified,        ///< goes to the primary, unless it has a preference itself (SS-101, SS-102)
  must_use_primary     ///< an update: takes none (SS-100, SS-103)
};

/// What the balancer must know of a query to route it and to retry it.
struct Parsed {
  std::string table;  ///< empty: the first table of the dialect, for requests that name none
  std::size_t table_begin = 0;  ///< the bytes of the body that name the table, quotes included
  std::size_t table_end = 0;
  /// A second place after the first that names it (`table` and `index`); `other_end` 0: none.
  std::size_t other_begin = 0;
  std::size_t other_end = 0;
  bool read = true;                 ///< may be sent more than once
  bool unclassified = false;        ///< not known to be a read: treated as an update
  bool should_use_primary = false;  ///< a read that replicas answer, but maybe with old data
  /// Continues, queries or ends something that an earlier request opened on one mirror (a cursor, a
  /// task): is sent once, and to no other mirror.
  bool follow_up = false;
  /// Needs a plan also on a table of one shard, because a mirror cannot be sent the client's
  /// request.
  bool planned = false;
  /// The id of the last document that a change makes, if the request gives it as a number; 0: it
  /// does not.
  std::uint64_t last_insert_id = 0;
  QueryOptions options;
  std::shared_ptr<const StatementText> statement{};  ///< of SQL: the statement, read; else null

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
  out.append(body.substr(0, parsed.table_begin));
  name();
  if (parsed.other_end != 0) {
    out.append(body.substr(parsed.table_end, parsed.other_begin - parsed.table_end));
    name();
  }
  out.append(body.substr(std::max(parsed.table_end, parsed.other_end)));
}

/// The request an agent gets. The views are into the client's request or into `write`'s buffer.
struct AgentRequest {
  std::string_view method;
  std::string_view target;
  std::string_view content_type;
  std::string_view body;
};

/// The client's request for an agent. `write_body` appends a body to `buffer` where the agent gets
/// another one than the client's. A table in the path is replaced by `tables`, if there are any.
template <class WriteBody>
AgentRequest write_request(const ClientRequest& request, std::string& buffer, WriteBody write_body,
                           std::span<const std::string> tables = {}) {
  buffer.clear();
  if (!request.query.empty() || (!tables.empty() && !request.path_table.empty())) {
    append_path(buffer, request, tables);
    if (!request.query.empty()) buffer.append("?").append(request.query);
  }
  const auto target_size = buffer.size();
  write_body();
  AgentRequest written{request.method, request.path, request.content_type, request.body};
  const std::string_view all(buffer);
  if (target_size != 0) written.target = all.substr(0, target_size);
  if (all.size() != target_size) written.body = all.substr(target_size);
  return written;
}

/// What an agent said: the views live as long as its reply buffer.
struct AgentReply {
  int status = 0;
  std::string_view content_type;
  std::string_view body;
  bool whole = true;                       ///< false: `body` is only the beginning
  const ClientRequest* request = nullptr;  ///< the request it answers; null: unknown
};

struct Judgement {
  Outcome outcome = Outcome::wrong_reply;
  std::string message;  ///< the reason, unless `answered` or `cancelled`
  char ends_in = 0;     ///< the required last byte, white space ignored; 0: any
  /// The agent's error text, if the outcome is `agent_error` and the cause is unclear. The same
  /// text from a second agent makes it the client's mistake. Empty: it is the agent's error.
  std::string complaint{};
};

/// The reply of one shard to be merged; `body` is empty when the shard failed.
struct ShardReply {
  std::string_view body;
  std::string_view mirror{};  ///< name of the mirror that gave it; empty: unknown
};

/// How one part of a change ended: the part of a shard, or of one of its mirrors.
struct ChangeReply {
  std::size_t shard = 0;    ///< from 0
  bool done = false;        ///< the mirror carried it out
  int status = 0;           ///< of the mirror's answer; without one 503, or 504 after a timeout
  std::string_view body{};  ///< of the answer; empty: there is none, or it is no dialect's error
  std::string mirror{};     ///< name of the mirror asked last; empty: none was asked
  std::string reason{};     ///< why it is not done, if `body` does not tell
};

/// What the balancer adds to a merged answer.
struct MergeNotes {
  Micros took{};
  bool timed_out = false;      ///< the query to a shard timed out
  std::string_view warning{};  ///< plain text; empty: none
  SelectMeta* meta = nullptr;  ///< gets what is told of the query aside; null: not wanted
  /// Gets the result sets of a SELECT in place of the text of the answer; null: not wanted. They
  /// refer to the replies.
  std::vector<ResultSet>* sets = nullptr;
};

/// A reply that merging cannot read.
struct BadReply {
  std::size_t shard = 0;
  std::string reason;
};

struct Plan;  // plan/plan.hpp

/// One of several requests in the body of one.
struct RequestPart {
  std::string_view path;  ///< as if it had come to this path
  std::string tables;     ///< the table or list of tables, as if it stood in the path
  std::string_view body;
};

/// The answer to one of them.
struct PartAnswer {
  int status = 200;
  std::string_view body{};
};

/// How a table is divided into shards. Implicit from their number.
struct ShardLayout {
  ShardLayout(std::size_t count, ShardBy key = ShardBy::none, bool to_copies = false)  // NOLINT
      : shards(count), by(key), copies(to_copies) {}

  std::size_t shards;
  ShardBy by;   ///< how the shard of a document is found
  bool copies;  ///< an update goes to several mirrors of a shard
  /// Makes the id of a document that comes without one; each call another. Any thread. Set for all
  /// requests that are no reads.
  std::function<std::uint64_t()> make_id{};
};

struct DialectSettings {
  Collation collation = Collation::libc_ci;
  unsigned max_json_depth = 128;
  std::string scroll_key;  ///< signs the tokens of scrolls; empty: a random key of this process
};

/// The class of a request, which decides about the ticket it needs (AC-062).
enum class TicketClass : std::uint8_t {
  exempt,  ///< no ticket: it is about karmad itself, or frees resources of a mirror
  search,  ///< may be sent more than once
  update,  ///< is sent once
};

/// The language of a backend: pure functions on bytes, safe to call from any worker.
class Dialect {
 public:
  virtual ~Dialect() = default;

  /// The class of a request to a route, whose path does not decide it: called before parse().
  virtual TicketClass ticket_class(const ClientRequest&) const { return TicketClass::search; }

  /// The table of the query, whether the query may be retried, and its options.
  virtual std::expected<Parsed, ClientError> parse(const ClientRequest& request) const = 0;

  /// Plans the query for the shards of its table, or says why it cannot be merged. Called for one
  /// shard only if the query is `planned`. The plan may refer to all arguments and to the dialect.
  /// The default refuses: for dialects that merge nothing.
  virtual std::expected<Plan, ClientError> plan(const ClientRequest& request, const Parsed& parsed,
                                                ShardLayout layout) const;

  /// The request for a mirror that names the table `tables`, without a plan: the client's request
  /// with only the table's name replaced. Clears `buffer`; the result may refer to it.
  virtual AgentRequest write(const ClientRequest& request, const Parsed& parsed,
                             std::span<const std::string> tables, std::string& buffer) const = 0;

  /// The meaning of a reply. `merged`: the reply will be merged, so its shape is checked too.
  virtual Judgement judge(const AgentReply& reply, bool merged) const = 0;

  /// The body of a complete answer or error of a mirror, with this status, in the client's terms:
  /// with the table named as the client named it. Nothing: the body is sent unchanged.
  virtual std::optional<std::string> body_for_client(const Parsed&, int /*status*/,
                                                     std::string_view /*body*/) const {
    return std::nullopt;
  }

  /// Appends an error body in this dialect to `out`.
  virtual void refuse(int status, std::string_view reason, std::string& out) const = 0;
};

}  // namespace karmad
