#include "agent/dialect/manticore_percolate/stored_query.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/changes/shard_of_id.hpp"
#include "agent/dialect/manticore_json/judge.hpp"
#include "agent/dialect/manticore_percolate/percolate_body.hpp"
#include "agent/dialect/manticore_update/judge_update.hpp"
#include "agent/dialect/manticore_update/update_answer.hpp"
#include "agent/dialect/manticore_update/update_plan.hpp"

namespace karmad {
namespace {

/// The query goes as it is to one shard, or to the only one.
class StoredQueryPlan final : public ChangePlan {
 public:
  StoredQueryPlan(std::string_view body, std::string table, std::size_t shard)
      : body_(body), table_(std::move(table)), shard_(shard) {}

  bool asks(std::size_t shard) const override { return shard == shard_; }
  void write(std::size_t, std::span<const std::string>, std::string& body) const override {
    body += body_;
  }
  int merge_changes(std::span<const ChangeReply> replies, std::string& out) const override {
    return merge_update_replies(replies, table_, out);
  }

 private:
  std::string_view body_;
  std::string table_;
  std::size_t shard_;
};

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

std::expected<std::unique_ptr<FanOut>, ClientError> StoredQuery::fan_out(
    const ClientRequest& request, const Parsed& parsed, ShardLayout layout) const {
  const auto text = id_in_path(request);
  const auto id = DocumentId::of_number(text);
  if (!text.empty() && !id)
    return not_stored(fmt::format("the id in the path must be a number: '{}'", text));
  if (const auto why = why_homeless(id, parsed.table, layout))
    return not_stored(
        fmt::format("the request {}; the path names the id of a stored query: "
                    "/pq/{}/doc/1",
                    *why, parsed.table));
  return std::make_unique<StoredQueryPlan>(request.body, parsed.table,
                                           id ? id->shard(layout.shards) : 0);
}

AgentRequest StoredQuery::write(const ClientRequest& request, const Parsed&, PlanPart,
                                std::span<const std::string> tables, std::string& buffer) const {
  return write_request(
      request, buffer, [] {}, tables.first(std::min<std::size_t>(tables.size(), 1)));
}

Judgement StoredQuery::judge(const AgentReply& reply, bool) const {
  return judge_update(reply);
}

std::optional<std::string> StoredQuery::body_for_client(const Parsed& parsed,
                                                        std::string_view body) const {
  return with_table(body, parsed.table);
}

void StoredQuery::refuse(int, std::string_view reason, std::string& out) const {
  append_error_body(out, reason);
}

}  // namespace karmad
