#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/replies/search_reply.hpp"
#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/parsed.hpp"
#include "agent/dialect/rows/row_plan.hpp"
#include "agent/dialect/rows/sort_value.hpp"

namespace karmad {

/// One key of the order of a scroll, in the words of the search server's tokens, with its value in
/// the last hit of a page.
struct ScrollKey {
  std::string attribute;  ///< `price`, `id`, `weight()`
  bool descending = false;
  std::string type;   ///< `int`, `float` or `string`; empty: no server continues behind the value
  std::string value;  ///< as JSON

  bool operator==(const ScrollKey&) const = default;
};

/// Where a scroll over several shards continues.
struct ScrollPosition {
  std::string table;
  std::size_t shards = 0;
  std::string sort;      ///< of the request; empty: there was none
  std::string language;  ///< of `sort`: `json` or `sql`
  /// The row behind which the shards continue; empty: at their first row.
  std::vector<ScrollKey> keys;
  std::uint64_t skip = 0;            ///< merged rows behind `keys` that the client has got
  std::vector<std::string> mirrors;  ///< by shard: digest of the mirror that answered, or empty
};

/// Longest token that is read or written.
inline constexpr std::size_t kLongestScrollToken = 64 << 10;

/// The search server's own token for a position. `order`: the text of ORDER BY, which the server
/// compares with that of the statement, letter case included; empty: that of a search in JSON.
std::string server_token(const std::vector<ScrollKey>& keys, std::string_view order = {});
/// Whether a search server has made the token.
bool is_server_token(std::string_view token);

/// Where and how a query scrolls.
struct ScrollPlace {
  std::string_view table;
  std::size_t shards = 0;
  std::string_view key;       ///< which signs the tokens; empty: a random one of this process
  std::string_view language;  ///< `json` or `sql`
};

/// The key with its JSON value in a hit or row. Ids may be written as strings.
ScrollKey scroll_key(std::string_view attribute, bool descending, std::string_view value);

/// The rows of a merged page, as far as their order is concerned. The function is called for the
/// last rows only, mostly for the last one.
struct ScrolledPage {
  std::size_t before = 0;  ///< merged rows before the page, behind the keys of its token
  std::size_t rows = 0;
  std::size_t keys = 0;
  std::function<ScrollKey(std::size_t row, std::size_t key)> value{};
};

/// One page of a query that pages with tokens: which rows the shards are asked for, which of the
/// merged ones the client has got already, and the token of the next page. Shards continue behind
/// the last row of the page before, if its values are exact in an answer: whole numbers, texts,
/// ids. A real number is printed with few digits, so that a shard could take the row for one before
/// or behind it; then the shards continue before the rows that have nearly its value, and the
/// client does not get again what it has got of them.
class ScrollPages {
 public:
  /// The first page, in the order `sort`.
  ScrollPages(const ScrollPlace& place, std::string_view sort);
  /// The page behind a token. Refuses (400) one that cannot be continued here.
  static std::expected<ScrollPages, ClientError> behind(std::string_view token,
                                                        const ScrollPlace& place);

  /// The order of the first page, in the client's words.
  const std::string& sort() const { return position_.sort; }
  /// The keys behind which the shards continue; empty: at their first row.
  const std::vector<ScrollKey>& keys() const { return position_.keys; }
  /// Merged rows behind `keys` that the client has got.
  std::uint64_t skip() const { return position_.skip; }
  /// Whether the mirror answered for this shard on the page before.
  bool prefers(std::size_t shard, std::string_view mirror) const;

  /// The token of the page behind this one, which has a row at least. Empty: it would be too long.
  std::string next_token(const ScrolledPage& page, std::span<const ShardReply> replies) const;
  /// The token of this page, which an empty page has as well.
  const std::string& given() const { return given_; }

