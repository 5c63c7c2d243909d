#include "tests/support/role_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>

namespace karmad::test {

std::string choosing(const std::string& more) {
  std::string lines =
      "workers = 1\n ha_ping_interval = 500ms\n ping_timeout = 10s\n local_threshold = 30s\n"
      " request_timeout = 5m\n agent_connect_timeout = 20s\n agent_query_timeout = 20s\n ";
  if (!more.contains("selection_timeout")) lines.append("selection_timeout = 5m\n ");
  return lines.append(more);
}

DemoAgent copy_of_all(const std::string& role, const std::string& tags, int port) {
  std::vector<std::string> more{"--role", role, "--fixed"};
  if (!tags.empty()) more.insert(more.end(), {"--tags", tags});
  return DemoAgent("0/1", role, port, 50, more);
}

std::string table_of(const std::vector<std::string>& lines, const std::string& settings) {
  std::string table = "table t {\n type = distributed\n ";
  table.append(settings).append("\n");
  for (const auto& line : lines) table.append(" agent = ").append(line).append("\n");
  return table.append("}\n");
}

std::string line_of(const std::vector<std::string>& addresses) {
  return fmt::format("{}:products", fmt::join(addresses, "|"));
}

namespace {

std::string pointer_to(std::size_t mirror, const std::string& what) {
  return fmt::format("/tables/0/shards/0/mirrors/{}/{}", mirror, what);
}

}  // namespace

double RestingMaster::number_of(std::size_t mirror, const std::string& what) const {
  return number(pointer_to(mirror, what));
}

std::string RestingMaster::word_of(std::size_t mirror, const std::string& what) const {
  return word(pointer_to(mirror, what));
}

bool RestingMaster::shows(const std::vector<std::string>& roles) const {
  return eventually([&] {
    for (std::size_t i = 0; i < roles.size(); ++i)
      if (word_of(i, "role") != roles[i]) return false;
    return true;
  });
}

bool RestingMaster::has_waiting(std::int64_t selections) const {
  return eventually([&] { return count("selections_waiting") == selections; });
}

Response RestingMaster::find(std::string_view preference, std::string_view fields) const {
  auto all = preference.empty() ? std::string() : preferring(preference);
  return search(kFindAll, all.append(fields));
}

std::vector<int> RestingMaster::spread(int searches, std::string_view preference) const {
  std::vector<int> attempts;
  for (std::size_t i = 0; !std::isnan(number_of(i, "since_start/attempts")); ++i)
    attempts.push_back(-static_cast<int>(number_of(i, "since_start/attempts")));
  for (int i = 0; i < searches; ++i) {
    const auto answer = find(preference);
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  for (std::size_t i = 0; i < attempts.size(); ++i)
    attempts[i] += static_cast<int>(number_of(i, "since_start/attempts"));
  return attempts;
}

Pending::Pending(const Master& master, std::string_view target, std::string_view body,
                 std::string_view fields)
    : client_(std::make_unique<HttpClient>(master.port())) {
  EXPECT_TRUE(
      client_->send(fmt::format("POST {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n"
                                "\r\n{}",
                                target, fields, body.size(), body)));
}

Pending Pending::search(const Master& master, std::string_view preference,
                        std::string_view fields) {
  return {master, "/search", kFindAll, preferring(preference).append(fields)};
}

Response Pending::answer() {
  return client_->receive().value_or(Response{});
}

std::string preferring(std::string_view preference) {
  return fmt::format("X-Read-Preference: {}\r\n", preference);
}

std::string at(const std::string& json, const std::string& pointer) {
  rapidjson::Document told;
  told.Parse(json.c_str());
  const auto* found = rapidjson::Pointer(pointer.c_str()).Get(told);
  if (found == nullptr) return {};
  if (found->IsString()) return found->GetString();
  rapidjson::StringBuffer text;
  rapidjson::Writer writer(text);
  found->Accept(writer);
  return text.GetString();
}

}  // namespace karmad::test
