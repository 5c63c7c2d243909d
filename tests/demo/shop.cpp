#include "tests/demo/shop.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "demo/data/corpus.hpp"
#include "demo/engine/membership.hpp"

namespace karmad::demo {

namespace {

Engine engine_of(Part part) {
  return {Index{invent_corpus(4000), part}, {"products", "p2"}};
}

std::string text_of(const rapidjson::Value& json) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer writer(buffer);
  json.Accept(writer);
  return buffer.GetString();
}

}  // namespace

const Engine& whole_shop() {
  static const Engine engine = engine_of({0, 1});
  return engine;
}

const Engine& half_shop(std::size_t number) {
  static const std::array halves{engine_of({0, 2}), engine_of({1, 2})};
  return halves.at(number);
}

HttpAnswer get(const Engine& engine, std::string path, std::string query) {
  return engine.answer({"GET", std::move(path), std::move(query), {}}, {}, 0);
}

HttpAnswer post(const Engine& engine, std::string path, std::string body, std::string query) {
  return engine.answer({"POST", std::move(path), std::move(query), std::move(body)}, {}, 0);
}

HttpAnswer ask(const Engine& engine, std::string body) {
  return post(engine, "/search", std::move(body));
}

rapidjson::Document json_of(const HttpAnswer& answer) {
  rapidjson::Document out;
  out.Parse<rapidjson::kParseFullPrecisionFlag>(answer.body.c_str());
  EXPECT_FALSE(out.HasParseError()) << answer.body;
  EXPECT_TRUE(out.IsObject()) << answer.body;
  return out;
}

std::vector<HitRow> hits_of(const HttpAnswer& answer) {
  const auto json = json_of(answer);
  EXPECT_TRUE(json.HasMember("hits")) << answer.body;
  std::vector<HitRow> out;
  for (const auto& hit : json["hits"]["hits"].GetArray())
    out.push_back({hit["_id"].GetUint64(), hit["_score"].GetInt64(), text_of(hit["_source"])});
  return out;
}

std::vector<std::uint64_t> ids_of(const HttpAnswer& answer) {
  std::vector<std::uint64_t> out;
  for (const auto& hit : hits_of(answer)) out.push_back(hit.id);
  return out;
}

std::uint64_t total_of(const HttpAnswer& answer) {
  return json_of(answer)["hits"]["total"].GetUint64();
}

std::string aggregation_of(const HttpAnswer& answer, std::string_view name) {
  const auto json = json_of(answer);
  EXPECT_TRUE(json.HasMember("aggregations")) << answer.body;
  return text_of(json["aggregations"][std::string(name)]);
}

std::string with_aggregation(std::string_view aggregation, std::string_view query) {
  return fmt::format(R"({{"table":"products","limit":0,"aggs":{{"a":{}}}{}{}}})", aggregation,
                     query.empty() ? "" : R"(,"query":)", query);
}

}  // namespace karmad::demo
