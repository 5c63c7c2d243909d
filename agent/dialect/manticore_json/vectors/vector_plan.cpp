#include "agent/dialect/manticore_json/vectors/vector_plan.hpp"

#include "agent/dialect/manticore_json/parse_part.hpp"

namespace karmad {
namespace {

bool is_fused(std::string_view body, const SearchRequest& request) {
  const auto options = request[Property::options].in(body);
  if (options.empty()) return false;
  rapidjson::Document read;
  parse_part(options, read);
  return !text_of(member_of(&read, "fusion_method")).empty();
}

std::optional<ClientError> mistake_in_knn(const rapidjson::Value& knn) {
  if (!knn.IsObject()) return ClientError{400, "\"knn\" must be an object or an array of objects"};
  if (knn.HasMember("doc_id"))
    return ClientError{400,
                       "\"knn\" by \"doc_id\" cannot be merged: only one shard of the table has "
                       "the document; send its vector as \"query_vector\""};
  const auto* const k = member_of(&knn, "k");
  if (k != nullptr && (!k->IsUint() || k->GetUint() == 0))
    return ClientError{400, "\"k\" of \"knn\" must be a positive integer"};
  return std::nullopt;
}

}  // namespace

std::expected<VectorPlan, ClientError> plan_vectors(std::string_view body,
                                                    const SearchRequest& request) {
  VectorPlan plan;
  if (request[Property::hybrid].found()) plan.order = VectorOrder::fused;
  const auto text = request[Property::knn].in(body);
  if (text.empty() || text == "null") return plan;
  rapidjson::Document knn;
  parse_part(text, knn);
  if (knn.IsArray()) {
    for (const auto& each : knn.GetArray())
      if (auto mistake = mistake_in_knn(each)) return std::unexpected(std::move(*mistake));
  } else if (auto mistake = mistake_in_knn(knn)) {
    return std::unexpected(std::move(*mistake));
  }
  // Servers refuse several vectors that are not fused.
  if (knn.IsArray() || is_fused(body, request)) {
    plan.order = VectorOrder::fused;
    return plan;
  }
  plan.order = VectorOrder::distance;
  if (const auto* const k = member_of(&knn, "k")) plan.nearest = k->GetUint();
  return plan;
}

}  // namespace karmad
