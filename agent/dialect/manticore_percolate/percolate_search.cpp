#include "agent/dialect/manticore_percolate/percolate_search.hpp"

#include "agent/dialect/manticore_json/judge.hpp"
#include "agent/dialect/manticore_percolate/merge_percolated.hpp"
#include "agent/dialect/manticore_percolate/percolate_body.hpp"
#include "agent/dialect/plan/plan.hpp"

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

}  // namespace karmad
