#include "agent/dialect/kinds/manticore_elastic.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/fronts/bulk/bulk_split.hpp"
#include "agent/dialect/fronts/bulk/elastic_bulk.hpp"
#include "agent/dialect/fronts/bulk/update_request.hpp"
#include "agent/dialect/fronts/elastic/elastic_request.hpp"
#include "agent/dialect/kinds/manticore_json.hpp"
#include "agent/dialect/kinds/manticore_update.hpp"
#include "agent/dialect/plan/plan.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

/// The translated request as the engine's own dialects see it.
ClientRequest own_request(std::string_view path, std::string_view body) {
  return {.method = "POST",
          .path = path,
          .query = {},
          .content_type = "application/json",
          .body = body};
}
ClientRequest own_request(const ElasticRequest& translated) {
  return own_request(translated.path, translated.body);
}

/// A mirror gets a `_bulk` as `/bulk`.
const ClientRequest kOwnBulk{.method = "POST",
                             .path = "/bulk",
                             .query = {},
                             .content_type = "application/x-ndjson",
                             .body = {}};

/// The plan of a search of one shard, which gets the client's own: its answer needs no merge.
Plan plan_for_one_shard(const ClientRequest& own, const Parsed& parsed) {
  return {.request = own, .edits = name_edits(parsed, TableNames::json), .step = OneShardObject{}};
}

/// Plans a `_bulk` like a `/bulk` for the shards of its table.
std::expected<Plan, ClientError> plan_elastic_bulk(ElasticBulk bulk, const Parsed& parsed,
                                                   ShardLayout layout, unsigned max_depth) {
  auto split = split_bulk(bulk.body, parsed.table, layout, max_depth);
  if (!split) return std::unexpected(at_clients_line(std::move(split.error()), bulk));
  Plan plan{.request = kOwnBulk};
  plan.request.body = plan.keep(std::move(bulk.body));
  plan.take_lines(*std::move(split), layout.shards);
  plan.step = ElasticBulkItems{std::move(bulk.table), std::move(bulk.actions)};
  return plan;
}

bool is_search_path(std::string_view path) {
  return path.ends_with("/_search") || path.ends_with("/_count");
}

}  // namespace

ManticoreElastic::ManticoreElastic(DialectSettings settings)
    : max_depth_(settings.max_json_depth),
      searches_(std::make_unique<ManticoreJson>(settings)),
      updates_(std::make_unique<ManticoreUpdate>(settings)) {}

std::expected<Parsed, ClientError> ManticoreElastic::parse(const ClientRequest& request) const {
  if (is_elastic_bulk(request)) {
    auto bulk = translate_elastic_bulk(request, max_depth_);
    if (!bulk) return std::unexpected(std::move(bulk.error()));
    return Parsed{.table = std::move(bulk->table), .read = false, .planned = true, .options = {}};
  }
  const auto translated = translate_elastic(request);
  if (!translated) return std::unexpected(translated.error());
  const bool search = translated->kind != ElasticKind::update;
  auto parsed = inner(search).parse(own_request(*translated));
  if (parsed && search) parsed->planned = true;  // the form of the answer differs
  return parsed;
}

std::expected<Plan, ClientError> ManticoreElastic::plan(const ClientRequest& request,
                                                        const Parsed& parsed,
                                                        ShardLayout layout) const {
  if (is_elastic_bulk(request)) {
    auto bulk = translate_elastic_bulk(request, max_depth_);
    if (!bulk) return std::unexpected(std::move(bulk.error()));
    return plan_elastic_bulk(*std::move(bulk), parsed, std::move(layout), max_depth_);
  }
  auto translated = translate_elastic(request);
  if (!translated) return std::unexpected(std::move(translated.error()));
  std::forward_list<std::string> texts;
  const auto own = own_request(translated->path, texts.emplace_front(std::move(translated->body)));
  const bool search = translated->kind != ElasticKind::update;
  // Shards without the document could make it, so the shard of the document must be known.
  const bool keeps_path =
      is_partial_replacement(request) && (layout.shards == 1 || layout.by == ShardBy::id);
  std::expected<Plan, ClientError> plan;
  if (search && layout.shards == 1)
    plan = plan_for_one_shard(own, parsed);
  else
    plan = inner(search).plan(own, parsed, std::move(layout));
  if (!plan) return plan;
  plan->texts.splice_after(plan->texts.before_begin(), texts);
  if (search)
    plan->elastic = {.only_count = translated->kind == ElasticKind::count, .index = parsed.table};
  if (keeps_path) {
    std::string body;
    append_partial_replacement(body, request);
    plan->request = request;
    plan->request.body = plan->keep(std::move(body));
    plan->edits = TextEdits();
  }
  return plan;
}

AgentRequest ManticoreElastic::write(const ClientRequest& request, const Parsed& parsed,
                                     std::span<const std::string> tables,
                                     std::string& buffer) const {
  if (is_elastic_bulk(request)) {
    buffer.clear();
    if (const auto bulk = translate_elastic_bulk(request, max_depth_))
      append_renamed_bulk(buffer, bulk->body, max_depth_,
                          tables.empty() ? std::string_view(bulk->table) : tables.front());
    return {kOwnBulk.method, kOwnBulk.path, kOwnBulk.content_type, buffer};
  }
  if (is_partial_replacement(request))
    return write_request(
        request, buffer, [&] { append_partial_replacement(buffer, request); },
        tables.first(std::min<std::size_t>(tables.size(), 1)));
  const auto translated = translate_elastic(request);
  if (!translated) return {request.method, request.path, request.content_type, {}};
  const bool search = translated->kind != ElasticKind::update;
  auto written = inner(search).write(own_request(*translated), parsed, tables, buffer);
  if (written.body.data() == translated->body.data()) {  // this body ends with the function
    buffer.assign(written.body);
    written.body = buffer;
  }
  return written;
}

Judgement ManticoreElastic::judge(const AgentReply& reply, bool merged) const {
  return inner(reply.request == nullptr || is_search_path(reply.request->path))
      .judge(reply, merged);
}

std::optional<std::string> ManticoreElastic::body_for_client(const Parsed& parsed, int status,
                                                             std::string_view body) const {
  if (!parsed.read) return updates_->body_for_client(parsed, status, body);
  const auto error = whole_object(body);
  if (!error || last_member(*error, "error").empty() || !last_member(*error, "status").empty())
    return std::nullopt;
  const auto end = body.rfind('}');
  return fmt::format(R"({},"status":{}{})", body.substr(0, end), status, body.substr(end));
}

void ManticoreElastic::refuse(int status, std::string_view reason, std::string& out) const {
  JsonLine line(out);
  line.add(R"({"error":)");
  line.add_quoted(reason);
  line.add(R"(,"status":)");
  line.add_number(status);
  line.add('}');
}

}  // namespace karmad
