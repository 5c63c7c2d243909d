#include "agent/dialect/plan/two_rounds.hpp"

#include <fmt/format.h>

#include "agent/dialect/replies/judge.hpp"
#include "agent/dialect/replies/raw_replies.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/dialect/request/document_ids.hpp"
#include "agent/dialect/request/parsed.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

/// Every shard gets the vector: longer ones than any model makes are refused.
constexpr std::size_t kLongestVector = 1 << 20;

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
  const bool whole = visit_elements(json, [&](std::string_view number) {
    numbers.append(numbers.empty() ? "" : ",").append(number);
    return is_json_number(number);
  });
  skip_space(json);
  return whole && json.done() ? std::optional(std::move(numbers)) : std::nullopt;
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
  plan.may_be_partial = !select.plan.scroll || select.plan.offers_scroll;
  plan.merge_weight = merge_weight(select.plan);
  plan.step = std::move(select.plan);
}

/// Appends the request for the vector, without the table's name; returns the place of that.
std::size_t append_look_up(std::string& to, const NearDocument& document, const SearchToPlan&) {
  to += R"({"table":)";
  const auto table = to.size();
  JsonLine(to).add(R"(,"query":{"equals":{"id":)", document.id, R"(}},"_source":[)",
                   Quoted(lower(document.attribute)), R"(],"limit":1})");
  return table;
}

std::size_t append_look_up(std::string& to, const NearDocument& document, const sql::Select*) {
  to.append("SELECT ").append(document.attribute).append(" FROM ");
  const auto table = to.size();
  to.append(" WHERE id=").append(document.id).append(" LIMIT 1");
  return table;
}

/// The JSON value of the attribute in a reply to the first round, empty if the document has no such
/// attribute; nothing: there is no such document. The error says why the reply cannot be read.
using FoundVector = std::expected<std::optional<std::string_view>, std::string>;

FoundVector vector_in(std::string_view reply, std::string_view attribute, const SearchToPlan&) {
  auto head = read_reply(reply, ReadTail::no);
  if (!head) return std::unexpected(std::move(head.error()));
  JsonElements hits(head->hits);
  if (!hits.next()) {
    if (!hits.complete()) return std::unexpected("its hits are malformed");
    return std::nullopt;
  }
  std::string_view source;
  const bool whole = visit_members(head->hits, [&](std::string_view key, std::string_view value) {
    if (json_says(key, "_source")) source = value;
  });
  if (!whole || !is_object(source)) return std::unexpected("a hit is malformed");
  PassedMembers members(source);
  while (const auto member = members.next())
    if (same_attribute(json_unescaped(member->name), attribute)) return member->value;
  return std::string_view();
}

FoundVector vector_in(std::string_view reply, std::string_view, const sql::Select*) {
  RawReplies replies;
  const ShardReply only{reply};
  if (auto bad = replies.read({&only, 1}, 1, LastSet::whole))
    return std::unexpected(std::move(bad->reason));
  const auto& set = replies.set(0, 0);
  if (set.columns == 0) return std::nullopt;
  std::vector<std::string_view> cells(set.columns);
  const auto step = RawRows(set.rows).next(replies.columns_of(set), cells.data());
  if (step == RawRows::Step::malformed) return std::unexpected("a row is malformed");
  return step == RawRows::Step::row ? std::optional(cells.front()) : std::nullopt;
}

/// Has the plan ask for the vector of the document.
void ask_for_vector(Plan& plan, VectorRound round, TableNames names, const ShardLayout& layout) {
  std::string text;
  const auto table = std::visit(
      [&](const auto& asked) { return append_look_up(text, round.document, asked); }, round.asked);
  plan.request.body = plan.keep(std::move(text));
  plan.edits = TextEdits{{.begin = table, .end = table, .names = names}};
  const auto id = DocumentId::of_number(round.document.id);
  plan.vector_round = std::move(round);
  if (layout.by != ShardBy::id || layout.shards == 1 || !id) return;
  plan.ask_only(id->shard(layout.shards), layout.shards);
  plan.needs_reply = false;
}

