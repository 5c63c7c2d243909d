#include "agent/dialect/manticore_update/manticore_update.hpp"

#include <fmt/format.h>

#include "agent/dialect/manticore_json/judge.hpp"
#include "agent/dialect/manticore_update/bulk_plan.hpp"
#include "agent/dialect/manticore_update/judge_update.hpp"
#include "agent/dialect/manticore_update/update_answer.hpp"
#include "agent/dialect/manticore_update/update_plan.hpp"
#include "agent/dialect/manticore_update/update_request.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

bool is_bulk(std::string_view path) {
  return path == "/bulk" || path == "/json/bulk";
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

std::expected<std::unique_ptr<FanOut>, ClientError> ManticoreUpdate::fan_out(
    const ClientRequest& request, const Parsed& parsed, ShardLayout layout) const {
  if (is_bulk(request.path)) return plan_bulk(request, parsed, layout, settings_.max_json_depth);
  const auto verb = update_verb(request.path);
  if (!verb)
    return std::unexpected(
        ClientError{400, fmt::format("{} is not sent to several shards or mirrors", request.path)});
  return plan_update(*verb, request, parsed, layout);
}

AgentRequest ManticoreUpdate::write(const ClientRequest& request, const Parsed& parsed,
                                    PlanPart part, std::span<const std::string> tables,
                                    std::string& buffer) const {
  const bool renamed = !tables.empty() && (tables.front() != parsed.table || parsed.other_end != 0);
  return write_request(request, buffer, [&] {
    if (part.plan != nullptr) {
      part.plan->write(part.shard, tables, buffer);
    } else if (renamed && is_bulk(request.path)) {
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
