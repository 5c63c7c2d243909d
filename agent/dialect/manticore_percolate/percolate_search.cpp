#include "agent/dialect/manticore_percolate/percolate_search.hpp"

#include "agent/dialect/manticore_json/judge.hpp"
#include "agent/dialect/manticore_percolate/merge_percolated.hpp"
#include "agent/dialect/manticore_percolate/percolate_body.hpp"

namespace karmad {
namespace {

class PercolatePlan final : public FanOut {
 public:
  PercolatePlan(std::string_view body, std::string_view table) : body_(body), table_(table) {}

  void write(std::size_t, std::span<const std::string>, std::string& body) const override {
    body += body_;
  }
  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes& notes,
                                std::string& out) const override {
    return merge_percolated(replies, notes, table_, out);
  }

 private:
  std::string_view body_;
  std::string_view table_;
};

}  // namespace

std::expected<Parsed, ClientError> PercolateSearch::parse(const ClientRequest& request) const {
  if (auto mistake = mistake_in_percolate_body(request.body, settings_.max_json_depth);
      !mistake.empty())
    return std::unexpected(ClientError{400, std::move(mistake)});
  return Parsed{.table = std::string(request.path_table), .read = true, .planned = true};
}

std::expected<std::unique_ptr<FanOut>, ClientError> PercolateSearch::fan_out(
    const ClientRequest& request, const Parsed& parsed, ShardLayout) const {
  return std::make_unique<PercolatePlan>(request.body, parsed.table);
}

AgentRequest PercolateSearch::write(const ClientRequest& request, const Parsed&, PlanPart,
                                    std::span<const std::string> tables,
                                    std::string& buffer) const {
  auto posted = request;
  posted.method = "POST";  // servers refuse a search by GET
  return write_request(
      posted, buffer, [] {}, tables.first(std::min<std::size_t>(tables.size(), 1)));
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