/// Plans the second round; refuses what is too long with the vector.
MaybeError search_by(Plan& plan, const SearchToPlan& asked, std::string_view vector) {
  auto search = plan_search(asked.body, asked.request, asked.shards, *asked.settings, vector);
  if (!search) return std::move(search.error());
  plan.request.body = asked.body;
  ask_for_hits(plan, *std::move(search));
  return std::nullopt;
}

MaybeError search_by(Plan& plan, const sql::Select* asked, std::string_view vector) {
  const auto& before = std::get<SelectPlan>(std::get<ReadStep>(plan.step));
  auto select = plan_select(*asked, before.form, before.collation, {}, vector);
  if (!select) return std::move(select.error());
  ask_for_rows(plan, *std::move(select));
  return std::nullopt;
}

/// The numbers of the vector in the replies; empty: there is none.
std::expected<std::string, BadReply> find_vector(const VectorRound& round,
                                                 std::span<const ShardReply> replies) {
  const auto& [attribute, id] = round.document;
  std::string found;
  for (std::size_t s = 0; s < replies.size(); ++s) {
    if (replies[s].body.empty()) continue;
    const auto value = std::visit(
        [&](const auto& asked) {
          return vector_in(replies[s].body, round.document.attribute, asked);
        },
        round.asked);
    if (!value) return std::unexpected(BadReply{s, value.error()});
    if (!*value) continue;
    auto vector = vector_numbers(**value);
    // The client may have named another attribute: no mirror is blamed.
    if (!vector)
      return std::unexpected(
          BadReply{s,
                   fmt::format("the attribute {} of the document {} is missing or no vector: a "
                               "list of numbers of at most {} bytes",
                               attribute, id, kLongestVector),
                   400});
    if (found.empty()) found = *std::move(vector);
  }
  return found;
}

}  // namespace

void take_search(Plan& plan, PlannedSearch&& search, SearchRequest&& request,
                 const ShardLayout& layout, const DialectSettings& settings) {
  auto document = std::move(search.document);
  const auto body = plan.request.body;
  ask_for_hits(plan, std::move(search));
  if (document)
    ask_for_vector(
        plan,
        {*std::move(document), SearchToPlan{body, std::move(request), layout.shards, &settings}},
        TableNames::json, layout);
}

void take_select(Plan& plan, ShardSelect&& select, const sql::Select& given,
                 const ShardLayout& layout) {
  auto document = std::move(select.document);
  if (!document && !select.plan.pairs.empty()) plan.given = &given;
  ask_for_rows(plan, std::move(select));
  if (document) ask_for_vector(plan, {*std::move(document), &given}, TableNames::sql, layout);
}

std::expected<bool, BadReply> begin_next_round(Plan& plan, std::span<const ShardReply> replies) {
  if (!plan.vector_round) return false;
  const auto vector = find_vector(*plan.vector_round, replies);
  if (!vector) return std::unexpected(vector.error());
  if (vector->empty()) return false;
  auto refusal = std::visit([&](const auto& asked) { return search_by(plan, asked, *vector); },
                            plan.vector_round->asked);
  if (refusal) return std::unexpected(BadReply{0, std::move(refusal->reason), refusal->status});
  plan.vector_round.reset();
  plan.asked.clear();
  plan.needs_reply = true;
  return true;
}

bool begin_round_after(Plan& plan, std::string_view error) {
  if (plan.elastic) {
    auto equal = with_equality(plan.request.body, error);
    if (!equal) return false;
    plan.request.body = plan.keep(*std::move(equal));
    return true;
  }
  const auto* const given = std::exchange(plan.given, nullptr);
  if (given == nullptr || !contains_folded(error, "in multiple group-by")) return false;
  const auto& before = std::get<SelectPlan>(std::get<ReadStep>(plan.step));
  auto select = plan_select(*given, before.form, before.collation, {}, {}, PairsBy::texts);
  if (!select) return false;
  ask_for_rows(plan, *std::move(select));
  return true;
}

}  // namespace karmad
