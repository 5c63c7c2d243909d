#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/client_request.hpp"

namespace karmad {

struct Plan;  // plan/plan.hpp

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
