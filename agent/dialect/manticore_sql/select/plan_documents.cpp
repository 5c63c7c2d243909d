#include <algorithm>

#include "agent/dialect/manticore_sql/select/select_draft.hpp"

namespace karmad {

namespace {

/// The server's order of a statement without ORDER BY.
void add_default_order(const SelectDraft& draft, ShardColumns& columns, RowPlan& rows) {
  if (draft.clauses.knn)
    rows.order.push_back({columns.of("knn_dist()", "knn_dist()"), false, false});
  else
    rows.order.push_back({columns.of("weight()", "weight()"), true, false});
}

/// Whether the server computes scores: only then `_score` is one.
bool shows_score(const SelectDraft& draft) {
  if (draft.order.empty()) return !draft.clauses.knn;
  return std::ranges::any_of(draft.items, uses_weight) ||
         std::ranges::any_of(draft.order, [](const auto& key) { return uses_weight(key.by); });
}

/// Adds the client's keys up to the id, after which keys have no effect. True: there is one.
bool add_order(const SelectDraft& draft, ShardColumns& columns, RowsDraft& out) {
  for (const auto& key : draft.order) {
    const auto name = columns.name_of(key.by);
    append_key(out.order, name, key.descending);
    out.rows.order.push_back({columns.of(key.by), key.descending, columns.holds_path(key.by)});
    const auto* const item = columns.item(key.by);
    if ((item != nullptr ? item->canonical : key.by.canonical) == "id") return true;
  }
  return false;
}

}  // namespace

std::expected<RowsDraft, ClientError> plan_documents(SelectDraft& draft) {
  RowsDraft out;
  ShardColumns columns(draft.items, draft.names);
  auto& rows = out.rows;
  const auto window = draft.window(draft.clauses.window);
  rows.offset = window.offset;
  rows.limit = window.limit;
  out.asked = window.limit == 0 ? 0 : window.end();

  const bool by_id = add_order(draft, columns, out);
  if (draft.order.empty()) add_default_order(draft, columns, rows);
  rows.id = columns.of("id", "id");
  if (!by_id) rows.order.push_back({*rows.id, false, false});
  // Without ORDER BY the server may stop early; another key would prevent it.
  if (!by_id && !draft.order.empty() && draft.order.size() < kMostSqlServerKeys)
    append_key(out.order, "id", false);
  if (draft.form == RowForm::hits && shows_score(draft))
    rows.score = columns.of("weight()", "weight()");

  draft.add_json(columns, rows);

  rows.hidden = columns.hidden();
  for (auto& key : rows.order) columns.settle(key.column);
  for (auto& json : rows.json) {
    columns.settle(json.column);
    columns.settle(json.attribute);
  }
  columns.settle(*rows.id);
  if (rows.score) columns.settle(*rows.score);
  out.hidden = columns.written();
  return out;
}

}  // namespace karmad
