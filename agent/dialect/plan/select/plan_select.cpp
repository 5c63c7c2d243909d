#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/plan/select/select_draft.hpp"
#include "agent/dialect/plan/two_rounds.hpp"
#include "agent/dialect/request/document_ids.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

/// What the search server says of a column's number among keys, since it knows names only, and of
/// an operand that `find` finds misplaced. Behind a hidden alias a mirror would quote that.
void refuse_parts(sql::Span clause, const sql::Token* (*find)(sql::Span), std::string_view text,
                  SelectDraft& draft) {
  const auto is_whole = [](const sql::Token& token) {
    return token.text.find_first_not_of("0123456789") == token.text.npos;
  };
  if (clause.empty()) return;
  for (const auto part : split_list(clause)) {
    const auto* token = find(part);
    const bool is_alone = part.size() == 1 || (part.size() == 2 && token == nullptr);
    if (is_alone && is_whole(part.front())) token = &part.front();
    if (token == nullptr) continue;
    const auto* const what = token->kind == sql::Token::Kind::quoted ? "string"
                             : is_whole(*token)                      ? "integer"
                                                                     : "identifier";
    return draft.refuse(
        {draft.form == RowForm::hits ? 400 : 500,
         fmt::format("P01: syntax error, unexpected {} near '{}'", what,
                     text.substr(token->at, text.find_last_not_of(" ;") + 1 - token->at))});
  }
}

/// Refuses malformed keys of groups and orders, and a malformed HAVING.
void refuse_malformed(const sql::Select& clauses, SelectDraft& draft) {
  for (const auto clause : {clauses.group, clauses.having})
    refuse_parts(clause, sql::misplaced_operand, clauses.text, draft);
  for (const auto clause : {clauses.within, clauses.order})
    refuse_parts(clause, sql::misplaced_in_sort_key, clauses.text, draft);
  for (const auto& facet : clauses.facets)
    refuse_parts(facet.order, sql::misplaced_in_sort_key, clauses.text, draft);
  if (clauses.outer != nullptr) refuse_malformed(*clauses.outer, draft);
}

void read_draft(SelectDraft& draft) {
  const auto& clauses = draft.clauses;
  refuse_malformed(clauses, draft);
  draft.items = read_items(clauses.items, draft);
  draft.order = read_order(clauses.order, draft);
  draft.options = read_options(clauses.option_list, draft);
  draft.group = read_group_keys(clauses.group, draft);
  if (clauses.outer != nullptr) draft.outer = read_order(clauses.outer->order, draft);
  const auto offset = clauses.window.offset;
  if (offset != 0 && offset >= draft.max_matches())
    draft.refuse({500, fmt::format("offset out of bounds (offset={}, max_matches={})", offset,
                                   draft.max_matches())});
}

