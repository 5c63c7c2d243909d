#pragma once

#include <cstddef>
#include <string>
#include <string_view>

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

}  // namespace karmad
