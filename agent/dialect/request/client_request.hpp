#pragma once

#include <fmt/core.h>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/settings/settings.hpp"

namespace karmad {

/// The position of a value in the body; `end` 0: not found.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool found() const { return end != 0; }
  std::string_view in(std::string_view body) const { return body.substr(begin, end - begin); }
  bool operator==(const ByteRange&) const = default;
};

/// The form in which a client gets the rows of a statement.
enum class RowForm : std::uint8_t {
  raw,   ///< `/sql?mode=raw`, `/cli_json`: columns and rows, an array of result sets
  hits,  ///< `/sql`: like a search, one result set and its facets
  text,  ///< `/cli`: tables drawn with characters
};

/// Content type of an answer in that form; empty: JSON, as the dialect says.
constexpr std::string_view content_type_of(RowForm form) {
  return form == RowForm::text ? "text/plain; charset=UTF-8" : "";
}

/// White space that JSON allows around a text (RFC 8259 section 2).
inline constexpr std::string_view kJsonSpace = " \t\r\n";

namespace sql {
struct StatementText;
}

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
  std::shared_ptr<const sql::StatementText> statement{};
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
  bool is_defect = false;  ///< karmad's, not a mistake in the request
};

/// A value, or why the client gets none.
template <class Value>
using OrError = std::expected<Value, ClientError>;
/// Why a request is refused; nothing: it is not.
using MaybeError = std::optional<ClientError>;

inline ClientError bad_request(std::string reason) {
  return {400, std::move(reason)};
}
/// `reason`: with its arguments, as for fmt::format().
template <class... Args>
ClientError bad_request(fmt::format_string<Args...> reason, Args&&... args) {
  return bad_request(fmt::format(reason, std::forward<Args>(args)...));
}
inline std::unexpected<ClientError> refused(std::string reason) {
  return std::unexpected(bad_request(std::move(reason)));
}
template <class... Args>
std::unexpected<ClientError> refused(fmt::format_string<Args...> reason, Args&&... args) {
  return refused(fmt::format(reason, std::forward<Args>(args)...));
}

/// The error of a request whose bytes, or those of its replies, met a defect of karmad: code that
/// reads them has thrown.
inline ClientError internal_error(const std::exception& thrown) {
  return {500, std::string("an internal error of karmad, please report it: ") + thrown.what(),
          true};
}

/// What `read` returns, an expected value. It is pure code: what it throws ends its request, not
/// the process.
template <class Read>
std::invoke_result_t<Read> or_internal_error(Read&& read) {
  try {
    return std::forward<Read>(read)();
  } catch (const std::exception& thrown) {
    return std::unexpected(internal_error(thrown));
  }
}

/// The same for work without a result; what it has written must not be used after an error.
template <class Work>
MaybeError internal_error_in(Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (const std::exception& thrown) {
    return internal_error(thrown);
  }
  return std::nullopt;
}

/// The first reason to refuse a request that is read in several steps. Behind a refusal the other
/// steps are carried out, so they take any values, and their results are not used.
struct FirstRefusal {
  MaybeError why;

  void refuse(ClientError mistake) {
    if (!why) why = std::move(mistake);
  }
  template <class... Args>
  void refuse(fmt::format_string<Args...> reason, Args&&... args) {
    refuse(bad_request(reason, std::forward<Args>(args)...));
  }
  /// Moves what was read to `place`, unless it is refused.
  template <class Value, class Place>
  void keep(OrError<Value>&& read, Place& place) {
    if (read)
      place = *std::move(read);
    else
      refuse(std::move(read.error()));
  }
};

/// What a query may set for itself.
struct QueryOptions {
  std::optional<Micros> agent_query_timeout;
  std::optional<unsigned> retry_count;  ///< per mirror, as a table's agent_retry_count
  std::optional<Micros> retry_delay;
};

/// Sets an option that a request gives its query, by its name: `retry_count` (0 to 8, the search
/// server's limit), `agent_query_timeout` (1 ms to a day), `retry_delay` (0 to a day). Returns why
/// the value is refused, to follow the name; nothing: it is set. `value`: nothing if it is no whole
/// number. Not for other names.
std::optional<std::string> set_query_option(QueryOptions& options, std::string_view name,
                                            std::optional<std::uint64_t> value);

/// Which mirrors a request may use, and whether it takes a read preference (SS-107). In the order
/// of what several in one request need together.
enum class SelectionClass : std::uint8_t {
  none,                ///< asks no mirror; a preference has no effect
  may_use_secondary,   ///< takes a preference, else the configured one is used (SS-105)
  should_use_primary,  ///< a read of the primary that takes none (SS-104)
  unclassified,        ///< goes to the primary, unless it has a preference itself (SS-101, SS-102)
  must_use_primary     ///< an update: takes none (SS-100, SS-103)
};

/// The request an agent gets. The views are into the client's request, its `Parsed` or `write`'s
/// buffer.
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

/// One of several requests in the body of one.
struct RequestPart {
  std::string_view path;  ///< as if it had come to this path
  std::string tables;     ///< the table or list of tables, as if it stood in the path
  std::string_view body;
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
  /// The table of each shard, where the request names a list of tables; else empty.
  std::vector<std::string_view> tables{};
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

}  // namespace karmad
