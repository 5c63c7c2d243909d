// `karmad top` and `karmad explain` against real processes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

struct Answered {
  int code = -1;
  std::string output;
};

Answered command(const std::vector<std::string>& arguments) {
  Process process("karmad", arguments);
  const auto code = process.wait();
  return {code.value_or(-1000), process.output()};
}

std::string at_port(const Master& master) {
  return fmt::format("127.0.0.1:{}", master.port());
}

TEST(TopCommand, ShowsARunningKarmadOnce) {
  FakeSet set(2);
  const Master master(taking_turns(), set.table());
  for (int i = 0; i < 10; ++i) master.search(R"({"table":"t"})");
  const auto text = command({"top", at_port(master), "--once"});
  EXPECT_EQ(text.code, 0) << text.output;
  EXPECT_TRUE(text.output.contains(set[0].address())) << text.output;
  EXPECT_TRUE(text.output.contains(set[1].address()));
  EXPECT_TRUE(text.output.contains("50%"));
  EXPECT_FALSE(text.output.contains('\x1b')) << "no codes for a pipe";
  const auto json = command({"top", at_port(master), "--once", "--json", "--table", "t"});
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(json.output.c_str()).HasParseError()) << json.output;
  EXPECT_EQ(document["mirrors"].Size(), 2U);
}

TEST(TopCommand, SaysWhatIsWrong) {
  const ClosedPort closed;
  const auto none = command({"top", closed.address(), "--once"});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(none.output.contains("no answer from " + closed.address() + ": Connection refused"))
      << none.output;
  const FakeMirror other([](const std::string&) { return json("{}"); }, true);
  const auto not_karmad = command({"top", other.address(), "--once"});
  EXPECT_EQ(not_karmad.code, 1);
  EXPECT_TRUE(not_karmad.output.contains("not that of karmad")) << not_karmad.output;
  const FakeMirror silent([](const std::string&) { return silence(); }, true);
  EXPECT_TRUE(command({"top", silent.address(), "--once"}).output.contains("nothing came within"));
  EXPECT_EQ(command({"top", "no:port"}).code, 2);
  EXPECT_EQ(command({"top", "--interval", "0"}).code, 2);
}

TEST(TopCommand, SaysWhyKarmadRefuses) {
  FakeSet set(1);
  const Master master(taking_turns(), set.table());
  const auto no_table = command({"top", at_port(master), "--once", "--table", "u"});
  EXPECT_EQ(no_table.code, 1);
  EXPECT_TRUE(no_table.output.contains("no table 'u'")) << no_table.output;
  EXPECT_FALSE(no_table.output.contains("listens there")) << no_table.output;
  const Master silent(taking_turns("status_on_query_port = health"), set.table());
  const auto refused = command({"top", at_port(silent), "--once"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(refused.output.contains("status 403: /agents is kept to the admin listeners"))
      << refused.output;
}

TEST(ExplainCommand, ShowsARequestAndATable) {
  FakeSet set(2);
  const Master master(taking_turns(), set.table());
  master.search(R"({"table":"t"})", "X-Request-Id: a/b\r\n");
  const auto request = command({"explain", "a/b", "--address", at_port(master)});
  EXPECT_EQ(request.code, 0);
  EXPECT_TRUE(request.output.starts_with("request a/b of ")) << request.output;
  EXPECT_TRUE(request.output.contains("candidate, 50.0 %"));
  const auto table = command({"explain", "--table", "t", "--address", at_port(master)});
  EXPECT_TRUE(table.output.starts_with("table t now\n")) << table.output;
  const auto json = command({"explain", "--table", "t", "--json", "--address", at_port(master)});
  EXPECT_TRUE(json.output.starts_with(R"({"table":"t",)")) << json.output;
  const auto unknown = command({"explain", "none", "--address", at_port(master)});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_TRUE(unknown.output.contains("status 404: no request 'none'")) << unknown.output;
  EXPECT_EQ(command({"explain"}).code, 2);
  EXPECT_EQ(command({"explain", "a", "--table", "t"}).code, 2);
}

TEST(DiffRunning, SaysThatItCannotReadTheStateOfTheProcess) {
  const auto newer = json(R"({"settings":[],"shares":[],"overrides":{"version":3}})");
  const FakeMirror other([=](const std::string&) { return newer; }, true);
  TempDir directory;
  const auto file = directory.file("c", "table t {\n type = distributed\n agent = a:1\n}\n");
  const auto diff = command({"--diff-running", other.address(), "--config", file});
  EXPECT_EQ(diff.code, 71);
  EXPECT_TRUE(diff.output.contains("karmad: the state of the process: ")) << diff.output;
}

TEST(ClientCommands, RefuseAWrongAddressAsWrongUsage) {
  TempDir directory;
  const auto file = directory.file("c", "table t {\n type = distributed\n agent = a:1\n}\n");
  for (const auto* wrong : {"no:port", "https://a", "::1"}) {
    EXPECT_EQ(command({"top", wrong}).code, 2) << wrong;
    EXPECT_EQ(command({"explain", "id", "--address", wrong}).code, 2) << wrong;
    EXPECT_EQ(command({"ctl", "show", "--address", wrong}).code, 2) << wrong;
    EXPECT_EQ(command({"--diff-running", wrong, "--config", file}).code, 2) << wrong;
  }
  const auto empty = command({"ctl", "show", "--address", ""});
  EXPECT_EQ(empty.code, 2);
  EXPECT_TRUE(empty.output.contains("it is empty; leave it out for 127.0.0.1:9309"))
      << empty.output;
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"top", ""},
                                                    {"top", "--table", ""},
                                                    {"explain", "id", "--address", ""}})
    EXPECT_EQ(command(arguments).code, 2);
}

}  // namespace
}  // namespace karmad::test
