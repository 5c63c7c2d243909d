#include "agent/dialect/kinds/percolate.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/fronts/bulk/update_target.hpp"
#include "agent/dialect/fronts/json/percolate_body.hpp"
#include "agent/dialect/merge/change_counts.hpp"
#include "agent/dialect/merge/search_merge.hpp"
#include "agent/dialect/plan/plan.hpp"
#include "agent/dialect/replies/change_replies.hpp"
#include "agent/dialect/replies/judge.hpp"
#include "agent/dialect/request/document_ids.hpp"

namespace karmad {

namespace {

/// Servers refuse a search by GET.
ClientRequest posted(ClientRequest request) {
  request.method = "POST";
  return request;
}

}  // namespace

std::expected<Parsed, ClientError> PercolateSearch::parse(const ClientRequest& request) const {
  if (auto mistake = mistake_in_percolate_body(request.body, settings_.max_json_depth);
      !mistake.empty())
    return std::unexpected(ClientError{400, std::move(mistake)});
  return Parsed{.table = std::string(request.path_table), .read = true, .planned = true};
}

std::expected<Plan, ClientError> PercolateSearch::plan(const ClientRequest& request,
                                                       const Parsed& parsed, ShardLayout) const {
  return Plan{.request = posted(request), .step = PercolateMerge{parsed.table}};
}

AgentRequest PercolateSearch::write(const ClientRequest& request, const Parsed&,
                                    std::span<const std::string> tables,
                                    std::string& buffer) const {
  return write_request(
      posted(request), buffer, [] {}, tables.first(std::min<std::size_t>(tables.size(), 1)));
}

Judgement PercolateSearch::judge(const AgentReply& reply, bool merged) const {
  auto judged = judge_reply(reply);
  if (judged.outcome != Outcome::answered || !merged) return judged;
  if (const auto wrong = why_not_percolated(reply.body); !wrong.empty())
    return judgement(Outcome::wrong_reply, "the answer is not that of a percolation: " + wrong);
  return judged;
}

void PercolateSearch::refuse(int, std::string_view reason, std::string& out) const {
  append_error_body(out, reason);
}

namespace {

/// What follows /doc/ in the path; empty: the request names no id.
std::string_view id_in_path(const ClientRequest& request) {
  constexpr std::string_view kJson = "/json";
  constexpr std::string_view kBefore = "/pq/";
  constexpr std::string_view kAfter = "/doc/";
  auto path = request.path;
  if (path.starts_with(kJson)) path.remove_prefix(kJson.size());
  const auto size = kBefore.size() + request.path_table_raw.size() + kAfter.size();
  return path.substr(std::min(size, path.size()));
}

std::unexpected<ClientError> not_stored(std::string reason) {
  return std::unexpected(ClientError{400, std::move(reason)});
}

}  // namespace

std::expected<Parsed, ClientError> StoredQuery::parse(const ClientRequest& request) const {
  if (auto mistake = mistake_in_percolate_body(request.body, settings_.max_json_depth);
      !mistake.empty())
    return std::unexpected(ClientError{400, std::move(mistake)});
  return Parsed{.table = std::string(request.path_table), .read = false};
}

std::expected<Plan, ClientError> StoredQuery::plan(const ClientRequest& request,
                                                   const Parsed& parsed, ShardLayout layout) const {
  const auto text = id_in_path(request);
  auto id = DocumentId::of_number(text);
  if (!text.empty() && !id)
    return not_stored(fmt::format("the id in the path must be a number: '{}'", text));
  if (const auto why = check_shard_known(parsed.table, layout))
    return not_stored(fmt::format("the request {}", *why));
  if (const auto why = check_document_id(id, layout, text))
    return not_stored(fmt::format("the request {}", *why));
  Plan plan{.request = request, .may_be_partial = false, .step = UpdateCounts{parsed.table}};
  if (needs_made_id(id, layout)) {
    const auto made = layout.make_id();
    id = DocumentId::of(made);
    std::string path(request.path.substr(0, request.path.size() - text.size()));
    path.append(path.ends_with('/') ? "" : "/").append(fmt::to_string(made));
    plan.request.path = plan.keep(std::move(path));
    const auto table = request.path_table_raw.data() - request.path.data();
    plan.request.path_table_raw =
        plan.request.path.substr(static_cast<std::size_t>(table), request.path_table_raw.size());
  }
  plan.ask_only(id ? id->shard(layout.shards) : 0, layout.shards);
  return plan;
}

AgentRequest StoredQuery::write(const ClientRequest& request, const Parsed&,
                                std::span<const std::string> tables, std::string& buffer) const {
  return write_request(
      request, buffer, [] {}, tables.first(std::min<std::size_t>(tables.size(), 1)));
}

Judgement StoredQuery::judge(const AgentReply& reply, bool) const {
  return judge_update(reply);
}

std::optional<std::string> StoredQuery::body_for_client(const Parsed& parsed, int,
                                                        std::string_view body) const {
  return with_table(body, parsed.table);
}

void StoredQuery::refuse(int, std::string_view reason, std::string& out) const {
  append_error_body(out, reason);
}

}  // namespace karmad
