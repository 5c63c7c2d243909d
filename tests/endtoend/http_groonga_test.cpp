#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

// The http dialect in front of an independent search server (Debian's groonga-bin).

namespace karmad::test {
namespace {

constexpr auto kGroonga = "/usr/bin/groonga";

/// Groonga's own HTTP server with a database of its own.
class Groonga {
 public:
  Groonga() {
    for (int attempt = 0; attempt < 5 && port_ == 0; ++attempt) {
      const int port = ClosedPort().port();
      process_.emplace(
          kGroonga, std::vector<std::string>{"--protocol", "http", "-s", "--bind-address",
                                             "127.0.0.1", "--port", std::to_string(port),
                                             "--log-path", dir_.path() + "/log", "--cache-limit",
                                             "0", "-n", dir_.path() + fmt::format("/db{}", port)});
      const auto up = [&] { return process_->wait(0ms) || get(port, "/d/status").status == 200; };
      if (eventually(up) && !process_->wait(0ms)) port_ = port;
    }
  }
  ~Groonga() { process_->kill(); }
  int port() const { return port_; }
  Process& process() { return *process_; }

 private:
  TempDir dir_;
  std::optional<Process> process_;
  int port_ = 0;
};

TEST(GroongaBehindKarmad, IsLoadedAndSearchedWhileAMirrorDies) {
  if (!std::filesystem::exists(kGroonga)) GTEST_SKIP() << "groonga-bin is not installed";
  Groonga one;
  Groonga two;
  ASSERT_NE(one.port(), 0);
  ASSERT_NE(two.port(), 0);
  // A write goes to one mirror; each gets its data over a route of its own.
  Master master("ping_path = /d/status\n ha_ping_interval = 100ms\n agent_retry_count = 1",
                fmt::format("table both {{\n type = distributed\n dialect = http\n route = /d\n"
                            " agent = 127.0.0.1:{0}|127.0.0.1:{1}\n}}\n"
                            "table one {{\n type = distributed\n dialect = http\n route = /one\n"
                            " path = /d\n agent = 127.0.0.1:{0}\n}}\n"
                            "table two {{\n type = distributed\n dialect = http\n route = /two\n"
                            " path = /d\n agent = 127.0.0.1:{1}\n}}\n",
                            one.port(), two.port()));
  ASSERT_TRUE(master.ready());
  HttpClient client(master.port());
  for (const std::string route : {"/one", "/two"}) {
    for (const auto* command :
         {"/table_create?name=Books&flags=TABLE_HASH_KEY&key_type=ShortText",
          "/column_create?table=Books&name=title&flags=COLUMN_SCALAR&type=Text",
          "/table_create?name=Terms&flags=TABLE_PAT_KEY&key_type=ShortText"
          "&default_tokenizer=TokenBigram&normalizer=NormalizerAuto",
          "/column_create?table=Terms&name=books&flags=COLUMN_INDEX%7CWITH_POSITION"
          "&type=Books&source=title"}) {
      const auto answer = client.request("GET", route + command);
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->status, 200) << answer->body;
      EXPECT_TRUE(answer->body.ends_with("true]")) << answer->body;
    }
    const auto loaded = client.request(
        "POST", route + "/load?table=Books",
        R"([{"_key":"1","title":"karma of mirrors"},{"_key":"2","title":"mirrors and shards"},)"
        R"({"_key":"3","title":"nothing of the kind"}])",
        "Content-Type: application/json\r\n");
    ASSERT_TRUE(loaded);
    EXPECT_TRUE(loaded->body.ends_with(",3]")) << loaded->body;
  }
  const auto search =
      "/d/select?table=Books&match_columns=title&query=mirrors&output_columns=_key,title";
  const auto direct = get(one.port(), search).body;
  const auto records = direct.substr(direct.find("[[[2]"));  // before it: times, which differ
  ASSERT_TRUE(records.contains("mirrors and shards")) << direct;
  for (int i = 0; i < 60; ++i) {
    if (i == 20) one.process().kill();
    const auto answer = client.request("GET", search);
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->status, 200) << i << answer->body;
    EXPECT_TRUE(answer->body.ends_with(records)) << answer->body;
  }
  EXPECT_EQ(client.request("GET", "/one/status")->status, 502);
  EXPECT_TRUE(eventually([&] { return get(master.port(), "/readyz").status == 503; }));
  // Its own errors in its own words.
  const auto bad = client.request("GET", "/d/select?table=NoSuch");
  EXPECT_EQ(bad->status, get(two.port(), "/d/select?table=NoSuch").status);
  EXPECT_TRUE(bad->body.contains("NoSuch")) << bad->body;
}

}  // namespace
}  // namespace karmad::test
