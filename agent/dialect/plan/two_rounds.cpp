#include "agent/dialect/plan/two_rounds.hpp"

#include <fmt/format.h>

#include "agent/dialect/merge/merge_select.hpp"
#include "agent/dialect/replies/judge.hpp"
#include "agent/dialect/request/document_ids.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// Every shard gets the vector: longer ones than any model makes are refused.
constexpr std::size_t kLongestVector = 1 << 20;

bool starts_number(std::string_view value) {
  return value.front() == '-' || (value.front() >= '0' && value.front() <= '9');
}

/// The numbers of a vector, with commas between them, as they stand in the JSON `value`: an array,
/// or a string of numbers. Empty for a document without a vector. Nothing: it is no vector, or
/// longer than kLongestVector bytes.
std::optional<std::string> vector_numbers(std::string_view value) {
  if (value == "null") return std::string();
  if (value.size() > kLongestVector) return std::nullopt;
  std::string array(value);
  if (is_string(value)) array = fmt::format("[{}]", json_unescaped(without_quotes(value)));
  std::string numbers;
  JsonCursor json(array);
  JsonElements elements(json);
  while (elements.next()) {
    skip_space(json);
    const auto number = take_value(json);
    if (!number || !starts_number(*number)) return std::nullopt;
    if (!numbers.empty()) numbers += ',';
    numbers += *number;
  }
  skip_space(json);
  if (!elements.complete() || !json.done()) return std::nullopt;
  return numbers;
}

/// A scroll token continues at every shard behind the page: the rows of a missing one would be
/// lost.
void ask_for_hits(Plan& plan, PlannedSearch&& search) {
  plan.edits = std::move(search.edits);
  plan.may_be_partial = !search.merge.scroll;
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

/// The numbers of the vector in the replies; empty: there is none.
template <class Step>
std::expected<std::string, std::variant<BadReply, ClientError>> find_vector(
    const Step& step, std::string_view attribute, std::span<const ShardReply> replies) {
  std::string found;
  for (std::size_t s = 0; s < replies.size(); ++s) {
    if (replies[s].body.empty()) continue;
    const auto value = vector_in(step, replies[s].body);
    if (!value) return std::unexpected(BadReply{s, value.error()});
    if (!*value) continue;
    auto vector = vector_numbers(**value);
    // The client may have named another attribute: no mirror is blamed.
    if (!vector)
      return std::unexpected(ClientError{
          400, fmt::format("the attribute {} of the document {} is missing or no vector: a list of "
                           "numbers of at most {} bytes",
                           attribute, step.document.id, kLongestVector)});
    if (found.empty()) found = *std::move(vector);
  }
  return found;
}

template <class Step>
NextRound search_near(Plan& plan, const Step& step, std::string_view attribute,
                      std::span<const ShardReply> replies) {
  const auto vector = find_vector(step, attribute, replies);
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
  if (!select.document) {
    if (!select.plan.pairs.empty()) plan.given = &given;
    return ask_for_rows(plan, std::move(select));
  }
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

bool begin_round_after(Plan& plan, std::string_view error) {
  const auto* const given = std::exchange(plan.given, nullptr);
  if (given == nullptr || !contains_folded(error, "in multiple group-by")) return false;
  const auto& before = std::get<SelectPlan>(std::get<ReadStep>(plan.step));
  auto select = plan_select(*given, before.form, before.collation, {}, {}, PairsBy::texts);
  if (!select) return false;
  ask_for_rows(plan, *std::move(select));
  return true;
}

}  // namespace karmad
