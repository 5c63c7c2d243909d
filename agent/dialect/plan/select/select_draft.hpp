#pragma once

#include <algorithm>
#include <cstddef>
#include <forward_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/sql_statement.hpp"
#include "agent/dialect/request/sql_tokens.hpp"
#include "agent/dialect/rows/row_plan.hpp"

namespace karmad {

/// An aggregate function of SQL. COUNT(*) is a sum over shards.
struct Aggregate {
  Fold fold = Fold::sum;
  sql::Span argument;
};

/// One item of a select list, or an expression that is treated like one.
struct SelectItem {
  sql::Span expression;           ///< without the alias
  std::string canonical;          ///< of the expression
  std::string alias{};            ///< in its canonical form; empty: none
  std::string_view alias_text{};  ///< as the client wrote it
  std::optional<Aggregate> aggregate{};
  std::string shown{};  ///< the client's alias, where `alias` is a hidden one in its place

  /// What the client calls the result; empty: it has no alias.
  const std::string& name() const { return shown.empty() ? alias : shown; }
  bool is_star() const { return canonical == "*"; }
};

using SelectItems = std::vector<SelectItem>;

/// The first refusal of a SELECT.
struct SelectRefusal : FirstRefusal {
  /// As sql::wrong_at().
  template <class... Args>
  void refuse_at(std::size_t offset, fmt::format_string<Args...> what, Args&&... args) {
    refuse(sql::wrong_at(offset, what, std::forward<Args>(args)...));
  }
};

/// Reads an expression. Refuses (501) aggregates within an expression, whose result cannot be
/// computed from the results of shards, and aggregates that cannot be merged at all.
SelectItem read_expression(sql::Span tokens, SelectRefusal& refusal);

/// Reads a select list. Of a list that is refused, like the others, it returns the beginning.
SelectItems read_items(sql::Span tokens, SelectRefusal& refusal);

/// One key of ORDER BY.
struct OrderKey {
  SelectItem by;
  bool descending = false;
};

/// Reads the keys of ORDER BY; refuses (400) more than any server sorts by.
std::vector<OrderKey> read_order(sql::Span tokens, SelectRefusal& refusal);

/// Gives hidden columns their names, which are unique within one statement.
struct HiddenNames {
  std::size_t given = 0;
  std::string next() { return std::string(kHiddenName) + std::to_string(given++); }
};

/// The columns of a shard's rows: the client's items and, after them, hidden columns. Until
/// settle() a ColumnAt counts from the left also where it is marked `from_right`.
class ShardColumns {
 public:
  /// Both must outlive this.
  ShardColumns(const SelectItems& items, HiddenNames& names);

  /// The client's item that has this name, else one with this expression.
  const SelectItem* item(const SelectItem& wanted) const;
  /// The same; an expression that is none of them is meant itself.
  const SelectItem& meant(const SelectItem& wanted) const {
    const auto* const known = item(wanted);
    return known != nullptr ? *known : wanted;
  }

  /// The column with the values of an expression; adds a hidden one if there is none.
  ColumnAt of(const SelectItem& wanted);
  /// The same for an expression written here.
  ColumnAt of(std::string_view text, std::string_view canonical_text,
              std::optional<Fold> fold = std::nullopt);
  ColumnAt of(std::string_view canonical_text) { return of(canonical_text, canonical_text); }

  /// How other clauses name the expression; adds a hidden column if it has no name yet.
  std::string name_of(const SelectItem& wanted);

  /// Whether the values are those of a JSON path, which the server orders as texts.
  bool holds_path(const SelectItem& wanted) const { return is_path(meant(wanted).expression); }

  /// The aggregates among all columns, hidden ones included.
  struct Aggregated {
    ColumnAt column;
    Fold fold;
    sql::Span argument;  ///< empty: of a hidden column written here
  };
  std::vector<Aggregated> aggregated() const;

  /// The column of that number, of the client's items and the hidden ones behind them.
  ColumnAt at(std::size_t number) const { return {number, star_ && number > *star_}; }

  /// Sets the hidden columns of the plan, and replaces the positions of all that it names by the
  /// final ones. Called when all columns are known. Returns what follows the client's list:
  /// `, expression AS karmad_0` for each hidden column.
  std::string settle(RowPlan& rows) const;

 private:
  struct Hidden {
    std::string text;
    std::string canonical;
    std::string name;
    std::optional<Aggregate> aggregate;
  };
  ColumnAt column_of(const Hidden& hidden) const {
    return at(items_.size() + static_cast<std::size_t>(&hidden - hidden_.data()));
  }
  const Hidden* hidden_with(std::string_view canonical_text) const;
  const Hidden& add(const SelectItem& wanted);

  const SelectItems& items_;
  HiddenNames& names_;
  std::optional<std::size_t> star_;  // index of `*`
  std::vector<Hidden> hidden_;
};

/// Most pairs of a group's key and a value that a shard is asked for. Below it COUNT(DISTINCT …) is
/// exact; 100 000 rows of two numbers are about 9 MB of reply.
inline constexpr std::size_t kMostPairs = 100'000;

/// The statement whose rows are the keys of a group and one value, each pair once: `SELECT keys,
/// value` and what follows the table, up to its LIMIT.
struct PairsDraft {
  PairsPlan plan;
  std::string list{};
  std::string group{};
};

/// Most statements of pairs of one SELECT: each repeats its WHERE, and is a search of its own. Some
/// servers take at most 32 statements at once (max_batch_queries).
inline constexpr std::size_t kMostPairsStatements = 16;
/// Most bytes of all of them together, where there are several.
inline constexpr std::size_t kLongestPairsTexts = 4 << 20;

/// The aliases of a select list, and whether WHERE uses one.
class ListAliases {
 public:
  ListAliases(const SelectItems& items, std::string_view where);

