#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/plan/select/select_draft.hpp"
#include "agent/dialect/plan/shard_text.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

/// A scroll needs a total order that the shards sort by, as names and values of columns.
MaybeError plan_scroll(const SelectDraft& draft, RowsDraft& out) {
  auto& rows = out.rows;
  if (rows.order.size() > kMostSqlServerKeys)
    return ClientError{
        400, fmt::format("a scroll sorts by at most {} keys and the id", kMostSqlServerKeys - 1)};
  if (draft.order.empty()) {
    out.order = "weight() DESC, id ASC";
    rows.scroll_names = {"weight()", "id"};
    return std::nullopt;
  }
  for (std::size_t k = 0; k < rows.order.size(); ++k)
    if (rows.order[k].as_text)
      return sql::wrong_at(draft.order[k].by.expression.front().at,
                           "a scroll cannot sort by a value inside JSON");
  if (rows.scroll_names.size() < rows.order.size()) rows.scroll_names.emplace_back("id");
  return std::nullopt;
}

/// Adds the client's keys up to the id, after which keys have no effect. True: there is one.
bool add_order(const SelectDraft& draft, ShardColumns& columns, RowsDraft& out) {
  for (const auto& key : draft.order) {
    const auto name = columns.name_of(key.by);
    append_key(out.order, name, key.descending);
    if (draft.options.scroll || draft.offers_scroll)  // as the shards write it in their tokens
      out.rows.scroll_names.push_back(is_plain_key(key.by.expression) ? key.by.canonical
                                                                      : lower(name));
    out.rows.order.push_back(draft.row_key(columns, key));
    if (columns.meant(key.by).canonical == "id") return true;
  }
  return false;
}

/// Bounds the rows by the `k` of KNN(). In another order than that of the distance each shard gives
/// all that it finds, so that the nearest of all shards are known.
void plan_nearest(const SelectDraft& draft, ShardColumns& columns, RowsDraft& out) {
  auto& rows = out.rows;
  const auto k = draft.clauses.nearest;
  const auto distance = columns.of("knn_dist()");
  const auto& first = rows.order.front();
  const bool nearest_first = first.column == distance && !first.descending;
  if (k > kMostNearest && !nearest_first) return;
  rows.nearest = k;
  rows.limit = std::min(rows.limit, k - std::min(rows.offset, k));
  if (rows.limit == 0 || nearest_first) return;
  rows.distance = distance;
  out.asked = k + (draft.clauses.knn_document ? 1 : 0);
}

}  // namespace

OrError<RowsDraft> plan_documents(SelectDraft& draft) {
  RowsDraft out;
  ShardColumns columns(draft.items, draft.names);
  auto& rows = out.rows;
  const auto window = draft.window(draft.clauses.window);
  rows.offset = window.offset;
  rows.limit = window.limit;
  out.asked = window.limit == 0 ? 0 : window.end();
  if (!draft.options.scroll && !draft.options.has_cutoff) rows.stops_at = window.end();

  const bool by_id = add_order(draft, columns, out);
  const bool knn = draft.clauses.knn;
  if (draft.order.empty())  // the server's order
    rows.order.push_back({columns.of(knn ? "knn_dist()" : "weight()"), !knn});
  // The server sorts what KNN() finds by the distance first, unless ORDER BY names the distance.
  if (knn && !out.order.empty() && !out.order.contains("knn_dist")) {
    rows.order.insert(rows.order.begin(), {columns.of("knn_dist()")});
    out.order.insert(0, "knn_dist() ASC, ");
  }
  rows.id = columns.of("id");
  if (draft.clauses.nearest != 0) plan_nearest(draft, columns, out);
  // Without ORDER BY the server may stop early; another key would prevent it.
  if (!by_id && !draft.order.empty() && rows.order.size() < kMostSqlServerKeys)
    append_key(out.order, "id", false);
  if (!by_id) rows.order.push_back({*rows.id, false, false});
  if (draft.form == RowForm::hits && draft.clauses.match) rows.score = columns.of("weight()");

  draft.add_outer(columns, rows);
  draft.add_json(columns, rows);
  if (draft.options.scroll)
    if (auto refusal = plan_scroll(draft, out)) return std::unexpected(std::move(*refusal));

  const bool is_kept = by_id && rows.order.size() <= kMostSqlServerKeys &&
                       std::ranges::none_of(rows.order, &RowKey::as_text);
  if (draft.offers_scroll && !is_kept) rows.scroll_names.clear();

  out.hidden = columns.settle(rows);
  return out;
}

}  // namespace karmad
