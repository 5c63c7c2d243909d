#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "demo/data/dice.hpp"
#include "demo/data/text.hpp"
#include "demo/language/query_string.hpp"
#include "demo/language/read_request.hpp"

namespace karmad {

namespace {

constexpr std::size_t kMostNearest = 100'000;

/// A unit vector for a text, always the same: the demo has no model.
std::array<float, 4> vector_of(std::string_view text) {
  std::array<double, 4> sum{};
  for (const auto& word : words(text)) {
    std::uint64_t seed = 0;
    for (const char letter : word) seed = seed * 131 + static_cast<unsigned char>(letter);
    Dice dice{seed};
    for (auto& number : sum) number += dice.fraction() * 2 - 1;
  }
  double square = 0;
  for (const auto number : sum) square += number * number;
  std::array<float, 4> out{};
  for (std::size_t i = 0; i < sum.size() && square > 0; ++i)
    out[i] = static_cast<float>(sum[i] / std::sqrt(square));
  return out;
}

void read_vector(const Json& json, Knn& out, Reading& reading) {
  if (json.IsString()) {
    out.vector = vector_of(text_of(json));
    return;
  }
  if (!json.IsArray()) {
    reading.complaint.say(400, "\"query\" property value should be a string or an array");
    return;
  }
  if (json.Size() != out.vector.size()) {
    reading.complaint.say(
        500, fmt::format("table {}: KNN index 'embedding' requires a vector of {} entries; {} "
                         "entries specified",
                         reading.table, out.vector.size(), json.Size()));
    return;
  }
  for (rapidjson::SizeType i = 0; i < json.Size(); ++i) {
    if (!json[i].IsNumber())
      reading.complaint.say(400, "\"query_vector\" should have numbers only");
    else
      out.vector[i] = static_cast<float>(json[i].GetDouble());
  }
}

Knn read_one(const Json& json, Reading& reading) {
  Knn out;
  const auto* field = json.IsObject() ? find_member(json, "field") : nullptr;
  if (field == nullptr || !field->IsString()) {
    reading.complaint.say(400, "\"field\" property missing");
    return out;
  }
  const auto column = column_named(text_of(*field));
  if (!column || column->type != Type::vector)
    reading.complaint.say(
        500, fmt::format("table {}: requested KNN search attribute '{}' not found", reading.table,
                         text_of(*field)));
  const auto* k = find_member(json, "k");
  if (k != nullptr && (!k->IsUint64() || k->GetUint64() == 0 || k->GetUint64() > kMostNearest))
    reading.complaint.say(400, "\"k\" property value should be a positive integer");
  out.k = k != nullptr && k->IsUint64() ? k->GetUint64() : 10;
  const auto* vector = find_member(json, "query_vector");
  if (vector == nullptr) vector = find_member(json, "query");
  const auto* document = find_member(json, "doc_id");
  if (document != nullptr && document->IsUint64()) {
    out.document = document->GetUint64();
  } else if (vector != nullptr) {
    read_vector(*vector, out, reading);
  } else {
    reading.complaint.say(400, "\"query_vector\" or \"doc_id\" property missing");
  }
  if (const auto* filter = find_member(json, "filter")) out.filter = read_query(*filter, reading);
  return out;
}

}  // namespace

std::vector<Knn> read_knn(const Json& json, Reading& reading) {
  std::vector<Knn> out;
  if (json.IsArray()) {
    for (const auto& one : json.GetArray()) out.push_back(read_one(one, reading));
  } else {
    out.push_back(read_one(json, reading));
  }
  return out;
}

void read_hybrid(const Json& json, SearchRequest& out, Reading& reading) {
  const auto* query = json.IsObject() ? find_member(json, "query") : nullptr;
  if (query == nullptr || !query->IsString()) {
    reading.complaint.say(400, "\"hybrid\" should be an object with a \"query\"");
    return;
  }
  out.query = read_query_string(text_of(*query), reading.table, reading.complaint);
  Knn knn;
  knn.vector = vector_of(text_of(*query));
  const auto* k = find_member(json, "k");
  knn.k = k != nullptr && k->IsUint() ? k->GetUint() : 10;
  out.knn = {knn};
  out.fusion.emplace();
}

void read_fusion(const Json& options, Fusion& out) {
  const auto* constant = find_member(options, "rank_constant");
  if (constant != nullptr && constant->IsNumber()) out.rank_constant = constant->GetDouble();
  const auto* window = find_member(options, "window_size");
  if (window != nullptr && window->IsUint()) out.window = window->GetUint();
  const auto* weights = find_member(options, "fusion_weights");
  if (weights != nullptr && weights->IsArray())
    for (const auto& weight : weights->GetArray())
      out.weights.push_back(weight.IsNumber() ? weight.GetDouble() : 1);
}

}  // namespace karmad
