#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/stats/outcome.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// White space that JSON allows around a text (RFC 8259 section 2).
inline constexpr std::string_view kJsonSpace = " \t\r\n";

/// A client's request as a dialect sees it. The views live as long as the query.
struct ClientRequest {
  std::string_view method;
  std::string_view path;   ///< as received, without the query string
  std::string_view query;  ///< what follows `?`
  std::string_view content_type;
  std::string_view body;
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

/// What the balancer must know of a query to route it and to retry it.
struct Parsed {
  std::string table;
  std::size_t table_begin = 0;  ///< the bytes of the body that name the table, quotes included
  std::size_t table_end = 0;
  /// A second place after the first that names it (`table` and `index`); `other_end` 0: none.
  std::size_t other_begin = 0;
  std::size_t other_end = 0;
  bool read = true;           ///< may be sent more than once
  bool unclassified = false;  ///< not known to be a read: treated as an update
  /// Continues, queries or ends something that an earlier request opened on one mirror (a cursor, a
  /// task): is sent once, and to no other mirror.
  bool follow_up = false;
  /// Needs a plan also on a table of one shard, because a mirror cannot be sent the client's
  /// request.
  bool planned = false;
  QueryOptions options;
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
};

/// What the balancer adds to a merged answer.
struct MergeNotes {
  Micros took{};
  bool timed_out = false;       ///< the query to a shard timed out
  std::string_view warning{};   ///< plain text; empty: none
  std::string* meta = nullptr;  ///< gets what the dialect tells of the query aside (SHOW META)
};

/// The plan of one query over several shards. It refers to the request, which must outlive it.
class FanOut {
 public:
  virtual ~FanOut() = default;

  /// Whether the shard gets the request; one shard does at least. The reply of the others is empty
  /// in merge(), and they are not missing.
  virtual bool asks(std::size_t /*shard*/) const { return true; }

  /// Whether an answer may lack shards that failed. False: they make the query fail.
  virtual bool may_be_partial() const { return true; }

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

  /// Cost of merging per byte of the replies; 1 is the cost of finding the end of a JSON value.
  virtual unsigned merge_weight() const { return 1; }

  /// Merges the replies, given in the order of the shards, and appends the answer's body to `out`.
  /// On a reply that cannot be read it leaves `out` unchanged and names the shard; the caller may
  /// call again with that reply replaced or emptied. A pure function: any thread.
  virtual std::optional<BadReply> merge(std::span<const ShardReply> replies,
                                        const MergeNotes& notes, std::string& out) const = 0;
};

/// The part of a plan that one shard, from 0, gets; without a plan it is the client's request.
struct PlanPart {
  PlanPart(const FanOut* of, std::size_t number = 0) : plan(of), shard(number) {}  // NOLINT

  const FanOut* plan;
  std::size_t shard;
};

/// How a table is divided into shards. Implicit from their number.
struct ShardLayout {
  ShardLayout(std::size_t count) : shards(count) {}  // NOLINT

  std::size_t shards;
};

struct DialectSettings {
  Collation collation = Collation::libc_ci;
  unsigned max_json_depth = 128;
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

  /// The statement of a request to an endpoint of statements, or why there is none.
  virtual std::expected<std::string, ClientError> statement(const ClientRequest& request) const;

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

  /// The body of a complete answer with the table named as the client named it; nothing when the
  /// body is sent unchanged.
  virtual std::optional<std::string> body_for_client(const Parsed&, std::string_view) const {
    return std::nullopt;
  }

  /// Appends an error body in this dialect to `out`.
  virtual void refuse(int status, std::string_view reason, std::string& out) const = 0;
};

}  // namespace karmad
