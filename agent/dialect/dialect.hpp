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
#include "config/settings.hpp"

namespace karmad {

/// What may stand around a JSON text (RFC 8259 section 2).
inline constexpr std::string_view kJsonSpace = " \t\r\n";

/// A client's request as a dialect sees it. The views live as long as the query.
struct ClientRequest {
  std::string_view method;
  std::string_view path;   ///< as received, without the query string
  std::string_view query;  ///< what follows `?`
  std::string_view content_type;
  std::string_view body;
};

/// Why a client cannot get an answer, in words it can act on, with the HTTP status that says
/// so.
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

/// What the balancer must know of a query to route and to repeat it.
struct Parsed {
  std::string table;
  std::size_t table_begin = 0;  ///< the bytes of the body that name the table, quotes included
  std::size_t table_end = 0;
  /// A second place behind the first that names it (`table` and `index`); no end: there is none.
  std::size_t other_begin = 0;
  std::size_t other_end = 0;
  bool read = true;           ///< may run twice
  bool unclassified = false;  ///< not known to: taken for an update, though it may be a read
  /// Continues, asks after, or ends what an earlier request left open on one mirror (a cursor, a
  /// task): not to be sent twice, nor elsewhere.
  bool follow_up = false;
  QueryOptions options;
};

/// Appends `body` with what `name` appends in each place where it names its table.
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
/// another one than the client's.
template <class WriteBody>
AgentRequest write_request(const ClientRequest& request, std::string& buffer,
                           WriteBody write_body) {
  buffer.clear();
  if (!request.query.empty()) buffer.append(request.path).append("?").append(request.query);
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
  bool whole = true;                       ///< else `body` is its beginning
  const ClientRequest* request = nullptr;  ///< that it answers; null: not known
};

struct Judgement {
  Outcome outcome = Outcome::wrong_reply;
  std::string message;  ///< why, when it is neither answered nor silent
  char ends_in = 0;     ///< what the last byte must be that is no space; 0: anything
  /// Of an `agent_error` of which nothing tells whose fault it is: what the agent said. When two
  /// agents say the same of a query it is the client's mistake. Empty: it is the agent's error.
  std::string complaint{};
};

/// One shard's part in a merge; `body` is empty when the shard failed.
struct ShardReply {
  std::string_view body;
};

/// What the balancer adds to a merged answer.
struct MergeNotes {
  Micros took{};
  bool timed_out = false;      ///< a shard ran into a time-out
  std::string_view warning{};  ///< plain text; empty: none
};

/// The plan of one query over several shards. It refers to the request it was made from.
class FanOut {
 public:
  virtual ~FanOut() = default;

  /// Writes the body every mirror that calls the table `tables` gets (offset 0, sort keys added …).
  virtual void write(std::span<const std::string> tables, std::string& body) const = 0;

  struct BadReply {
    std::size_t shard = 0;
    std::string reason;
  };
  /// What merging does for each byte of the replies, where finding the end of a JSON value
  /// counts 1.
  virtual unsigned merge_weight() const { return 1; }

  /// Merges what the shards said, in their order, appending the answer's body to `out`. Finds the
  /// replies it cannot understand: then `out` is as before and the shard is named. May be called
  /// again with that shard's reply replaced or emptied. A pure function: on any thread.
  virtual std::optional<BadReply> merge(std::span<const ShardReply> replies,
                                        const MergeNotes& notes, std::string& out) const = 0;
};

struct DialectSettings {
  Collation collation = Collation::libc_ci;
  unsigned max_json_depth = 128;
};

/// What a request is, as far as its ticket needs it (AC-062).
enum class TicketClass : std::uint8_t {
  exempt,  ///< needs none: it is about karmad itself, or frees what a mirror holds
  search,  ///< may run twice
  update,  ///< runs once
};

/// The language of a backend: pure functions on bytes, safe to call from any worker.
class Dialect {
 public:
  virtual ~Dialect() = default;

  /// What the request is, where its path does not tell: asked of requests to a route and to an
  /// endpoint of statements, before parse(). Allocates little, however long the request.
  virtual TicketClass ticket_class(const ClientRequest&) const { return TicketClass::search; }

  /// The statement of a request to an endpoint of statements, or why there is none.
  virtual std::expected<std::string, ClientError> statement(const ClientRequest& request) const;

  /// Which table is asked, whether the query may run twice, and its own options.
  virtual std::expected<Parsed, ClientError> parse(const ClientRequest& request) const = 0;

  /// How the query is put to `shards` > 1 shards, or why it cannot be merged. A dialect that merges
  /// nothing need not say why.
  virtual std::expected<std::unique_ptr<FanOut>, ClientError> fan_out(const ClientRequest& request,
                                                                      const Parsed& parsed,
                                                                      std::size_t shards) const;

  /// The request for a mirror that calls the table `tables`. Without `plan` the client's own
  /// request with nothing changed but the table's name. `buffer` is cleared and may hold parts.
  virtual AgentRequest write(const ClientRequest& request, const Parsed& parsed, const FanOut* plan,
                             std::span<const std::string> tables, std::string& buffer) const = 0;

  /// What a reply means. `merged`: its parts will be merged, so its shape is checked too.
  virtual Judgement judge(const AgentReply& reply, bool merged) const = 0;

  /// The body of a whole answer as the client gets it, where that differs: it names the table as
  /// the client does. Nothing: as it came.
  virtual std::optional<std::string> body_for_client(const Parsed&, std::string_view) const {
    return std::nullopt;
  }

  /// An error body in this language, appended to `out`.
  virtual void refuse(int status, std::string_view reason, std::string& out) const = 0;
};

}  // namespace karmad
