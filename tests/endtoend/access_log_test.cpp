// The lines of the access log: their content, their requests, and their destination.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kMatchAll = R"({"table":"t"})";

class AccessLogLines : public testing::Test {
 protected:
  TempDir folder;
  std::string path = folder.path() + "/access";
  FakeMirror mirror{[](const std::string&) { return nothing_found(); }};
  std::string tables = fmt::format(
      "table t {{\n type = distributed\n agent = {}:x\n}}\n"
      "table two {{\n type = distributed\n agent = {}:x\n agent = {}:y\n}}\n",
      mirror.address(), mirror.address(), mirror.address());

  std::string searchd(std::string_view more = {}) const {
    return fmt::format("ha_ping_interval = 0\n access_log = {}\n {}", path, more);
  }
  std::string content() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// The line with this text, once it is whole.
  std::string line_with(std::string_view text) const {
    std::string line;
    eventually([&] {
      const auto all = content();
      const auto at = all.find(text);
      const auto end = at == all.npos ? at : all.find('\n', at);
      if (end == all.npos) return false;
      const auto begin = all.rfind('\n', at) + 1;
      line = all.substr(begin, end - begin);
      return true;
    });
    return line;
  }
};

TEST_F(AccessLogLines, AreWrittenForRefusedRequestsToo) {
  const Master master(searchd("max_packet_size = 128k"), tables);
  HttpClient malformed(master.port());
  malformed.send("nonsense\r\n\r\n");
  const auto answer = malformed.receive();
  ASSERT_TRUE(answer);
  const auto line = line_with(R"("status":400)");
  EXPECT_TRUE(line.contains(
      fmt::format(R"("request_id":"{}","client":"127.0.0.1")", answer->fields.at("x-request-id"))))
      << line;
  EXPECT_TRUE(line.contains(R"("bytes_in":12,)")) << line;
  EXPECT_TRUE(line.contains(R"("end":"refused","reason":"{\"error\":)")) << line;
  HttpClient large(master.port());
  large.send("POST /search?a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  ASSERT_TRUE(large.receive());
  EXPECT_TRUE(line_with(R"("status":413)").contains(R"("method":"POST","path":"/search",)"));
  master.search(R"({"table":"none"})");
  EXPECT_TRUE(line_with(R"("status":404)").contains(R"("end":"refused")"));
}

TEST_F(AccessLogLines, TellTheTimeOfTheMerge) {
  const Master master(searchd(), tables);
  ASSERT_EQ(master.search(R"({"table":"two"})").status, 200);
  EXPECT_TRUE(line_with(R"("table":"two")").contains(R"("merge_us":)"));
  ASSERT_EQ(master.search(kMatchAll).status, 200);
  EXPECT_FALSE(line_with(R"("table":"t")").contains("merge_us"));
}

TEST_F(AccessLogLines, AreATextForPeopleIfTheSettingSaysSo) {
  Master master(searchd("access_log_format = text"), tables);
  ASSERT_EQ(master.search(kMatchAll, "X-Request-Id: abc\r\n").status, 200);
  const auto line = line_with("request_id=abc");
  EXPECT_TRUE(line.contains("Z 127.0.0.1 POST /search 200 answered ")) << line;
  EXPECT_TRUE(line.contains(" table=t ")) << line;
  EXPECT_TRUE(line.contains(fmt::format(" [1 {} initial ", mirror.address()))) << line;
  ASSERT_TRUE(master.reload(searchd("access_log_format = json"), tables));
  ASSERT_EQ(master.search(kMatchAll, "X-Request-Id: after\r\n").status, 200);
  EXPECT_TRUE(line_with(R"("request_id":"after")").starts_with("{")) << content();
}

TEST_F(AccessLogLines, OutsideTheSampleAreThoseOfErrorsAndSlowRequests) {
  Master master(searchd("access_log_sample = 0\n access_log_slow = 1h"), tables);
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(master.search(kMatchAll, "X-Request-Id: fast\r\n").status, 200);
  EXPECT_EQ(master.search(R"({"table":"none"})", "X-Request-Id: wrong\r\n").status, 404);
  EXPECT_NE(line_with(R"("request_id":"wrong")"), "");
  ASSERT_TRUE(master.reload(searchd("access_log_sample = 0\n access_log_slow = 0"), tables));
  ASSERT_EQ(master.search(kMatchAll, "X-Request-Id: slow\r\n").status, 200);
  const auto slow = line_with(R"("request_id":"slow")");
  EXPECT_NE(slow, "");
  EXPECT_FALSE(slow.contains("sample"));
  EXPECT_FALSE(content().contains("fast"));
  ASSERT_TRUE(
      master.reload(searchd("access_log_sample = 0.999999\n access_log_slow = 1h"), tables));
  ASSERT_EQ(master.search(kMatchAll, "X-Request-Id: sampled\r\n").status, 200);
  EXPECT_TRUE(line_with(R"("request_id":"sampled")").contains(R"(,"sample":0.999999,)"));
  EXPECT_EQ(master.count("access_log_dropped"), 0);
}

TEST_F(AccessLogLines, GoToStandardOutput) {
  path = "stdout";
  Master master(searchd(), tables);
  ASSERT_EQ(master.search(kMatchAll).status, 200);
  EXPECT_TRUE(eventually(
      [&] { return master.process().output().contains(R"("operation":"search","table":"t")"); }));
}

}  // namespace
}  // namespace karmad::test
