#include "tests/support/fake_set.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad::test {

FakeMirror::React always(Reaction reaction) {
  return [reaction = std::move(reaction)](const std::string&) { return reaction; };
}

Reaction refused(int status, std::string_view fields, std::string_view body) {
  return {
      fmt::format("HTTP/1.1 {} X\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n"
                  "\r\n{}",
                  status, fields, body.size(), body)};
}

Reaction inserted() {
  return json(R"({"_index":"t","_id":1,"created":true,"result":"created","status":201})");
}

FakeSet::FakeSet(std::size_t count, const Reaction& reaction) {
  for (std::size_t i = 0; i < count; ++i)
    mirrors_.push_back(std::make_unique<FakeMirror>(always(reaction)));
}

void FakeSet::react(const Reaction& reaction) {
  for (const auto& mirror : mirrors_) mirror->react(always(reaction));
}

std::string FakeSet::table(const std::string& settings, const std::vector<std::string>& roles,
                           const std::string& line_options) const {
  std::string line;
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    if (i > 0) line.append("|");
    line.append(mirrors_[i]->address());
    line.append(":products");
    if (i < roles.size()) line.append("[role=").append(roles[i]).append("]");
  }
  return table_of({line.append(line_options)}, settings);
}

std::size_t FakeSet::requests() const {
  std::size_t sum = 0;
  for (const auto& mirror : mirrors_) sum += mirror->requests();
  return sum;
}

std::size_t FakeSet::asked() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(mirrors_, [](const auto& mirror) { return mirror->requests() > 0; }));
}

bool FakeSet::is_left(std::size_t mirror) const {
  return eventually([&] { return mirrors_[mirror]->open_connections() == 0; });
}

std::string taking_turns(const std::string& more) {
  std::string lines = "workers = 1\n ha_strategy = roundrobin\n agent_retry_delay = 1ms\n ";
  for (const auto* calm :
       {"ha_ping_interval = 0", "request_timeout = 1m", "agent_connect_timeout = 20s",
        "agent_query_timeout = 20s", "overload_backoff_base = 1ms"}) {
    const std::string line(calm);
    if (!more.contains(line.substr(0, line.find('=')))) lines.append(line).append("\n ");
  }
  return lines.append(more);
}

Response insert(const Master& master, std::string_view fields) {
  return ask(master.port(), "POST", "/insert", R"({"table":"t","id":1,"doc":{"title":"lamp"}})",
             fields);
}

}  // namespace karmad::test
