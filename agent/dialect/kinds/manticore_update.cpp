#include "agent/dialect/kinds/manticore_update.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/fronts/bulk/bulk_split.hpp"
#include "agent/dialect/fronts/bulk/update_request.hpp"
#include "agent/dialect/fronts/bulk/update_target.hpp"
#include "agent/dialect/merge/change_counts.hpp"
#include "agent/dialect/plan/plan.hpp"
#include "agent/dialect/replies/judge.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

bool is_bulk(std::string_view path) {
  return path == "/bulk" || path == "/json/bulk";
}

/// The table's name in its places, and the id where karmad has made one.
TextEdits update_edits(std::string_view body, const Parsed& parsed, const UpdateTarget& target) {
  auto edits = name_edits(parsed, TableNames::json_first);
  if (target.made_id == 0) return edits;
  const auto begin = static_cast<std::size_t>(target.raw_id.data() - body.data());
  edits.push_back({.begin = begin,
                   .end = begin + target.raw_id.size(),
                   .text = made_id_text(target.made_id, !target.raw_id.empty())});
  std::ranges::stable_sort(edits, {}, &TextEdit::begin);
  return edits;
}

std::unexpected<ClientError> update_refused(std::string reason) {
  return std::unexpected(ClientError{400, fmt::format("the request {}", reason)});
}

/// Plans one update for the shards of its table: of one document by `shard_by = id`, else all of
/// them. Refuses (400) an insert or replace as place_document() does.
std::expected<Plan, ClientError> plan_update(UpdateVerb verb, const ClientRequest& request,
                                             const Parsed& parsed, ShardLayout layout) {
  auto target = read_target(request.body);
  if (!target) return update_refused(std::move(target.error()));
  if (makes_document(verb))
    if (auto why = place_document(*target, parsed.table, layout))
      return update_refused(*std::move(why));
  Plan plan{.request = request,
            .edits = update_edits(request.body, parsed, *target),
            .may_be_partial = false,
            .step = UpdateCounts{parsed.table}};
  if (layout.by == ShardBy::id && target->id && (makes_document(verb) || !target->by_query))
    plan.ask_only(target->id->shard(layout.shards), layout.shards);
  return plan;
}

/// Plans a bulk for the shards of its table: each line goes to the shard of its document, a line
/// about no single document to all. Refuses (400) as split_bulk() does.
std::expected<Plan, ClientError> plan_bulk(const ClientRequest& request, const Parsed& parsed,
                                           ShardLayout layout, unsigned max_depth) {
  auto split = split_bulk(request.body, parsed.table, layout, max_depth);
  if (!split) return std::unexpected(std::move(split.error()));
  Plan plan{.request = request, .step = BulkItems{parsed.table}};
  plan.take_lines(*std::move(split), layout.shards);
  return plan;
}

}  // namespace

std::expected<Parsed, ClientError> ManticoreUpdate::parse(const ClientRequest& request) const {
  const auto read = is_bulk(request.path) ? read_bulk : read_update;
  auto named = read(request.body, settings_.max_json_depth);
  if (!named) return std::unexpected(std::move(named.error()));
  return Parsed{.table = std::move(named->table),
                .table_begin = named->places.first.begin,
                .table_end = named->places.first.end,
                .other_begin = named->places.second.begin,
                .other_end = named->places.second.end,
                .read = false,
                .options = {}};
}

std::expected<Plan, ClientError> ManticoreUpdate::plan(const ClientRequest& request,
                                                       const Parsed& parsed,
                                                       ShardLayout layout) const {
  if (is_bulk(request.path)) return plan_bulk(request, parsed, layout, settings_.max_json_depth);
  const auto verb = update_verb(request.path);
  if (!verb)
    return std::unexpected(
        ClientError{400, fmt::format("{} is not sent to several shards or mirrors", request.path)});
  return plan_update(*verb, request, parsed, layout);
}

AgentRequest ManticoreUpdate::write(const ClientRequest& request, const Parsed& parsed,
                                    std::span<const std::string> tables,
                                    std::string& buffer) const {
  const bool renamed = !tables.empty() && (tables.front() != parsed.table || parsed.other_end != 0);
  return write_request(request, buffer, [&] {
    if (renamed && is_bulk(request.path)) {
      append_renamed_bulk(buffer, request.body, settings_.max_json_depth, tables.front());
    } else if (renamed) {
      append_renamed(buffer, request.body, parsed,
                     [&] { JsonLine(buffer).add_quoted(tables.front()); });
    }
  });
}

Judgement ManticoreUpdate::judge(const AgentReply& reply, bool) const {
  return judge_update(reply);
}

std::optional<std::string> ManticoreUpdate::body_for_client(const Parsed& parsed, int,
                                                            std::string_view body) const {
  return with_table(body, parsed.table);
}

void ManticoreUpdate::refuse(int, std::string_view reason, std::string& out) const {
  append_error_body(out, reason);
}

}  // namespace karmad