 private:
  std::string key_;  ///< which signs the tokens
  ScrollPosition position_;
  std::string given_;
};

/// Most rows that the shards are asked for a page. With real numbers, or values that no server
/// continues behind, it bounds the rows with nearly the same values.
inline constexpr std::uint64_t kMostScrolled = 100'000;

/// Refuses (400) to ask for more rows.
void refuse_too_many_scrolled(const ScrollPages& pages, std::uint64_t limit, FirstRefusal& refusal);

// How the replies of shards become one answer: the steps of plans, and the functions that carry
// them out.

/// How the answers of several shards to one aggregation become one.
enum class Merging : std::uint8_t {
  metric,     ///< one value; a mean is weighted by each shard's number of documents found
  terms,      ///< buckets by key; the best `size` of them
  ranges,     ///< buckets by key, in the shards' common order
  histogram,  ///< buckets by key; the first `size` of them
  composite,  ///< buckets by the tuple of their sources
  values,     ///< all values of a field with their counts, from which a Measure is computed
};

/// A number, or several, computed from all values of a field.
struct Measure {
  enum class Is : std::uint8_t {
    distinct,     ///< how many there are
    percentiles,  ///< the values at the percentages `at`
    ranks,        ///< the percentages of values that are at most those of `at`
    deviation,    ///< the median of the distances from the median
  };
  Is is = Is::distinct;
  bool keyed = false;  ///< percentiles, ranks: an object by `at`, not an array
  std::vector<double> at{};
};

/// What buckets are ordered by.
struct BucketOrder {
  enum class By : std::uint8_t { count, key };
  By by = By::count;
  bool descending = true;
};

struct CompositeSource {
  std::string name;
  std::string field;
  KeyKind kind = KeyKind::attribute;
  bool descending = false;
};

/// The bounds of a range as JSON values; empty: none.
struct RangeBounds {
  std::string from{};
  std::string to{};
};

struct Aggregation {
  std::string name;
  Merging merging = Merging::metric;
  Fold fold = Fold::keep;          ///< metric
  std::size_t skip = 0;            ///< terms: buckets before those wanted
  std::size_t size = 0;            ///< buckets wanted; of ranges at most
  std::size_t asked = 0;           ///< composite, values: of a shard; fewer: it has no more
  std::vector<BucketOrder> order;  ///< terms, histogram; ends with the key
  std::vector<CompositeSource>
      sources;                      ///< composite, in the order of the buckets; else one: the key
  std::size_t sorted_by = 0;        ///< composite: how many of these the shards sort by
  std::vector<std::string> after;   ///< composite: a JSON value for each source, or empty
  std::vector<RangeBounds> ranges;  ///< in the order of the request
  Measure measure{};                ///< values
};

/// Values of the request that limit its aggregations.
struct SearchPage {
  std::size_t offset = 0;
  std::size_t limit = 20;
  std::size_t max_matches = 1000;
};

/// The aggregations of a request, and the request for them that the shards get.
struct AggregationPlan {
  std::vector<Aggregation> wanted;
  std::string rewritten;         ///< value of `aggs` for the shards; empty when there are none
  std::size_t most_buckets = 0;  ///< most buckets that one aggregation requests of a shard

  bool empty() const { return wanted.empty(); }
};

/// Appends `,"aggregations":{…}` in the request's order. `heads` were read with ReadTail::yes; the
/// head of a failed shard has no hits. Refuses a query of whose values a shard may have more than
/// it returned. Cost: n log n in the number of buckets of all shards.
std::optional<BadReply> merge_aggregations(const AggregationPlan& plan,
                                           std::span<const ReplyHead> heads, Collation collation,
                                           std::string& out);

/// The fields of a document that shards must return for ordering hits, and which of these the
/// client did not request.
struct SourcePlan {
  std::optional<std::string> rewritten;  ///< value of `_source` for the shards; empty: unchanged
  std::vector<std::string> hidden;       ///< patterns (`*`, `?`) of the members to remove again

