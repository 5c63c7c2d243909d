#include "agent/dialect/manticore_elastic/manticore_elastic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/manticore_elastic/elastic_answer.hpp"
#include "agent/dialect/manticore_elastic/elastic_bulk.hpp"
#include "agent/dialect/manticore_elastic/elastic_bulk_plan.hpp"
#include "agent/dialect/manticore_elastic/elastic_request.hpp"
#include "agent/dialect/manticore_elastic/multi_search.hpp"
#include "agent/dialect/manticore_json/manticore_json.hpp"
#include "agent/dialect/manticore_json/search_plan.hpp"
#include "agent/dialect/manticore_update/manticore_update.hpp"
#include "agent/dialect/manticore_update/update_request.hpp"
#include "agent/dialect/merge/infinities.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {
namespace {

/// The translated request as the engine's own dialects see it; refers to `translated`.
ClientRequest own_request(const ElasticRequest& translated) {
  return {.method = "POST",
          .path = translated.path,
          .query = {},
          .content_type = "application/json",
          .body = translated.body};
}

/// The plan of the translated request; it owns that request.
class ElasticPlan final : public FanOut {
 public:
  ElasticPlan(ElasticRequest translated, std::string index, bool keeps_path)
      : translated_(std::move(translated)),
        request_(own_request(translated_)),
        index_(std::move(index)),
        keeps_path_(keeps_path) {}
  ElasticPlan(const ElasticPlan&) = delete;
  ElasticPlan& operator=(const ElasticPlan&) = delete;

  const ClientRequest& request() const { return request_; }
  bool is_search() const { return translated_.kind != ElasticKind::update; }
  /// Mirrors get the client's path instead of the translated one.
  bool keeps_path() const { return keeps_path_; }
  void plan(std::unique_ptr<FanOut> inner) { inner_ = std::move(inner); }

  bool asks(std::size_t shard) const override { return inner_->asks(shard); }
  bool prefers(std::size_t shard, std::string_view mirror) const override {
    return inner_->prefers(shard, mirror);
  }
  bool changes_data() const override { return inner_->changes_data(); }
  std::size_t merge_changes_size(std::span<const ChangeReply> replies) const override {
    return inner_->merge_changes_size(replies);
  }
  int merge_changes(std::span<const ChangeReply> replies, std::string& out) const override {
    return inner_->merge_changes(replies, out);
  }
  bool may_be_partial() const override { return inner_->may_be_partial(); }
  bool needs_reply() const override { return inner_->needs_reply(); }
  std::string_view content_type() const override { return inner_->content_type(); }
  int refusal_status(int status, std::string_view body) const override {
    return inner_->refusal_status(status, body);
  }
  unsigned merge_weight() const override { return inner_->merge_weight(); }

  void write(std::size_t shard, std::span<const std::string> tables,
             std::string& body) const override {
    inner_->write(shard, tables, body);
  }

  NextRound begin_next_round(std::span<const ShardReply> replies) override {
    return inner_->begin_next_round(replies);
  }

  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes& notes,
                                std::string& out) const override {
    if (!is_search()) return inner_->merge(replies, notes, out);
    std::string merged;
    if (auto bad = inner_->merge(replies, notes, merged)) return bad;
    ElasticShards shards{replies.size(), 0};
    for (std::size_t s = 0; s < replies.size(); ++s)
      if (!replies[s].body.empty() || !asks(s)) ++shards.successful;
    if (translated_.kind == ElasticKind::count)
      append_elastic_count(out, merged, shards);
    else
      append_elastic_hits(out, merged, index_, shards);
    return std::nullopt;
  }

 private:
  const ElasticRequest translated_;
  const ClientRequest request_;
  const std::string index_;
  const bool keeps_path_;
  std::unique_ptr<FanOut> inner_;
};

/// A search of one shard, which gets the client's own: its answer needs no merge.
class OneShardSearch final : public FanOut {
 public:
  OneShardSearch(std::string_view body, const Parsed& parsed) : body_(body), parsed_(parsed) {}

