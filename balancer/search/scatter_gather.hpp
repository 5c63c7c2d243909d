#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "balancer/core/query.hpp"
#include "balancer/search/shard_parts.hpp"

namespace karmad {

/// The answers to a query that are not merged: a mirror's reply, or an error of karmad.
class UnmergedAnswers {
 public:
  /// All arguments must outlive it.
  UnmergedAnswers(Query& query, const ShardQuery& shard_query, ShardParts& parts)
      : query_(query), shard_query_(shard_query), parts_(parts) {}

  /// The reply of the part, for the client.
  void pass_on(ShardDriver& part, Answer& answer);
  /// The end of the only request, made without a plan.
  void answer_of_only_shard(Answer& answer);
  /// No shard answered. Passes on overload that retries did not overcome, so that the client
  /// retries later (BP-013, BP-025).
  Answer no_answer();
  /// Some shards have no answer, and partial results are denied. As above, if one is overloaded.
  Answer incomplete(std::ptrdiff_t missing);
  /// Whether a mirror got an update and did not tell how it ended.
  bool may_be_changed() const { return !query_.request.parsed.read && parts_.any_in_doubt(); }
  /// An error because of mirrors; counted.
  Answer failed(int status, std::string_view reason);
  /// The query is the client's mistake; counted.
  Answer refused(const ClientError& mistake);
  /// Why shards have no answer.
  std::string reasons() const { return parts_.reasons(shard_query_.table.name, may_be_changed()); }

 private:
  /// The shard asks for a later retry (BP-013).
  Answer overloaded(const ShardDriver& part, std::string_view reason);
  void write_for_client(Reply& reply, int status);
  /// An error in the dialect of the table.
  Answer error(int status, std::string_view reason);

  Query& query_;
  const ShardQuery& shard_query_;
  ShardParts& parts_;
};

/// Sends a query to all shards of its table concurrently and merges their replies into one answer.
/// A client's mistake is reported in the agent's words. A shard without an answer leads to a
/// warning, or to an error if partial results are denied.
Task<Answer> scatter_gather(Query& query, const Table& table, const Dialect& dialect);

/// Sends a copy of the query to the table's blackhole agents, without awaiting it: answers are read
/// and dropped, on separate connections. If too many copies are in progress (kBlackholes per
/// worker, or kBlackholeBytes), further ones are dropped and counted.
void send_to_blackholes(Query& query, const Table& table, const Dialect& dialect,
                        const Parsed& parsed);

inline constexpr std::size_t kBlackholes = 256;
inline constexpr std::size_t kBlackholeBytes = 64 << 20;

}  // namespace karmad