  bool are_in_where() const { return are_in_where_; }
  /// Whether a name in the text is one of them.
  bool are_in(std::string_view text) const;

 private:
  std::set<std::string> names_;
  bool are_in_where_;
};

/// The OPTION clause of a SELECT as the shards get it.
struct ShardOptions {
  std::optional<std::size_t> max_matches;  ///< as the client wrote it; not in `others`
  /// The token of OPTION scroll, empty with `scroll = 1`; not in `others`.
  std::optional<std::string> scroll;
  bool refuses_scroll = false;  ///< `scroll = 0`
  /// Separated by commas. Without retry_count, retry_delay and agent_query_timeout, which the
  /// balancer obeys.
  std::string others;
  bool has_cutoff = false;  ///< among `others`

  /// ` OPTION …`, or nothing when there is no option. `kept`: value of max_matches; 0: not sent.
  std::string write(std::size_t kept) const;
};

/// Reads the clause.
ShardOptions read_options(sql::Span tokens, SelectRefusal& refusal);

/// The server's default.
inline constexpr std::size_t kServersMaxMatches = 1000;

/// Most sort keys that the search server accepts in SQL.
inline constexpr std::size_t kMostSqlServerKeys = 5;

/// Most keys of a group: bounds the work of finding each among the columns and in each row.
inline constexpr std::size_t kMostGroupKeys = 64;

/// One SELECT while it is planned: what the parts of the plan share.
struct SelectDraft : SelectRefusal {
  explicit SelectDraft(const sql::Select& select) : clauses(select), where(select.where) {}

  const sql::Select& clauses;
  std::string_view where;  ///< as the shards get it
  SelectItems items;
  SelectItems group;
  std::vector<OrderKey> order;
  std::vector<OrderKey> outer;  ///< ORDER BY around the brackets in which the SELECT stands
  ShardOptions options;
  RowForm form = RowForm::raw;
  bool offers_scroll = false;  ///< as SelectPlan::offers_scroll, if the order allows it

  HiddenNames names;
  std::forward_list<std::string> hidden_aliases;  ///< what the items' `alias_text` refers to
  PairsBy pairs_by = PairsBy::values;
  std::vector<PairsDraft> pairs;
  std::size_t pairs_size = 0;          ///< bytes of their statements
  std::optional<ListAliases> aliases;  ///< once there are pairs
  std::size_t most_asked = 0;          ///< of a shard, in one result set

  std::size_t max_matches() const { return options.max_matches.value_or(kServersMaxMatches); }
  /// Sets the page of the rows: LIMIT cut at max_matches, as the server does. Returns its end.
  std::size_t set_page(const sql::RowWindow& wanted, RowPlan& rows) const;
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
  std::size_t groups_to_ask() const { return std::max(max_matches(), kServersMaxMatches); }
  /// Plans the statement for a COUNT(DISTINCT value) of groups with these keys; returns its number.
  /// Refuses (400) more of them than kMostPairsStatements and kLongestPairsTexts allow.
  std::size_t add_pairs(const SelectItems& keys, const SelectItem& value);
};

/// Settles aliases that are the name of a column which another expression reads: there some servers
/// take the column, others the alias.
///
/// An aggregate with such an alias (`AVG(price) AS price`), or with the alias `id`, is sent with a
/// hidden one; its column gets the client's name back, ORDER BY and HAVING by the alias follow.
/// Refuses (400) an alias `id` of another expression, by which rows would be merged, and other
/// aliases that hide what a hidden column reads.
void settle_aliases(SelectDraft& draft);

/// Refuses (400) an alias of another item that is the attribute's name.
void refuse_hiding(const SelectItems& items, const SelectItem& attribute, SelectRefusal& refusal);

/// Refuses (400) the alias `id` of something else.
void refuse_id_alias(const SelectItem& item, SelectRefusal& refusal);

/// One result set of a shard's statements.
struct RowsDraft {
  RowPlan rows;
  std::string hidden;  ///< what follows the client's list
  std::string group;   ///< what follows GROUP BY; the same for the others; empty: not sent
  std::string within;
  std::string order;
  std::size_t asked = 0;
};

/// The rows of groups.
RowsDraft plan_groups(SelectDraft& draft);
/// A facet: its rows, and the text that the shards get for it.
struct FacetDraft {
  RowPlan rows;
  std::string text;
};
FacetDraft plan_facet(SelectDraft& draft, const sql::FacetClause& facet);

/// Reads the keys of GROUP BY or of a facet's BY; none are given without tokens.
SelectItems read_group_keys(sql::Span tokens, SelectRefusal& refusal);

/// Appends `name` and the direction to a list of sort keys.
void append_key(std::string& list, std::string_view name, bool descending);

}  // namespace karmad