  bool hides(std::string_view member) const;
};

/// The page of a search that pages with tokens.
struct HitScroll {
  ScrollPages pages;
  std::string_view expressions{};  ///< of the request: an object, or empty
};

/// The key's name in the tokens of the search server.
std::string scroll_attribute(const SortKey& key);

/// How one page of a search is made from the replies of the shards.
struct SearchMerge {
  std::size_t offset = 0;
  std::size_t limit = 0;  ///< of the page, at most max_matches
  std::vector<SortKey> keys;
  SourcePlan source;
  AggregationPlan aggregations;
  Collation collation = Collation::libc_ci;
  std::optional<std::uint64_t> most_found{};  ///< `hits.total` at most
  std::optional<std::uint64_t> stops_at{};    ///< TotalFound::cut
  std::size_t nearest = 0;  ///< the sort is not by distance: keep the nearest; 0: nothing to do
  std::optional<HitScroll> scroll{};
  bool reads_tail = false;      ///< of the replies, what follows the hits
  std::size_t first_shown = 0;  ///< from this key on …
  std::size_t shown_keys = 0;   ///< … so many: each hit has their values in `sort`
};

/// Appends the merged answer. On a reply that cannot be read it leaves `out` unchanged.
std::optional<BadReply> merge_replies(const SearchMerge& how, std::span<const ShardReply> replies,
                                      const MergeNotes& notes, std::string& out);

/// Buckets are sorted and allocate memory each; every sort key is searched in every hit.
unsigned merge_weight(const SearchMerge& how);

/// All hits, ordered by `_id`. They name `table` instead of the mirror's table.
struct PercolateMerge {
  std::string_view table;
};

/// Appends the answer. On a reply that cannot be read it leaves `out` unchanged. A pure function:
/// any thread.
std::optional<BadReply> merge_replies(const PercolateMerge& how,
                                      std::span<const ShardReply> replies, const MergeNotes& notes,
                                      std::string& out);

/// Why the body is no answer to a percolation; empty: it is one, as far as its beginning shows.
std::string why_not_percolated(std::string_view body);

/// The object that one shard answered is the answer.
struct OneShardObject {};

/// Appends it. On a malformed reply it leaves `out` unchanged.
std::optional<BadReply> merge_replies(const OneShardObject&, std::span<const ShardReply> replies,
                                      const MergeNotes&, std::string& out);

/// Longest SHOW META, in bytes of JSON: connections keep it.
inline constexpr std::size_t kLongestMeta = 64 << 10;

/// How the replies of shards to a SELECT become one. A reply is an array of result sets in the form
/// RowForm::raw: the rows, the facets, SHOW META, the pairs.
struct SelectPlan {
  RowForm form = RowForm::raw;
  Collation collation = Collation::libc_ci;
  RowPlan rows;
  std::vector<RowPlan> facets;
  std::vector<PairsPlan> pairs;
  std::optional<ScrollPages> scroll;
  /// The client has not asked for a token, but gets one with the rows of all shards, as from the
  /// server: rows in an order that names the id, at `/sql`.
  bool offers_scroll = false;
};

/// Merges the replies of the shards to the statements of a SELECT and appends the answer in the
/// form `plan.form`. A reply is an array of result sets: the rows, a set for each facet, SHOW META,
/// a set for each of `plan.pairs`. An empty reply is a shard without an answer. Warnings of
/// `notes`, of the shards, and about estimated columns become the answer's warning; `notes.meta`,
/// if given, gets the merged SHOW META, and `notes.sets` the result sets in place of `out`.
///
/// A malformed reply is named; `out` and `notes.meta` are unchanged then. A pure function: any
/// thread.
std::optional<BadReply> merge_replies(const SelectPlan& plan, std::span<const ShardReply> replies,
                                      const MergeNotes& notes, std::string& out);

/// As Plan::merge_weight.
unsigned merge_weight(const SelectPlan& plan);

/// The result sets of the first shard are the answer.
struct OneShardSets {
  enum class Kept : std::uint8_t {
    all,
    last,
    whole_answer,  ///< which is no list of result sets
  };
  RowForm form = RowForm::raw;
  Kept kept = Kept::all;
  /// The client's name of the table, to be shown instead of the mirror's; empty: no name is shown.
  std::string table{};
};

/// Appends them. On a reply that cannot be read it leaves `out` unchanged. A pure function: any
/// thread.
std::optional<BadReply> merge_replies(const OneShardSets& how, std::span<const ShardReply> replies,
                                      const MergeNotes&, std::string& out);

/// How the result sets of the shards become one, for statements such as SHOW and CALL. Columns are
/// those that all shards have.
struct RowsMerge {
  enum class Rows : std::uint8_t {
    by_id,        ///< all rows, ordered by the number in their first column (PQ)
    keywords,     ///< of equal position, token and form, with the counts added
    suggestions,  ///< of equal first column, with the counts added
    by_rank,      ///< the first rows of all shards, then the second …; equal rows once
    same,         ///< those of the only reply
    /// Rows of a name and values (SHOW TABLE t STATUS): of rows with the same name in the first
    /// column, values that are integers are added; of others the first shard's is kept.
    added,
    concatenated,  ///< all rows, in the order of the shards (SHOW THREADS)
  };
  Rows rows = Rows::same;
  std::size_t limit = 0;  ///< most rows; 0: all
  std::string
      sorted_by;  ///< keywords: `docs` or `hits`, descending; empty: as the shards have them
  std::size_t hidden = 0;       ///< number of last columns that the client does not get
  bool in_one_line = false;     ///< suggestions: a row for each column (`result_line`)
  RowForm form = RowForm::raw;  ///< hits count as raw
};

/// Merges the replies, which are arrays of one result set, and appends the answer. On a reply that
/// cannot be read it leaves `out` unchanged. A pure function: any thread.
std::optional<BadReply> merge_replies(const RowsMerge& how, std::span<const ShardReply> replies,
                                      const MergeNotes& notes, std::string& out);

/// The answer to an update with `table` in each place that names the changed table: at the top, in
/// its `error`, and in each of a bulk's `items`. The rest is unchanged, error texts included.
/// Nothing: the answer names no other table, is malformed or too long.
std::optional<std::string> with_table(std::string_view answer, std::string_view table);

/// How the parts of a change have ended, and the client's body; of a bulk also its lines.
struct ChangeEnds {
  std::span<const ChangeReply> replies;
  std::string_view body{};
  const BulkSplit* split = nullptr;
};

/// Counts of all shards are added.
struct UpdateCounts {
  std::string table;
};

/// As merge_changes(): one answer from those of the shards and mirrors, with the client's name of
/// the table. A part that failed is named.
int merge_ends(const UpdateCounts& how, const ChangeEnds& ends, std::string& out);

/// The rows that the shards changed are added.
struct SqlCounts {
  RowForm form = RowForm::raw;
  std::string table{};         ///< the client's name
  std::string_view written{};  ///< the client's statement
  std::string_view read{};     ///< the same without foreign forms
};

/// As merge_changes().
int merge_ends(const SqlCounts& how, const ChangeEnds& ends, std::string& out);

/// The answer to a bulk has the form of the engine's, with the items in the order of the client's
/// lines.
struct BulkItems {
  std::string table;

  /// About the most bytes of the item for a line that failed.
  std::size_t item_size() const { return 170 + 2 * table.size(); }
};

/// As merge_changes(). The status is 200, or with `errors`
/// 500, or the mirror's status if all parts are refused. Items are in the order of the client's
/// lines; that of a transaction stands at its last line that was carried out, and names its id.
/// `current_line` is then the last line, and `skipped_lines` counts the lines that were not carried
/// out by all mirrors they were sent to.
int merge_ends(const BulkItems& items, const ChangeEnds& ends, std::string& out);

/// The answer to a `_bulk`: one item for each action, in the client's order. An action failed if
/// one of the mirrors it was sent to has not committed its line.
struct ElasticBulkItems {
  std::string table;
  std::vector<std::string> actions;  ///< of each line
  std::string filter_path{};         ///< the parts that the client gets (append_filtered())

  /// About the most bytes of an item.
  std::size_t item_size() const { return 200 + table.size(); }
};

/// As merge_changes().
int merge_ends(const ElasticBulkItems& items, const ChangeEnds& ends, std::string& out);

}  // namespace karmad
