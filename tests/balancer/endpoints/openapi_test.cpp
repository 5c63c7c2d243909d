// docs/openapi.json against the endpoints of the program, and against the answers of a running one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "balancer/endpoints/endpoints.hpp"
#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

using Schema = rapidjson::Value;

const rapidjson::Document& description() {
  static const auto document = [] {
    std::ifstream file(KARMAD_SOURCE_DIR "/docs/openapi.json");
    std::ostringstream text;
    text << file.rdbuf();
    rapidjson::Document parsed;
    parsed.Parse(text.str().c_str());
    return parsed;
  }();
  return document;
}

std::string_view type_of(const rapidjson::Value& value) {
  if (value.IsNull()) return "null";
  if (value.IsBool()) return "boolean";
  if (value.IsString()) return "string";
  if (value.IsArray()) return "array";
  if (value.IsObject()) return "object";
  return value.IsDouble() ? "number" : "integer";
}

bool has_type(const rapidjson::Value& value, std::string_view type) {
  return type == type_of(value) || (type == "number" && value.IsNumber());
}

/// Checks values by the part of JSON Schema that the description uses.
class SchemaCheck {
 public:
  void check(const rapidjson::Value& value, const Schema& schema, const std::string& at) {
    if (const auto* other = of(schema, "$ref")) {
      const auto* target = rapidjson::Pointer(other->GetString()).Get(description());
      ASSERT_NE(target, nullptr) << other->GetString();
      return check(value, *target, at);
    }
    if (const auto* type = of(schema, "type")) check_type(value, *type, at);
    if (const auto* allowed = of(schema, "enum")) {
      const bool found =
          std::ranges::any_of(allowed->GetArray(), [&](const auto& one) { return one == value; });
      EXPECT_TRUE(found) << at << " is none of the values of its enum";
    }
    if (const auto* items = of(schema, "items"); items != nullptr && value.IsArray())
      for (rapidjson::SizeType i = 0; i < value.Size(); ++i)
        check(value[i], *items, fmt::format("{}/{}", at, i));
    if (value.IsObject()) check_members(value, schema, at);
  }

 private:
  static const Schema* of(const Schema& schema, const char* key) {
    const auto found = schema.FindMember(key);
    return found == schema.MemberEnd() ? nullptr : &found->value;
  }

  static void check_type(const rapidjson::Value& value, const Schema& type, const std::string& at) {
    bool fits = false;
    if (type.IsString()) fits = has_type(value, type.GetString());
    if (type.IsArray())
      for (const auto& one : type.GetArray()) fits = fits || has_type(value, one.GetString());
    EXPECT_TRUE(fits) << at << " is a value of type " << type_of(value);
  }

  void check_members(const rapidjson::Value& value, const Schema& schema, const std::string& at) {
    if (const auto* required = of(schema, "required")) {
      for (const auto& key : required->GetArray())
        EXPECT_TRUE(value.HasMember(key.GetString())) << at << " has no " << key.GetString();
    }
    for (const auto& [key, member] : value.GetObject()) {
      const auto where = fmt::format("{}/{}", at, key.GetString());
      if (const auto* known = schema_of(schema, key.GetString())) {
        if (known->IsObject()) check(member, *known, where);
      } else if (of(schema, "properties") != nullptr) {
        ADD_FAILURE() << where << " is not described";
      }
    }
  }

  /// The schema of a member; null: there is none, and none is allowed.
  static const Schema* schema_of(const Schema& schema, const char* key) {
    if (const auto* properties = of(schema, "properties"))
      if (const auto* known = of(*properties, key)) return known;
    if (const auto* patterns = of(schema, "patternProperties"))
      for (const auto& [pattern, known] : patterns->GetObject())
        if (std::regex_search(key, std::regex(pattern.GetString()))) return &known;
    const auto* more = of(schema, "additionalProperties");
    return more == nullptr || more->IsFalse() ? nullptr : more;
  }
};

std::vector<std::string> described_paths() {
  std::vector<std::string> paths;
  for (const auto& [path, of] : description()["paths"].GetObject())
    paths.emplace_back(path.GetString());
  return paths;
}

