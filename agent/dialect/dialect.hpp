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

#include "agent/dialect/session_statement.hpp"
#include "agent/stats/outcome.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

struct ResultSet;
struct SelectMeta;

/// White space that JSON allows around a text (RFC 8259 section 2).
inline constexpr std::string_view kJsonSpace = " \t\r\n";

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
  /// refer to the replies and to the plan.
  std::vector<ResultSet>* sets = nullptr;
};

/// The plan of one query over several shards. It refers to the request, which must outlive it. Most
/// plans have one round of requests.
class FanOut {
 public:
  virtual ~FanOut() = default;

  /// Whether the shard gets the request; one shard does at least. The reply of the others is empty
  /// in merge(), and they are not missing.
  virtual bool asks(std::size_t /*shard*/) const { return true; }

  /// Whether this mirror of the shard is asked first, as long as it is suitable: it gave the
  /// earlier pages.
  virtual bool prefers(std::size_t /*shard*/, std::string_view /*mirror*/) const { return false; }

  /// Whether an answer may lack shards that failed. False: they make the query fail.
  virtual bool may_be_partial() const { return true; }

  /// Whether merge() needs a reply. False: only some shards were asked, and if all of these fail
  /// the answer is that of the others, which have found nothing.
  virtual bool needs_reply() const { return true; }

  /// Writes the body for a mirror of that shard, from 0, that names the table `tables` (with offset
  /// 0, sort keys added …).
  virtual void write(std::size_t shard, std::span<const std::string> tables,
                     std::string& body) const = 0;

  struct BadReply {
    std::size_t shard = 0;
    std::string reason;
  };
  /// Content type of the merged answer; empty: that of the dialect.
  virtual std::string_view content_type() const { return {}; }

  /// The client's status for a mirror's refusal: a mirror may be asked at another path than the
  /// client used, which has other statuses.
  virtual int refusal_status(int status, std::string_view /*body*/) const { return status; }

  /// Cost of merging per byte of the replies; 1 is the cost of finding the end of a JSON value.
  virtual unsigned merge_weight() const { return 1; }

  /// Takes the replies of a round of requests, given as to merge(). True: the answer needs another
  /// round, for which the plan has other requests now; at most one such round follows. False:
  /// merge() makes the answer of these replies. The error names a shard whose reply cannot be read,
  /// as that of merge(), or says why the replies show the query to be a mistake; the plan is
  /// unchanged then. Any thread, while no shard is asked.
  using NextRound = std::expected<bool, std::variant<BadReply, ClientError>>;
  virtual NextRound begin_next_round(std::span<const ShardReply> /*replies*/) { return false; }

  /// Merges the replies, given in the order of the shards, and appends the answer's body to `out`.
  /// On a reply that cannot be read it leaves `out` unchanged and names the shard; the caller may
  /// call again with that reply replaced or emptied. A pure function: any thread.
  virtual std::optional<BadReply> merge(std::span<const ShardReply> replies,
                                        const MergeNotes& notes, std::string& out) const = 0;

  /// Whether it changes data: each part is carried out whatever becomes of the others, and
  /// merge_changes() makes the answer instead of merge().
  virtual bool changes_data() const { return false; }

  /// About how many bytes merge_changes() reads and writes for these replies. More than the replies
  /// have where the answer grows with the client's request.
  virtual std::size_t merge_changes_size(std::span<const ChangeReply> replies) const {
    std::size_t size = 0;
    for (const auto& reply : replies) size += reply.body.size();
    return size;
  }

  /// Appends the answer to a change to `out` and returns its status: 2xx only if all parts are
  /// done. Gets the ends of all parts, in the order of the shards; one of them at least is done or
  /// has a body. A pure function: any thread.
  virtual int merge_changes(std::span<const ChangeReply> /*replies*/, std::string& /*out*/) const {
    return 500;
  }

  /// The id of the last document that the change makes, for clients whose answer has a place for it
  /// beside the body; 0: there is none, or it is no number.
  virtual std::uint64_t last_insert_id() const { return 0; }
};

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

/// The part of a plan that one shard, from 0, gets; without a plan it is the client's request.
struct PlanPart {
  PlanPart(const FanOut* of, std::size_t number = 0) : plan(of), shard(number) {}  // NOLINT

  const FanOut* plan;
  std::size_t shard;
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

  /// The class of a request whose path does not decide it: called before parse() for requests to a
  /// route and to an endpoint of statements. Allocates little, even for a long request.
  virtual TicketClass ticket_class(const ClientRequest&) const { return TicketClass::search; }

  /// The highest class of the statements of a request to an endpoint of statements; none if there
  /// are none. Allocates little, as ticket_class().
  virtual SelectionClass selection_class(const ClientRequest&) const {
    return SelectionClass::none;
  }

  /// The statement of a request to an endpoint of statements, or why there is none.
  virtual std::expected<std::string, ClientError> statement(const ClientRequest& request) const;

  /// The statements of the text of one request; their views are into it. By default it is one.
  virtual std::expected<std::vector<std::string_view>, ClientError> split(
      std::string_view statements) const {
    return std::vector{statements};
  }

  /// The statement as one about the client's connection; nothing: it is another one.
  virtual std::optional<SessionStatement> session_statement(std::string_view) const {
    return std::nullopt;
  }

  /// The request by which a mirror is asked for `what`, SHOW PLAN or SHOW PROFILE, of a SELECT.
  virtual std::string inspecting(std::string_view /*select*/, std::string_view /*what*/) const {
    return {};
  }

  /// The requests within one to an endpoint of several; their views are into it. The default has
  /// none.
  virtual std::expected<std::vector<RequestPart>, ClientError> parts(const ClientRequest&) const {
    return std::vector<RequestPart>();
  }

  /// Appends the answer to a request of several, made of theirs, in the same order.
  virtual void join(std::string& /*out*/, std::span<const PartAnswer>, Micros /*took*/) const {}

  /// The table of the query, whether the query may be retried, and its options.
  virtual std::expected<Parsed, ClientError> parse(const ClientRequest& request) const = 0;

  /// Plans the query for the shards of its table, or says why it cannot be merged. Called for one
  /// shard only if the query is `planned`. The default refuses: for dialects that merge nothing.
  virtual std::expected<std::unique_ptr<FanOut>, ClientError> fan_out(const ClientRequest& request,
                                                                      const Parsed& parsed,
                                                                      ShardLayout layout) const;

  /// The request for a mirror that names the table `tables`. Without a plan: the client's request
  /// with only the table's name replaced. Clears `buffer`; the result may refer to it.
  virtual AgentRequest write(const ClientRequest& request, const Parsed& parsed, PlanPart part,
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
