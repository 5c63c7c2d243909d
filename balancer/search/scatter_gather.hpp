#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/core/query.hpp"
#include "balancer/shard/shard_driver.hpp"

namespace karmad {

/// One request of a query to a shard, or to one of its mirrors; filled by ShardParts::make().
using ShardPart = std::optional<ShardDriver>;

/// The requests of a query to its shards, in the order of the shards.
class ShardParts {
 public:
  enum class For : std::uint8_t { shard, mirror };

  /// Makes a part for each shard that the plan asks, or for each of its mirrors, in place of those
  /// of an earlier round. All arguments must outlive it.
  void make(Query& query, const ShardQuery& shard_query, For each);

  std::size_t size() const { return parts_.size(); }
  ShardPart* begin() const { return parts_.data(); }
  ShardPart* end() const { return parts_.data() + parts_.size(); }
  /// The only part; null if there are several.
  ShardDriver* only() { return only_ ? &*only_ : nullptr; }

  bool any_answered() const { return any(&ShardDriver::answered); }
  bool all_answered() const {
    return !any([](const ShardDriver& part) { return !part.answered(); });
  }
  /// The first part whose mirror refused the query as the client's mistake; null: there is none.
  ShardDriver* refusing() { return first(is_refusing); }
  /// The first part whose mirror wants other credentials of the client; null: there is none.
  ShardDriver* denying();
  /// The refusal of the whole query; null: there is none. A shard without suitable or free mirrors
  /// is only missing in the answer if partial answers are allowed. `may_lack_all`: also if that are
  /// all.
  const Refusal* whole_refusal(bool may_be_partial, bool may_lack_all) const;
  /// The first refusal of a part; null: there is none.
  const Refusal* refusal() const;
  /// Of the parts with an overload that retries did not overcome, the one whose mirror wants the
  /// longest pause; null: there is none.
  const ShardDriver* overloaded() const;
  /// Whether a mirror reported an overload that is not to be retried (BP-013).
  bool any_finally_overloaded() const {
    return any([](const ShardDriver& part) {
      const auto& hint = part.result().hint;
      return part.result().outcome == Outcome::agent_error && hint.overload && !hint.retryable;
    });
  }
  /// Whether a part has no answer because of a timeout.
  bool any_timed_out() const {
    return any([](const ShardDriver& part) { return !part.answered() && part.result().timed_out; });
  }
  /// Whether a mirror got its request and did not tell how it ended.
  bool any_in_doubt() const {
    return any([](const ShardDriver& part) { return part.result().in_doubt; });
  }
  /// Whether two mirrors crashed on the request of a part.
  bool any_crashed() const {
    return any([](const ShardDriver& part) { return !part.answered() && part.result().crashed; });
  }
  /// Lists every part without an answer with the mirrors tried and the reasons. `may_be_changed`:
  /// an update whose end is not known, which the text says.
  std::string reasons(const Table& table, bool may_be_changed) const;

  /// Whether a mirror carried a change out, or refused it as the client's mistake.
  bool tell_of_change() const { return any(tells_of_change); }
  /// The ends of all parts of a change. The bodies are views into the parts' replies.
  std::vector<ChangeReply> change_replies();

 private:
  static bool is_refusing(const ShardDriver& part) {
    return part.outcome() == Outcome::client_mistake;
  }
  static bool tells_of_change(const ShardDriver& part) {
    return part.answered() || is_refusing(part);
  }
  template <class Test>
  bool any(Test test) const {
    return std::ranges::any_of(parts_, [&](const auto& part) { return std::invoke(test, *part); });
  }
  /// Null: there is none.
  template <class Test>
  ShardDriver* first(Test test) {
    const auto found = std::ranges::find_if(parts_, [&](auto& part) { return test(*part); });
    return found == parts_.end() ? nullptr : &**found;
  }

  ShardPart only_;  ///< the common case needs no memory of its own
  std::vector<ShardPart> several_;
  std::span<ShardPart> parts_;
};

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
  /// Some shards have no answer, and partial results are denied. As above, if one is overloaded;
  /// with the type and details of a refusal, if one was refused.
  Answer incomplete(std::ptrdiff_t missing);
  /// Whether a mirror got an update and did not tell how it ended.
  bool may_be_changed() const { return !query_.request.parsed.read && parts_.any_in_doubt(); }
  /// An error because of mirrors; counted.
  Answer failed(int status, std::string_view reason);
  /// The query is the client's mistake; counted.
  Answer refused(const ClientError& mistake);
  /// Why shards have no answer.
  std::string reasons() const { return parts_.reasons(shard_query_.table, may_be_changed()); }

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
