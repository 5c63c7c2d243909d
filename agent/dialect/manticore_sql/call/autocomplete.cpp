#include "agent/dialect/manticore_sql/call/autocomplete.hpp"

#include "agent/dialect/manticore_json/read_request.hpp"
#include "agent/dialect/manticore_json/search_plan.hpp"
#include "agent/dialect/manticore_sql/call/merge_call.hpp"

namespace karmad {
namespace {

/// Sends the client's request to all shards; their completions become one list by rank.
class CompletionPlan final : public FanOut {
 public:
  CompletionPlan(std::string_view body, const Parsed& parsed) : body_(body), parsed_(parsed) {}

  void write(std::size_t, std::span<const std::string> tables, std::string& body) const override {
    append_renamed(body, body_, parsed_, [&] { append_tables(body, tables); });
  }
  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes& notes,
                                std::string& out) const override {
    return merge_call({.rows = CallMerge::Rows::by_rank}, replies, notes, RowForm::raw, out);
  }

 private:
  std::string_view body_;
  const Parsed& parsed_;
};

}  // namespace

std::expected<Parsed, ClientError> ManticoreAutocomplete::parse(
    const ClientRequest& request) const {
  auto read = read_search_request(request.body, settings_.max_json_depth);
  if (!read) return std::unexpected(std::move(read.error()));
  // The search server reads no other name of it here; without it a mirror would count as broken.
  if (last_member(read->object_in(request.body), "table").empty())
    return std::unexpected(ClientError{400, "\"table\" is missing"});
  return parsed_of(*std::move(read));
}

std::expected<std::unique_ptr<FanOut>, ClientError> ManticoreAutocomplete::fan_out(
    const ClientRequest& request, const Parsed& parsed, ShardLayout) const {
  return std::make_unique<CompletionPlan>(request.body, parsed);
}

AgentRequest ManticoreAutocomplete::write(const ClientRequest& request, const Parsed& parsed,
                                          PlanPart, std::span<const std::string> tables,
                                          std::string& buffer) const {
  return write_request(request, buffer, [&] {
    append_renamed(buffer, request.body, parsed, [&] { append_tables(buffer, tables); });
  });
}

}  // namespace karmad
