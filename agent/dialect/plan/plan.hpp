#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/dialect/merge/merge_steps.hpp"
#include "agent/dialect/plan/shard_text.hpp"
#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/parsed.hpp"
#include "agent/dialect/request/sql_statement.hpp"
#include "agent/dialect/write/write_hits.hpp"

namespace karmad {

/// The merge of an engine that is not one of those below.
struct OwnMerge {
  std::string_view name;
  std::optional<BadReply> (*merge)(std::span<const ShardReply> replies, const MergeNotes& notes,
                                   std::string& out) = nullptr;
};

/// How the replies of shards to a read become the answer.
using ReadStep = std::variant<OneShardObject, SearchMerge, SelectPlan, RowsMerge, OneShardSets,
                              PercolateMerge, OwnMerge>;

/// How the ends of a change in the shards become the answer: each part is carried out whatever
/// becomes of the others.
using ChangeStep = std::variant<UpdateCounts, SqlCounts, BulkItems, ElasticBulkItems>;

/// A search in JSON that is planned once more when a vector is known.
struct SearchToPlan {
  std::string_view body;  ///< of the client's request
  SearchRequest request;
  std::size_t shards = 0;
  const DialectSettings* settings = nullptr;
};

/// The first round of a search by the vector of a document, which asks for that vector. Without a
/// second one (see begin_next_round()) there is no vector, and nothing is found.
struct VectorRound {
  NearDocument document;
  std::variant<SearchToPlan, const sql::Select*> asked;  ///< the SELECT outlives the plan
};

/// What each shard is asked, and how the replies become one answer. Refers to the request and its
/// `Parsed`, which must outlive it.
struct Plan {
  /// The request to a mirror. Its body gets `edits`; a table in its path gets the mirror's name.
  ClientRequest request;
  /// For all shards, for each, or the lines of a bulk, of which each shard gets its own.
  std::variant<TextEdits, std::vector<TextEdits>, BulkSplit> edits{};
  /// By shard, whether it gets the request; one does at least. The replies of others are empty, and
  /// they are not missing. Empty: all do.
  std::vector<bool> asked{};
  /// Whether an answer may lack shards that failed. False: they make the query fail.
  bool may_be_partial = true;
  /// Whether merge() needs a reply. False: only some shards were asked, and if all of these fail
  /// the answer is that of the others, which have found nothing.
  bool needs_reply = true;
  /// Cost of merging per byte of the replies; 1 is the cost of finding the end of a JSON value.
  unsigned merge_weight = 1;
  /// Mirrors answer an error of the SQL parser with status 500 at the path where they are asked,
  /// and with 400 at the client's.
  bool parser_errors_are_400 = false;
  std::string_view content_type{};       ///< of the merged answer; empty: that of the dialect
  std::optional<ElasticForm> elastic{};  ///< of the merged answer; nothing: as it was merged
  /// The id of the last document that a change makes, for clients whose answer has a place for it
  /// beside the body; 0: there is none, or it is no number.
  std::uint64_t last_insert_id = 0;
  std::variant<ReadStep, ChangeStep> step{};
  std::optional<VectorRound> vector_round{};  ///< nothing: the shards are asked for the answer
  /// The SELECT of a SelectPlan with pairs, which shards may refuse (see begin_round_after());
  /// outlives the plan. Null: there is no other way to ask.
  const sql::Select* given = nullptr;
  /// Texts that were made for this plan; views in it are into them.
  std::forward_list<std::string> texts{};

  bool asks(std::size_t shard) const { return asked.empty() || asked[shard]; }
  void ask_only(std::size_t shard, std::size_t shards) {
    asked.assign(shards, false);
    asked[shard] = true;
  }
  /// Fills in the lines of a bulk, the shards that get some, and the coverage.
  void take_lines(BulkSplit&& split, std::size_t shards);
  bool changes_data() const { return std::holds_alternative<ChangeStep>(step); }
  /// Keeps a text as long as the plan.
  std::string_view keep(std::string text) { return texts.emplace_front(std::move(text)); }
};

/// Whether this mirror of the shard is asked first, as long as it is suitable: it gave the earlier
/// pages.
bool prefers(const Plan& plan, std::size_t shard, std::string_view mirror);

/// The request for a mirror of that shard, from 0, which names the table `tables`. Clears `buffer`;
/// the result may refer to it and to the plan.
AgentRequest write_planned(const Plan& plan, std::size_t shard, std::span<const std::string> tables,
                           std::string& buffer);

/// The client's status for a mirror's refusal.
int refusal_status(const Plan& plan, int status, std::string_view body);

/// Merges the replies to a read, given in the order of the shards, and appends the answer's body to
/// `out`. On a reply that cannot be read it leaves `out` unchanged and names the shard; the caller
/// may call again with that reply replaced or emptied, unless the reply is right and the query has
/// no answer. A pure function: any thread.
std::optional<BadReply> merge(const Plan& plan, std::span<const ShardReply> replies,
                              const MergeNotes& notes, std::string& out);

/// About how many bytes merge_changes() reads and writes for these replies. More than the replies
/// have where the answer grows with the client's request.
std::size_t merge_changes_size(const Plan& plan, std::span<const ChangeReply> replies);

/// Appends the answer to a change to `out` and returns its status: 2xx only if all parts are done.
/// Gets the ends of all parts, in the order of the shards; one of them at least is done or has a
/// body. A pure function: any thread.
int merge_changes(const Plan& plan, std::span<const ChangeReply> replies, std::string& out);

/// The plan in one line: who is asked, how the replies are merged, with which numbers. Printable
/// ASCII, at most about a thousand bytes.
std::string describe(const Plan& plan);

}  // namespace karmad
