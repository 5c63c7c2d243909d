#include "agent/dialect/manticore_percolate/stored_query.hpp"

#include <fmt/format.h>

#include "agent/dialect/manticore_json/judge.hpp"
#include "agent/dialect/manticore_percolate/percolate_body.hpp"
#include "agent/dialect/manticore_update/judge_update.hpp"
#include "agent/dialect/manticore_update/update_answer.hpp"

namespace karmad {

std::expected<Parsed, ClientError> StoredQuery::parse(const ClientRequest& request) const {
  if (auto mistake = mistake_in_percolate_body(request.body, settings_.max_json_depth);
      !mistake.empty())
    return std::unexpected(ClientError{400, std::move(mistake)});
  return Parsed{.table = std::string(request.path_table), .read = false};
}

std::expected<std::unique_ptr<FanOut>, ClientError> StoredQuery::fan_out(const ClientRequest&,
                                                                         const Parsed& parsed,
                                                                         ShardLayout layout) const {
  return std::unexpected(ClientError{
      400, fmt::format("table {} has {} shards and a query is stored in one of them; store it in "
                       "the table of one shard",
                       parsed.table, layout.shards)});
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
