#include "agent/dialect/manticore_percolate/stored_query.hpp"

#include <fmt/format.h>

#include "agent/dialect/manticore_json/judge.hpp"
#include "agent/dialect/manticore_percolate/percolate_body.hpp"
#include "agent/dialect/manticore_update/judge_update.hpp"
#include "agent/dialect/manticore_update/update_answer.hpp"
#include "agent/dialect/manticore_update/update_plan.hpp"

namespace karmad {
namespace {

/// The query goes to the mirrors as it is.
class StoredQueryPlan final : public ChangePlan {
 public:
  StoredQueryPlan(std::string_view body, std::string table)
      : body_(body), table_(std::move(table)) {}

  void write(std::size_t, std::span<const std::string>, std::string& body) const override {
    body += body_;
  }
  int merge_changes(std::span<const ChangeReply> replies, std::string& out) const override {
    return merge_update_replies(replies, table_, out);
  }

 private:
  std::string_view body_;
  std::string table_;
};

/// Whether the path ends with /doc/{id}.
bool names_id(std::string_view path) {
  return !path.ends_with("/doc") && !path.ends_with("/doc/");
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
  if (layout.shards > 1)
    return std::unexpected(ClientError{
        400, fmt::format("table {} has {} shards and a query is stored in one of them; store it in "
                         "the table of one shard",
                         parsed.table, layout.shards)});
  if (layout.copies && !names_id(request.path))
    return std::unexpected(ClientError{
        400, fmt::format("each mirror of table {} would make an id of its own (updates = all); "
                         "name one in the path: /pq/{}/doc/1",
                         parsed.table, parsed.table)});
  return std::make_unique<StoredQueryPlan>(request.body, parsed.table);
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