  void write(std::size_t, std::span<const std::string> tables, std::string& body) const override {
    append_renamed(body, body_, parsed_, [&] { append_tables(body, tables); });
  }

  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes&,
                                std::string& out) const override {
    const auto body = replies.front().body;
    if (const auto object = whole_object(body)) return out.append(*object), std::nullopt;
    const auto clean = without_infinities(body);
    const auto object = clean ? whole_object(*clean) : std::nullopt;
    if (!object) return BadReply{0, "it is malformed"};
    const auto begin = out.size();
    out += *object;
    end_infinities(out, begin);
    return std::nullopt;
  }

 private:
  std::string_view body_;
  const Parsed& parsed_;
};

/// A mirror gets a `_bulk` as `/bulk`; without a plan as a whole.
AgentRequest write_elastic_bulk(const ClientRequest& request, PlanPart part,
                                std::span<const std::string> tables, unsigned max_depth,
                                std::string& buffer) {
  buffer.clear();
  if (part.plan != nullptr) {
    part.plan->write(part.shard, tables, buffer);
  } else if (const auto bulk = translate_elastic_bulk(request, max_depth)) {
    append_renamed_bulk(buffer, bulk->body, max_depth,
                        tables.empty() ? std::string_view(bulk->table) : tables.front());
  }
  return {"POST", "/bulk", "application/x-ndjson", buffer};
}

bool is_search_path(std::string_view path) {
  return path.ends_with("/_search") || path.ends_with("/_count");
}

}  // namespace

ManticoreElastic::ManticoreElastic(DialectSettings settings)
    : max_depth_(settings.max_json_depth),
      searches_(std::make_unique<ManticoreJson>(settings)),
      updates_(std::make_unique<ManticoreUpdate>(settings)) {}

std::expected<std::vector<RequestPart>, ClientError> ManticoreElastic::parts(
    const ClientRequest& request) const {
  return read_multi_search(request);
}

void ManticoreElastic::join(std::string& out, std::span<const PartAnswer> answers,
                            Micros took) const {
  append_responses(out, answers, took);
}

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

std::expected<std::unique_ptr<FanOut>, ClientError> ManticoreElastic::fan_out(
    const ClientRequest& request, const Parsed& parsed, ShardLayout layout) const {
  if (is_elastic_bulk(request)) {
    auto bulk = translate_elastic_bulk(request, max_depth_);
    if (!bulk) return std::unexpected(std::move(bulk.error()));
    return plan_elastic_bulk(*std::move(bulk), parsed, layout, max_depth_);
  }
  auto translated = translate_elastic(request);
  if (!translated) return std::unexpected(std::move(translated.error()));
  // Shards without the document could make it, so the shard of the document must be known.
  const bool keeps_path =
      is_partial_replacement(request) && (layout.shards == 1 || layout.by == ShardBy::id);
  auto plan = std::make_unique<ElasticPlan>(*std::move(translated), parsed.table, keeps_path);
  if (plan->is_search() && layout.shards == 1) {
    plan->plan(std::make_unique<OneShardSearch>(plan->request().body, parsed));
    return plan;
  }
  auto planned = inner(plan->is_search()).fan_out(plan->request(), parsed, layout);
  if (!planned) return std::unexpected(std::move(planned.error()));
  plan->plan(*std::move(planned));
  return plan;
}

AgentRequest ManticoreElastic::write(const ClientRequest& request, const Parsed& parsed,
                                     PlanPart part, std::span<const std::string> tables,
                                     std::string& buffer) const {
  if (is_elastic_bulk(request))
    return write_elastic_bulk(request, part, tables, max_depth_, buffer);
  const auto* const plan = static_cast<const ElasticPlan*>(part.plan);
  if (is_partial_replacement(request) && (plan == nullptr || plan->keeps_path()))
    return write_request(
        request, buffer, [&] { append_partial_replacement(buffer, request); },
        tables.first(std::min<std::size_t>(tables.size(), 1)));
  if (plan != nullptr)
    return inner(plan->is_search()).write(plan->request(), parsed, part, tables, buffer);
  const auto translated = translate_elastic(request);
  if (!translated) return {request.method, request.path, request.content_type, {}};
  const bool search = translated->kind != ElasticKind::update;
  auto written = inner(search).write(own_request(*translated), parsed, part, tables, buffer);
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
