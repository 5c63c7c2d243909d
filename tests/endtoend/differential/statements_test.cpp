// SQL statements drawn at random have the same answer from 2 and 3 shards with mirrors through
// karmad as from one table that holds everything.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <optional>

#include "tests/endtoend/differential/compared_statements.hpp"
#include "tests/support/cluster.hpp"

namespace karmad::test {
namespace {

constexpr unsigned kStatementDocuments = 900;
constexpr int kShardsOfStatements[] = {2, 3};

/// Keeps its connection as long as the other side does.
class StatementClient {
 public:
  explicit StatementClient(int port) : port_(port) {}

  Response ask(const GeneratedStatement& statement, std::string_view table) {
    const auto path = path_of(statement);
    const auto body = body_of(statement, table);
    if (!client_ || !client_->connected()) client_.emplace(port_);
    auto answer = client_->request("POST", path, body);
    if (answer && answer->status == 200) return *answer;
    client_.reset();
    return answer ? *answer : post(port_, path, body);
  }

 private:
  int port_;
  std::optional<HttpClient> client_;
};

class SqlDifferential : public testing::Test {
 protected:
  SqlDifferential() {
    std::string tables;
    for (const auto of : kShardsOfStatements) {
      tables += fmt::format("table of{} {{\n type = distributed\n", of);
      for (int shard = 0; shard < of; ++shard)
        tables += fmt::format(" agent = {}|{}:products\n", part(shard, of), part(shard, of));
      tables += "}\n";
    }
    master_.emplace("agent_query_timeout = 20s", tables);
  }

  std::string part(int shard, int of) {
    return agents_
        .emplace_back(fmt::format("{}/{}", shard, of), "part", 0, kStatementDocuments,
                      std::vector<std::string>{"--spread", "7"})
        .address();
  }

  DemoAgent whole_{"0/1", "whole", 0, kStatementDocuments};
  std::deque<DemoAgent> agents_;
  std::optional<Master> master_;
};

std::uint64_t environment_or(const char* name, std::uint64_t otherwise) {
  const auto* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

TEST_F(SqlDifferential, StatementsOverShardsAnswerAsOneTableWithEverythingDoes) {
  ASSERT_TRUE(master_->ready());
  const auto seed = environment_or("KARMAD_DIFFERENTIAL_SEED", 20261125);
  const auto count = environment_or("KARMAD_DIFFERENTIAL_STATEMENTS", 592);
  StatementGenerator generator(seed);
  StatementClient whole(whole_.port());
  StatementClient merged(master_->port());
  std::map<std::string_view, std::pair<std::size_t, std::size_t>> kinds;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto statement = generator.next();
    const auto expected = whole.ask(statement, "products");
    auto& [compared, different] = kinds[name_of(statement.kind)];
    ++compared;
    for (const auto of : kShardsOfStatements) {
      const auto words =
          statement_difference(statement, expected, merged.ask(statement, fmt::format("of{}", of)));
      if (words.empty()) continue;
      ++different;
      ADD_FAILURE() << name_of(statement.kind) << ", statement " << i << " over " << of
                    << " shards, POST " << path_of(statement) << "\n"
                    << statement.text << "\n"
                    << words;
    }
  }
  std::string told;
  for (const auto& [name, counts] : kinds)
    told +=
        fmt::format("  {:16} {} compared, {} answers differ\n", name, counts.first, counts.second);
  std::cout << told;
  const auto each = count / static_cast<std::size_t>(StatementKind::count);
  ASSERT_EQ(kinds.size(), static_cast<std::size_t>(StatementKind::count));
  for (const auto& [name, counts] : kinds) EXPECT_GE(counts.first, each) << name;
}

}  // namespace
}  // namespace karmad::test
