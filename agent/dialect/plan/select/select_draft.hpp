#pragma once

#include <cstddef>
#include <expected>
#include <forward_list>
#include <optional>
#include <string>
#include <vector>

#include "agent/dialect/plan/select/select_columns.hpp"
#include "agent/dialect/request/sql_span.hpp"
#include "agent/dialect/request/sql_statement.hpp"
#include "agent/dialect/rows/row_plan.hpp"

namespace karmad {

/// The OPTION clause of a SELECT as the shards get it.
struct ShardOptions {
  std::optional<std::size_t> max_matches;  ///< as the client wrote it; not in `others`
  /// The token of OPTION scroll, empty with `scroll = 1`; not in `others`.
  std::optional<std::string> scroll;
  /// Separated by commas. Without retry_count, retry_delay and agent_query_timeout, which the
  /// balancer obeys.
  std::string others;
  bool has_cutoff = false;  ///< among `others`

  /// ` OPTION …`, or nothing when there is no option. `kept`: value of max_matches; 0: not sent.
  std::string write(std::size_t kept) const;
};

/// Reads the clause.
std::expected<ShardOptions, ClientError> read_options(SqlSpan tokens);

/// Most sort keys that the search server accepts in SQL.
inline constexpr std::size_t kMostSqlServerKeys = 5;

/// Most keys of a group: bounds the work of finding each among the columns and in each row.
inline constexpr std::size_t kMostGroupKeys = 64;

/// One SELECT while it is planned: what the parts of the plan share.
struct SelectDraft {
  explicit SelectDraft(const SqlSelect& select) : clauses(select), where(select.where) {}

  const SqlSelect& clauses;
  std::string_view where;  ///< as the shards get it
  std::vector<SelectItem> items;
  std::vector<SelectItem> group;
  std::vector<OrderKey> order;
  std::vector<OrderKey> outer;  ///< ORDER BY around the brackets in which the SELECT stands
  ShardOptions options;
  RowForm form = RowForm::raw;

  HiddenNames names;
  std::forward_list<std::string> hidden_aliases;  ///< what the items' `alias_text` refers to
  PairsBy pairs_by = PairsBy::values;
  std::vector<PairsPlan> pairs;
  std::vector<PairsText> pairs_texts;
  std::size_t pairs_size = 0;          ///< bytes of their statements
  std::optional<ListAliases> aliases;  ///< once there are pairs
  std::size_t most_asked = 0;          ///< of a shard, in one result set

  std::size_t max_matches() const;
  /// LIMIT cut at max_matches, as the server does.
  RowWindow window(const RowWindow& wanted) const;
  bool is_grouped() const;
  /// The select list as the shards get it.
  std::string list() const;
  /// The path of an item whose value needs its JSON attribute beside it: that of hits have types.
  std::optional<JsonPath> json_path(const SelectItem& item) const;
  /// The key by which rows with these columns are sorted. That of a value inside JSON needs the
  /// attribute beside it: rows show `true` as 1, and the server does not order it like a 1.
  RowKey row_key(ShardColumns& columns, const OrderKey& key) const;
  /// Plans what stands around the brackets of the SELECT. Before the columns are settled.
  void add_outer(ShardColumns& columns, RowPlan& rows) const;
  /// Adds the JSON attributes of all such items.
  void add_json(ShardColumns& columns, RowPlan& rows) const;
  /// Number of groups to request of a shard in an order that is not that of their keys, since a
  /// group among the first of all shards may be a late one of some shard: max_matches, as the
  /// server's own distributed tables do, and at least its default.
  std::size_t groups_to_ask() const;
  /// Plans the statement for a COUNT(DISTINCT value) of groups with these keys; returns its number.
  /// Refuses (400) more of them than kMostPairsStatements and kLongestPairsTexts allow.
  std::expected<std::size_t, ClientError> add_pairs(const std::vector<SelectItem>& keys,
                                                    const SelectItem& value);
};

/// One result set of a shard's statements.
struct RowsDraft {
  RowPlan rows;
  std::string hidden;  ///< what follows the client's list
  std::string group;   ///< what follows GROUP BY; the same for the others; empty: not sent
  std::string within;
  std::string order;
  std::size_t asked = 0;
};

/// The rows of documents.
std::expected<RowsDraft, ClientError> plan_documents(SelectDraft& draft);
/// The rows of groups.
std::expected<RowsDraft, ClientError> plan_groups(SelectDraft& draft);
/// A facet: its rows, and the text that the shards get for it.
struct FacetDraft {
  RowPlan rows;
  std::string text;
};
std::expected<FacetDraft, ClientError> plan_facet(SelectDraft& draft, const FacetClause& facet);

/// Reads the keys of GROUP BY or of a facet's BY; none are given without tokens.
std::expected<std::vector<SelectItem>, ClientError> read_group_keys(SqlSpan tokens);

/// Appends `name` and the direction to a list of sort keys.
void append_key(std::string& list, std::string_view name, bool descending);

}  // namespace karmad
