#include "tests/support/cluster.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace karmad::test {
namespace {

int listening_port(Process& process, const std::string& what) {
  const auto line = process.wait_for(what);
  if (!line) throw std::runtime_error("did not start: " + process.output());
  return port_in(*line);
}

std::string config_text(const std::string& searchd, const std::string& rest) {
  return fmt::format("searchd {{\n  listen = 127.0.0.1:0\n{}\n}}\n{}\n", searchd, rest);
}

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

double number_at(const std::string& json, const std::string& pointer) {
  rapidjson::Document told;
  told.Parse(json.c_str());
  const auto* found = rapidjson::Pointer(pointer.c_str()).Get(told);
  return found != nullptr && found->IsNumber() ? found->GetDouble() : std::nan("");
}

}  // namespace

DemoAgent::DemoAgent(std::string shard, std::string name, int port, unsigned documents,
                     const std::vector<std::string>& more)
    : process_("karmad-demo-agent",
               with({"--listen", fmt::format("127.0.0.1:{}", port), "--control", "127.0.0.1:0",
                     "--shard", std::move(shard), "--name", std::move(name), "--documents",
                     std::to_string(documents)},
                    more)) {
  port_ = listening_port(process_, "listening on");
  control_port_ = listening_port(process_, "control on");
}

void DemoAgent::control(const std::string& switches) const {
  const auto answer = post(control_port_, "/control?" + switches, "");
  if (answer.status != 200) throw std::runtime_error("control: " + answer.body);
}

double DemoAgent::number(const std::string& pointer) const {
  return number_at(get(control_port_, "/control").body, pointer);
}

std::string without_took(std::string answer) {
  // JSON, and a table of characters: `5 rows in set (0.001 sec)`.
  for (const std::string_view before : {"\"took\":", " in set ("}) {
    const auto begin = answer.find(before);
    if (begin == std::string::npos) continue;
    const auto time = begin + before.size();
    const auto end = std::min(answer.find_first_not_of("0123456789.", time), answer.size());
    answer.replace(time, end - time, "_");
  }
  return answer;
}

Master::Master(const std::string& searchd, const std::string& rest)
    : config_(dir_.file("karmad.conf", config_text(searchd, rest))),
      process_("karmad", {"--config", config_}) {
  port_ = listening_port(process_, "listening on");
}

Master::~Master() {
  if (process_.wait(0ms)) return;
  std::string left;
  EXPECT_TRUE(eventually([&] {
    left = unrest();
    return left.empty() || process_.wait(0ms);
  })) << left;
  process_.signal(SIGTERM);
  EXPECT_EQ(process_.wait(), 0) << process_.output();  // the sanitizers' leaks, too
}

/// What is not at rest, one line each.
std::string Master::unrest() const {
  std::string left;
  const auto expect = [&](std::string_view what, double most, double is) {
    if (!(is <= most)) fmt::format_to(std::back_inserter(left), "{}: {}\n", what, is);
  };
  for (const auto* key : {"selections_waiting", "retry_budget_live", "retry_budget_extras",
                          "ingress_tickets_out", "ingress_tickets_queued", "search_tickets_out",
                          "search_tickets_queued", "update_tickets_out", "update_tickets_queued"})
    expect(key, 0, static_cast<double>(count(key)));
  expect("connections_open", 1, static_cast<double>(count("connections_open")));  // this client
  rapidjson::Document told;
  told.Parse(ask(port_, "GET", "/agents", "", own_fields_).body.c_str());
  if (!told.IsObject()) return left.append("no answer\n");
  for (const auto& table : told["tables"].GetArray())
    for (const auto& shard : table["shards"].GetArray()) {
      const auto& budget = shard["retry_budget"];
      expect("live", 0, budget["live"].GetDouble());
      expect("extras", 0, budget["extras"].GetDouble());
      for (const auto& mirror : shard["mirrors"].GetArray())
        for (const auto* what : {"in_flight", "waiting"})
          expect(fmt::format("{} of {}", what, mirror["address"].GetString()), 0,
                 mirror[what].GetDouble());
    }
  return left;
}

bool Master::ready() {
  return eventually([this] { return get(port_, "/readyz").status == 200; });
}

Response Master::search(std::string_view body, std::string_view fields) const {
  return ask(port_, "POST", "/search", body, fields);
}

std::string Master::status(const std::string& key, const std::string& statement) const {
  const auto told = ask(port_, "POST", "/sql?mode=raw", statement, own_fields_).body;
  const auto name = fmt::format(":\"{}\",\"Value\":\"", key);
  const auto found = told.find(name);
  if (found == std::string::npos) return {};
  const auto begin = found + name.size();
  return told.substr(begin, told.find('"', begin) - begin);
}

std::int64_t Master::count(const std::string& key, const std::string& statement) const {
  return std::atoll(status(key, statement).c_str());
}

double Master::number(const std::string& pointer) const {
  return number_at(get(port_, "/agents").body, pointer);
}

std::string Master::word(const std::string& pointer) const {
  rapidjson::Document told;
  told.Parse(get(port_, "/agents").body.c_str());
  const auto* found = rapidjson::Pointer(pointer.c_str()).Get(told);
  return found != nullptr && found->IsString() ? found->GetString() : std::string();
}

bool Master::reload(const std::string& searchd, const std::string& rest) {
  const auto ends = [this] {
    const auto& told = process_.output();
    std::size_t count = 0;
    for (const std::string_view end : {"reload: done", "the old configuration stays in use"})
      for (auto at = told.find(end); at != told.npos; at = told.find(end, at + 1)) ++count;
    return count;
  };
  const auto before = ends();
  write_config(searchd, rest);
  process_.signal(SIGHUP);
  return eventually([&] { return ends() > before; });
}

void Master::write_config(const std::string& searchd, const std::string& rest) {
  dir_.file("karmad.conf", config_text(searchd, rest));
}

}  // namespace karmad::test
