#include "agent/dialect/plan/two_rounds.hpp"

#include "agent/dialect/changes/shard_of_id.hpp"
#include "agent/dialect/manticore_json/vectors/nearest_to_document.hpp"
#include "agent/dialect/manticore_sql/rows/merge_select.hpp"

namespace karmad {
namespace {

/// A scroll token continues at every shard behind the page: the rows of a missing one would be
/// lost.
void ask_for_hits(Plan& plan, PlannedSearch&& search) {
  plan.edits = std::move(search.edits);
  plan.may_be_partial = search.merge.scroll == nullptr;
  plan.merge_weight = merge_weight(search.merge);
  plan.step = std::move(search.merge);
}

void ask_for_rows(Plan& plan, ShardSelect&& select) {
  plan.request.body = plan.keep(std::move(select.statements));
  plan.edits = std::move(select.names);
  plan.may_be_partial = !select.plan.scroll;
  plan.merge_weight = merge_weight(select.plan);
  plan.step = std::move(select.plan);
}

/// Has the plan ask for the vector of the document.
template <class Document>
void ask_for_vector(Plan& plan, const Document& document, TableNames names,
                    const ShardLayout& layout) {
  std::string text;
  const auto table = append_look_up(text, document);
  plan.request.body = plan.keep(std::move(text));
  plan.edits = TextEdits{{.begin = table, .end = table, .names = names}};
  const auto id = DocumentId::of_number(document.id);
  if (layout.by != ShardBy::id || layout.shards == 1 || !id) return;
  plan.ask_only(id->shard(layout.shards), layout.shards);
  plan.needs_reply = false;
}

/// Plans the second round; refuses what is too long with the vector.
std::optional<ClientError> search_by(Plan& plan, const SearchNearDocument& step,
                                     std::string_view vector) {
  auto search = plan_search(step.body, step.request, step.shards, *step.settings, vector);
  if (!search) return std::move(search.error());
  plan.request.body = step.body;
  ask_for_hits(plan, *std::move(search));
  return std::nullopt;
}
std::optional<ClientError> search_by(Plan& plan, const SelectNearDocument& step,
                                     std::string_view vector) {
  auto select = plan_select(*step.given, step.select.form, step.select.collation, {}, vector);
  if (!select) return std::move(select.error());
  ask_for_rows(plan, *std::move(select));
  return std::nullopt;
}

template <class Step>
NextRound search_near(Plan& plan, const Step& step, std::string_view attribute,
                      std::span<const ShardReply> replies) {
  const auto vector = find_vector(replies, attribute, step.document.id,
                                  [&](std::string_view reply) { return vector_in(step, reply); });
  if (!vector) return std::unexpected(vector.error());
  if (vector->empty()) return false;
  if (auto refusal = search_by(plan, step, *vector)) return std::unexpected(*std::move(refusal));
  plan.asked.clear();
  plan.needs_reply = true;
  return true;
}

}  // namespace

void take_search(Plan& plan, PlannedSearch&& search, SearchRequest&& request,
                 const ShardLayout& layout, const DialectSettings& settings) {
  if (!search.document) return ask_for_hits(plan, std::move(search));
  plan.merge_weight = merge_weight(search.merge);
  SearchNearDocument step{.document = *std::move(search.document),
                          .body = plan.request.body,
                          .request = std::move(request),
                          .shards = layout.shards,
                          .settings = &settings,
                          .search = std::move(search.merge)};
  ask_for_vector(plan, step.document, TableNames::json, layout);
  plan.step = std::move(step);
}

void take_select(Plan& plan, ShardSelect&& select, const SqlSelect& given,
                 const ShardLayout& layout) {
  if (!select.document) return ask_for_rows(plan, std::move(select));
  plan.merge_weight = merge_weight(select.plan);
  ask_for_vector(plan, *select.document, TableNames::sql, layout);
  plan.step = SelectNearDocument{*std::move(select.document), &given, std::move(select.plan)};
}

NextRound begin_next_round(Plan& plan, std::span<const ShardReply> replies) {
  const auto* const read = std::get_if<ReadStep>(&plan.step);
  if (read == nullptr) return false;
  if (const auto* const search = std::get_if<SearchNearDocument>(read))
    return search_near(plan, *search, search->document.field, replies);
  if (const auto* const select = std::get_if<SelectNearDocument>(read))
    return search_near(plan, *select, select->document.attribute, replies);
  return false;
}

}  // namespace karmad