/// A scroll needs a total order that the shards sort by, as names and values of columns.
void plan_scroll(SelectDraft& draft, RowsDraft& out) {
  auto& rows = out.rows;
  if (rows.order.size() > kMostSqlServerKeys)
    return draft.refuse("a scroll sorts by at most {} keys and the id", kMostSqlServerKeys - 1);
  if (draft.order.empty()) {
    out.order = "weight() DESC, id ASC";
    rows.scroll_names = {"weight()", "id"};
    return;
  }
  for (std::size_t k = 0; k < rows.order.size(); ++k)
    if (rows.order[k].as_text)
      return draft.refuse_at(draft.order[k].by.expression.front().at,
                             "a scroll cannot sort by a value inside JSON");
  if (rows.scroll_names.size() < rows.order.size()) rows.scroll_names.emplace_back("id");
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

/// The rows of documents.
RowsDraft plan_documents(SelectDraft& draft) {
  RowsDraft out;
  ShardColumns columns(draft.items, draft.names);
  auto& rows = out.rows;
  const auto end = draft.set_page(draft.clauses.window, rows);
  out.asked = rows.limit == 0 ? 0 : end;
  if (!draft.options.scroll && !draft.options.has_cutoff) rows.stops_at = end;

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
  if (draft.options.scroll) plan_scroll(draft, out);

  const bool is_kept = by_id && rows.order.size() <= kMostSqlServerKeys &&
                       std::ranges::none_of(rows.order, &RowKey::as_text);
  if (draft.offers_scroll && !is_kept) rows.scroll_names.clear();

  out.hidden = columns.settle(rows);
  return out;
}

/// Appends ` word text`, or nothing if the text is empty.
void append_clause(std::string& out, std::string_view word, std::string_view text) {
  if (!text.empty()) out.append(" ").append(word).append(" ").append(text);
}

/// Begins a statement, with the place for the table's name.
void append_select(ShardSelect& select, std::string_view list, std::string_view where) {
  select.statements.append("SELECT ").append(list).append(" FROM ");
  const auto at = select.statements.size();
  select.names.push_back({.begin = at, .end = at, .names = TableNames::sql});
  append_clause(select.statements, "WHERE", where);
}

/// Writes the statements of a select for the shards.
void write_statements(const SelectDraft& draft, const RowsDraft& rows, std::string_view facets,
                      ShardSelect& select) {
  auto& text = select.statements;
  append_select(select, draft.list() + rows.hidden, draft.where);
  const auto per_group = draft.clauses.per_group;
  append_clause(text, per_group == 1 ? "GROUP BY" : fmt::format("GROUP {} BY", per_group),
                rows.group);
  append_clause(text, "WITHIN GROUP ORDER BY", rows.within);
  append_clause(text, "ORDER BY", rows.order);
  // Behind an offset without rows a server counts up to it.
  const auto begin = std::to_string(rows.asked == 0 ? rows.rows.offset : 0);
  append_clause(text, "LIMIT", begin + "," + std::to_string(rows.asked));
  const auto most = draft.max_matches();
  const auto kept = std::max(most, draft.most_asked);
  text += draft.options.write(kept > most || draft.options.max_matches ? kept : 0);
  text.append(facets).append("; SHOW META");
  for (const auto& pairs : draft.pairs) {
    select.plan.pairs.push_back(pairs.plan);
    text += "; ";
    append_select(select, pairs.list, draft.where);
    append_clause(text, "GROUP BY", pairs.group);
    append_clause(text, "LIMIT", fmt::format("0,{}", kMostPairs));
    text += draft.options.write(kMostPairs);
  }
}

void refuse_mistake(const sql::KnnByDocument& knn, SelectDraft& draft) {
  const auto refuse = [&](std::string_view what) { draft.refuse(sql::wrong_at(knn.at, what)); };
  if (knn.k.empty()) return refuse("KNN() by the id of a document needs k: KNN(attribute, 5, 7)");
  if (draft.clauses.nearest == 0)
    return draft.refuse_at(knn.at - static_cast<std::size_t>(knn.id.data() - knn.k.data()),
                           "k of KNN() must be an integer from 1 to {}", sql::kLargestRowCount);
  if (knn.attribute.empty()) return refuse("KNN() names no attribute");
  if (!DocumentId::of_number(knn.id))
    refuse("KNN() takes a vector, (0.1,0.2), or the id of a document");
}

/// The condition with the vector in place of the document, one more neighbour, since some servers
/// filter after the search, and without the document itself.
std::string by_vector(const sql::Select& clauses, std::string_view vector) {
  const auto& knn = *clauses.knn_document;
  const auto where = clauses.where;
  const auto from = [&](std::string_view part) {
    return static_cast<std::size_t>(part.data() - where.data());
  };
  const auto after = [&](std::string_view part) { return from(part) + part.size(); };
  return fmt::format("{}{}{}({}){} AND id<>{}{}", where.substr(0, from(knn.k)),
                     std::min(clauses.nearest + 1, sql::kLargestRowCount),
                     where.substr(after(knn.k), from(knn.id) - after(knn.k)), vector,
                     where.substr(after(knn.id), after(knn.end) - after(knn.id)), knn.id,
                     where.substr(after(knn.end)));
}

/// The order of the first page, where a later one does not repeat it. Holds what its keys refer to.
struct OrderBefore {
  std::string statement;
  std::optional<sql::Select> select;
};

/// Finds the page of a scroll, and its order if the statement has none.
void begin_scroll(SelectDraft& draft, const ScrollPlace& place, OrderBefore& before,
                  SelectPlan& plan) {
  const bool scrolls = !draft.is_grouped() && !draft.clauses.knn && draft.clauses.facets.empty();
  if (!draft.options.scroll) {
    draft.offers_scroll =
        scrolls && !draft.options.refuses_scroll && draft.clauses.outer == nullptr;
    return;
  }
  if (!scrolls) return draft.refuse("groups, facets and KNN() cannot scroll; page with LIMIT");
  if (draft.options.scroll->empty()) {
    plan.scroll.emplace(place, text_of(draft.clauses.order));
    return;
  }
  draft.keep(ScrollPages::behind(*draft.options.scroll, place), plan.scroll);
  if (draft.why || !draft.order.empty() || plan.scroll->sort().empty()) return;
  before.statement = fmt::format("SELECT id FROM t ORDER BY {}", plan.scroll->sort());
  draft.keep(sql::read_as<sql::Select>(before.statement, sql::StatementKind::select),
             before.select);
  if (before.select) draft.order = read_order(before.select->order, draft);
}

/// Lets the shards continue behind the page before.
void continue_scroll(SelectDraft& draft, RowsDraft& rows, const SelectPlan& plan) {
  if (!plan.scroll) return;
  refuse_too_many_scrolled(*plan.scroll, rows.asked, draft);
  rows.rows.offset += plan.scroll->skip();
  if (rows.asked != 0) rows.asked += plan.scroll->skip();
  const auto& keys = plan.scroll->keys();
  if (keys.empty()) return;
  const auto& order = rows.rows.order;
  bool same = keys.size() == order.size();
  for (std::size_t k = 0; same && k < keys.size(); ++k)
    same =
        keys[k].attribute == rows.rows.scroll_names[k] && keys[k].descending == order[k].descending;
  if (!same) draft.refuse("the scroll token has another order; start again with OPTION scroll = 1");
  auto& options = draft.options.others;
  options +=
      fmt::format("{}scroll='{}'", options.empty() ? "" : ",", server_token(keys, rows.order));
}

void plan_facets(SelectDraft& draft, SelectPlan& plan, std::string& text) {
  const auto& facets = draft.clauses.facets;
  if (facets.size() > sql::kMostFacets)
    return draft.refuse_at(facets[sql::kMostFacets].items.front().at, "more than {} facets",
                           sql::kMostFacets);
  for (const auto& clause : facets) {
    auto facet = plan_facet(draft, clause);
    text += facet.text;
    plan.facets.push_back(std::move(facet.rows));
  }
}

void plan_statements(SelectDraft& draft, const ScrollPlace& place, std::string_view vector,
                     ShardSelect& select) {
  auto& plan = select.plan;
  const auto& clauses = draft.clauses;
  OrderBefore before;
  read_draft(draft);
  begin_scroll(draft, place, before, plan);
  settle_aliases(draft);
  if (!clauses.having.empty() && !draft.is_grouped())
    draft.refuse_at(clauses.having.front().at,
                    "HAVING needs GROUP BY; conditions on documents are WHERE");
  if (clauses.knn_document) refuse_mistake(*clauses.knn_document, draft);
  if (draft.why) return;
  std::string where;  // owns that of the shards
  if (const auto& knn = clauses.knn_document) {
    select.document = {std::string(knn->attribute), std::string(knn->id)};
    where = by_vector(clauses, vector);
    draft.where = where;
  }
  auto rows = draft.is_grouped() ? plan_groups(draft) : plan_documents(draft);
  if (draft.why) return;
  continue_scroll(draft, rows, plan);
  draft.most_asked = rows.asked;
  std::string facets;
  plan_facets(draft, plan, facets);
  write_statements(draft, rows, facets, select);
  plan.rows = std::move(rows.rows);
  plan.offers_scroll = draft.offers_scroll && !plan.rows.scroll_names.empty();
  if (plan.offers_scroll) plan.scroll.emplace(place, text_of(clauses.order));
}

}  // namespace

OrError<ShardSelect> plan_select(const sql::Select& given, RowForm form, Collation collation,
                                 const ScrollPlace& place, std::string_view vector,
                                 PairsBy pairs_by) {
  if (given.unplannable) return std::unexpected(*given.unplannable);
  SelectDraft draft(given);
  draft.form = form;
  draft.pairs_by = pairs_by;
  ShardSelect select;
  select.plan.form = form;
  select.plan.collation = collation;
  plan_statements(draft, place, vector, select);
  if (draft.why) return std::unexpected(*std::move(draft.why));
  return select;
}

}  // namespace karmad