TEST(OpenApi, DescribesEveryEndpointAboutKarmadItself) {
  ASSERT_TRUE(description().IsObject()) << "docs/openapi.json is not JSON";
  EXPECT_STREQ(description()["openapi"].GetString(), "3.1.0");
  auto described = described_paths();
  auto known = own_paths();
  std::ranges::sort(described);
  std::ranges::sort(known);
  EXPECT_EQ(described, known);
}

/// Reports the members without a description in `schema` and below.
void expect_descriptions(const Schema& schema, const std::string& at) {
  if (!schema.IsObject()) return;
  if (schema.HasMember("properties"))
    for (const auto& [key, member] : schema["properties"].GetObject()) {
      const auto where = fmt::format("{}/{}", at, key.GetString());
      EXPECT_TRUE(member.HasMember("description") || member.HasMember("$ref")) << where;
      expect_descriptions(member, where);
    }
  for (const auto* key : {"items", "additionalProperties"})
    if (schema.HasMember(key)) expect_descriptions(schema[key], fmt::format("{}/{}", at, key));
}

TEST(OpenApi, SaysWhatEveryKeyMeans) {
  for (const auto& [name, schema] : description()["components"]["schemas"].GetObject())
    expect_descriptions(schema, name.GetString());
}

/// Asks a running karmad, and compares status, type and body with the description of `path`.
void compare(int port, const std::string& path, const std::string& target, int status) {
  const auto answer = get(port, target);
  ASSERT_EQ(answer.status, status) << target;
  const auto& responses = description()["paths"][path.c_str()]["get"]["responses"];
  const auto code = std::to_string(status);
  ASSERT_TRUE(responses.HasMember(code.c_str())) << target;
  const auto& content = responses[code.c_str()]["content"];
  const auto& type = answer.fields.at("content-type");
  ASSERT_TRUE(content.HasMember(type.c_str())) << target << ": " << type;
  EXPECT_TRUE(answer.fields.contains("x-request-id")) << target;
  if (!type.starts_with("application/json")) return;
  rapidjson::Document body;
  ASSERT_FALSE(body.Parse(answer.body.c_str()).HasParseError()) << target;
  SchemaCheck().check(body, content[type.c_str()]["schema"], target);
}

TEST(OpenApi, IsWhatARunningKarmadAnswers) {
  const FakeMirror well([](const std::string&) { return nothing_found(); });
  const ClosedPort dead;
  const auto admin = ClosedPort().port();
  const Master master(
      fmt::format("listen = 127.0.0.1:{}:admin\n", admin) +
          "ha_ping_interval = 500ms\n admission = enforce\n search_tickets = 8\n"
          " client_request_rate = 100000/s",
      fmt::format("table t {{\n type = distributed\n request_rate = 100000/s\n"
                  " agent = {0}|{1}:x\n agent = {0}:y\n agent_blackhole = {0}:z\n}}\n"
                  "table u {{\n type = distributed\n agent = {1}:x [role=primary]|{0}:x "
                  "[role=replica]\n}}\n",
                  well.address(), dead.address()));
  for (int i = 0; i < 5; ++i)
    master.search(R"({"table":"t"})", fmt::format("X-Request-Id: r{}\r\n", i));
  for (const auto& path : described_paths())
    if (!path.contains('{') && !path.contains("/admin") && path != "/reload" &&
        path != "/explain" && path != "/readyz")
      compare(master.port(), path, path, 200);
  ASSERT_TRUE(eventually([&] { return get(admin, "/healthz").status == 200; }));
  compare(admin, "/admin/config", "/admin/config", 200);
  compare(master.port(), "/admin/config", "/admin/config", 403);
  compare(master.port(), "/explain", "/explain?table=t", 200);
  compare(master.port(), "/explain", "/explain?table=u", 200);
  compare(master.port(), "/explain", "/explain?table=none", 404);
  compare(master.port(), "/explain", "/explain?x=1", 400);
  compare(master.port(), "/explain/{id}", "/explain/r3", 200);
  compare(master.port(), "/explain/{id}", "/explain/none", 404);
  compare(master.port(), "/events", "/events?x=1", 400);
  compare(master.port(), "/readyz", "/readyz", get(master.port(), "/readyz").status);
}

}  // namespace
}  // namespace karmad::test
