#include "agent/dialect/plan/search/search_parts.hpp"

#include <fmt/format.h>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/json_tree.hpp"

namespace karmad {

namespace {

bool is_fused(std::string_view body, const SearchRequest& request) {
  const auto options = request[Property::options].in(body);
  if (options.empty()) return false;
  rapidjson::Document read;
  parse_part(options, read);
  return !text_of(member_of(&read, "fusion_method")).empty();
}

void refuse_mistaken_knn(const rapidjson::Value& knn, FirstRefusal& refusal) {
  if (!knn.IsObject()) return refusal.refuse("\"knn\" must be an object or an array of objects");
  const auto* const k = member_of(&knn, "k");
  if (k != nullptr && (!k->IsUint() || k->GetUint() == 0))
    return refusal.refuse("\"k\" of \"knn\" must be a positive integer");
  const auto* const vector = member_of(&knn, "query_vector");
  if (vector != nullptr && vector->IsArray())
    for (const auto& number : vector->GetArray())
      if (number.IsNumber() && exceeds_float(number.GetDouble()))
        return refusal.refuse(
            "\"query_vector\" of \"knn\" has the number {}; its numbers are floats of 32 bits",
            number.GetDouble());
}

NearDocument document_of(const rapidjson::Value& knn, FirstRefusal& refusal) {
  const auto& id = knn["doc_id"];
  if (!id.IsUint64()) refusal.refuse("\"doc_id\" of \"knn\" must be a positive integer");
  const auto field = text_of(member_of(&knn, "field"));
  if (field.empty()) refusal.refuse("\"field\" of \"knn\" is missing");
  const auto* const filter = member_of(&knn, "filter");
  if (filter != nullptr && !filter->IsObject())
    refusal.refuse("\"filter\" of \"knn\" must be an object");
  return {std::string(field), id.IsUint64() ? fmt::to_string(id.GetUint64()) : std::string()};
}

/// `query` and not the document.
std::string without_document(std::string_view query, std::string_view id) {
  const auto wanted = is_object(query) ? fmt::format(R"("must":[{}],)", query) : std::string();
  return fmt::format(R"({{"bool":{{{}"must_not":[{{"equals":{{"id":{}}}}}]}}}})", wanted, id);
}

/// `knn` with the vector in place of the document. `filter`: replaces its own; empty: none.
std::string by_vector(std::string_view knn, std::string_view vector, const VectorPlan& plan,
                      std::string_view filter) {
  auto text = fmt::format(R"({{"query_vector":[{}])", vector);
  if (plan.nearest) text += fmt::format(R"(,"k":{})", *plan.nearest + 1);
  if (!filter.empty()) text += fmt::format(R"(,"filter":{})", filter);
  PassedMembers members(knn);
  while (const auto member = members.next()) {
    const auto is_one_of = [&](auto... names) { return (json_says(member->name, names) || ...); };
    if (!is_one_of("doc_id", "query_vector", "query", "k", "filter"))
      text.append(",\"").append(member->name).append("\":").append(member->value);
  }
  return text += '}';
}

/// Where the top-level `query` of the request stands; not found: there is none.
ByteRange query_in(std::string_view body, const SearchRequest& request) {
  const auto to_brace = body.substr(0, request.closing_brace + 1);
  const auto query = last_member(to_brace.substr(to_brace.find('{')), "query");
  if (query.empty()) return {};
  const auto at = static_cast<std::size_t>(query.data() - body.data());
  return {at, at + query.size()};
}

/// The document is left out by the filter of the query where that is the only one: not every server
/// takes both.
void search_by_vector(std::string_view body, const SearchRequest& request, std::string_view vector,
                      VectorPlan& plan) {
  const auto at = request[Property::knn];
  const auto knn = at.in(body);
  const auto& id = plan.document->id;
  const auto filter = last_member(knn, "filter");
  const auto query = query_in(body, request);
  if (!is_object(filter) && is_object(query.in(body))) {
    plan.edits.push_back({at.begin, at.end, by_vector(knn, vector, plan, {})});
    plan.edits.push_back({query.begin, query.end, without_document(query.in(body), id)});
  } else {
    plan.edits.push_back(
        {at.begin, at.end, by_vector(knn, vector, plan, without_document(filter, id))});
  }
}

}  // namespace

VectorPlan plan_vectors(std::string_view body, const SearchRequest& request, std::size_t shards,
                        std::string_view vector, FirstRefusal& refusal) {
  VectorPlan plan;
  const bool hybrid = request[Property::hybrid].found();
  if (hybrid) plan.order = VectorOrder::fused;
  const auto text = request[Property::knn].in(body);
  if (text.empty() || text == "null") return plan;
  rapidjson::Document knn;
  parse_part(text, knn);
  // Servers refuse several vectors that are not fused; a list of one vector is that one.
  const bool is_list = knn.IsArray();
  const auto vectors = each_of(knn);
  const bool fused = vectors.size() != 1 || is_fused(body, request);
  const bool among_others = (is_list || fused || hybrid) && shards > 1;
  for (const auto& each : vectors) {
    refuse_mistaken_knn(each, refusal);
    if (among_others && member_of(&each, "doc_id") != nullptr)
      refusal.refuse(
          "\"knn\" by \"doc_id\" cannot be fused with other lists: the table has several shards; "
          "read the vector of the document, send it as \"query_vector\", and leave the document "
          "out by a filter");
  }
  if (refusal.why) return plan;
  if (fused) {
    plan.order = VectorOrder::fused;
    return plan;
  }
  plan.order = VectorOrder::distance;
  if (const auto* const k = member_of(&vectors.front(), "k")) plan.nearest = k->GetUint();
  if (shards == 1 || is_list || !knn.HasMember("doc_id")) return plan;
  plan.document = document_of(knn, refusal);
  search_by_vector(body, request, vector, plan);
  return plan;
}

}  // namespace karmad
