#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string_view>

#include "agent/dialect/plan/plan.hpp"

namespace karmad {

/// One page of a search over several shards: the edits that make the client's body the request for
/// each shard, and how the page is made from the replies.
struct PlannedSearch {
  TextEdits edits;
  SearchMerge merge;
  std::size_t client_keys = 0;  ///< so many keys from `merge.first_shown` are the client's
  /// The document whose vector is searched by; nothing: it is another search.
  std::optional<NearDocument> document{};
};

/// A SELECT over several shards: what each is asked, and how their replies become one.
struct ShardSelect {
  std::string statements;  ///< for a shard, but for the table's name
  TextEdits names;         ///< of the statements: puts it in
  SelectPlan plan;
  std::optional<NearDocument> document;  ///< the one whose vector KNN() searches by
};

/// Plans a SELECT of one table. The shards get the client's list and hidden columns for what
/// merging needs, no offset, as many rows as merging needs, no HAVING; then SHOW META, and a
/// statement for each COUNT(DISTINCT …).
///
/// `pairs_by`: how the pairs of COUNT(DISTINCT …) are asked for.
///
/// `vector`: the numbers of the vector of ShardSelect::document, if KNN() is by a document.
///
/// Refuses, with the offset: what sql::Select::unplannable and its lists say (400), and what
/// cannot be computed from the rows of shards (501), with what works instead; scrolls that cannot
/// be continued (400).
OrError<ShardSelect> plan_select(const sql::Select& select, RowForm form, Collation collation,
                                 const ScrollPlace& place = {}, std::string_view vector = {},
                                 PairsBy pairs_by = PairsBy::values);

/// Whether one of the `aggs` (may be empty) is of a kind that servers do not know: they answer it
/// with empty buckets.
bool has_kind_unknown_to_servers(std::string_view aggs);

/// Refuses (400) a request that cannot be merged, with the reason. `vector`: the numbers of the
/// vector of PlannedSearch::document, if it has one.
OrError<PlannedSearch> plan_search(std::string_view body, const SearchRequest& request,
                                   std::size_t shards, const DialectSettings& settings,
                                   std::string_view vector = {});

// A search for the documents nearest to one document of the table has two rounds: the first reads
// that document's vector, the second searches by the vector. If there is no such document, or it
// has no vector, nothing is found, as in the search server.

/// Fills in a search: the edits of the request's body, the merge and the coverage. A search near a
/// document asks for its vector first, only the document's shard if that is known. `settings` must
/// outlive the plan.
void take_search(Plan& plan, PlannedSearch&& search, SearchRequest&& request,
                 const ShardLayout& layout, const DialectSettings& settings);
/// The same of a SELECT: the statements, their edits, the merge and the coverage.
void take_select(Plan& plan, ShardSelect&& select, const sql::Select& given,
                 const ShardLayout& layout);

/// Takes the replies of a round of requests, given as to merge(). True: the answer needs another
/// round, for which the plan has other requests now; at most one such round follows. False: merge()
/// makes the answer of these replies. After an error, which is as that of merge(), the plan is
/// unchanged. Any thread, while no shard is asked.
std::expected<bool, BadReply> begin_next_round(Plan& plan, std::span<const ShardReply> replies);

/// Takes the error with which a shard has refused a round as the query's mistake. True: the query
/// can be asked in another way, for which the plan has other requests now. So COUNT(DISTINCT …) is
/// asked for again where an attribute turns out to have several values, and a `term` where it turns
/// out to be about an attribute, which no plan can know. A plan has as few such rounds as the query
/// has attributes.
/// Any thread, while no shard is asked.
bool begin_round_after(Plan& plan, std::string_view error);

}  // namespace karmad
