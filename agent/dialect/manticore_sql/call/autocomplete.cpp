#include "agent/dialect/manticore_sql/call/autocomplete.hpp"

#include "agent/dialect/manticore_json/read_request.hpp"
#include "agent/dialect/plan/plan.hpp"

namespace karmad {
std::expected<Parsed, ClientError> ManticoreAutocomplete::parse(
    const ClientRequest& request) const {
  auto read = read_search_request(request.body, settings_.max_json_depth);
  if (!read) return std::unexpected(std::move(read.error()));
  // The search server reads no other name of it here; without it a mirror would count as broken.
  if (last_member(read->object_in(request.body), "table").empty())
    return std::unexpected(ClientError{400, "\"table\" is missing"});
  return parsed_of(*std::move(read));
}

/// The client's request goes to all shards; their completions become one list by rank.
std::expected<Plan, ClientError> ManticoreAutocomplete::plan(const ClientRequest& request,
                                                             const Parsed& parsed,
                                                             ShardLayout) const {
  return Plan{.request = request,
              .edits = name_edits(parsed, TableNames::json),
              .step = CallMerge{.rows = CallMerge::Rows::by_rank}};
}

AgentRequest ManticoreAutocomplete::write(const ClientRequest& request, const Parsed& parsed,
                                          std::span<const std::string> tables,
                                          std::string& buffer) const {
  return write_request(request, buffer, [&] {
    append_renamed(buffer, request.body, parsed, [&] { append_json_names(buffer, tables); });
  });
}

}  // namespace karmad
