// karmad --check --probe asks every agent whether it fits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/encrypted_front.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

using Then = Reaction::Then;

struct Probed {
  int code = -1;
  std::string output;
  std::chrono::milliseconds took{};
};

Probed probe(const std::string& tables, const std::string& searchd = {}) {
  const TempDir dir;
  const auto path = dir.file(
      "k.conf", fmt::format("searchd {{\n listen = 127.0.0.1:1\n {}\n}}\n{}", searchd, tables));
  const auto began = std::chrono::steady_clock::now();
  Process process("karmad", {"--check", "--probe", "--config", path});
  const auto code = process.wait();
  return {code.value_or(-1000), process.output(),
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                began)};
}

std::string probed_table(const std::string& agents, const std::string& more = {}) {
  return fmt::format("table t {{\n type = distributed\n updates = any\n {}\n agent = {}\n}}\n",
                     more, agents);
}

TEST(Probe, FindsNothingWrongWithAgentsThatFit) {
  const DemoAgent one("0/1", "one", 0, 100, {"--clock", "0"});
  const DemoAgent two("0/1", "two", 0, 100);
  const auto probed = probe(
      probed_table(one.address() + "|" + two.address() + ":products") +
      fmt::format("table n {{\n type = distributed\n ping_type = native\n agent = {}:products\n"
                  " agent_blackhole = {}:products\n}}\n"
                  "table d {{\n type = distributed\n discovery = file /m.json\n}}\n",
                  one.address(), two.address()));
  EXPECT_EQ(probed.code, 0) << probed.output;
  EXPECT_TRUE(probed.output.contains("no problems\n")) << probed.output;
  EXPECT_TRUE(probed.output.contains(
      fmt::format("{} (products): ok; karmad-demo-agent " KARMAD_VERSION ", ", one.address())))
      << probed.output;
  EXPECT_TRUE(probed.output.contains("clock +0 s, 15 columns")) << probed.output;
  EXPECT_TRUE(probed.output.contains("probe: 4 agents, no problems")) << probed.output;
  EXPECT_TRUE(probed.output.contains("table d: mirrors that its discovery finds are not asked"))
      << probed.output;
}

TEST(Probe, NamesMissingTablesOtherColumnsClocksAndTheDead) {
  const DemoAgent good("0/1", "good", 0, 100);
  const DemoAgent other("0/1", "other", 0, 100, {"--hide-column", "price", "--clock", "-9"});
  const ClosedPort gone;
  const auto probed = probe(
      probed_table(
          fmt::format("{}|{}|{}:products", good.address(), other.address(), gone.address())) +
      fmt::format("table u {{\n type = distributed\n agent = {}:nosuch\n}}\n", good.address()));
  EXPECT_EQ(probed.code, 1) << probed.output;
  for (const auto& part :
       {fmt::format("{} (products): ok", good.address()),
        fmt::format("{} (products): PROBLEM", other.address()),
        std::string("its clock is 9 s behind karmad's"),
        fmt::format("its columns differ from those of {}: price is missing here", good.address()),
        std::string("it cannot be asked: Connection refused"),
        std::string("it has no table 'nosuch'; it has products"),
        std::string("probe: 4 agents, 3 with problems")})
    EXPECT_TRUE(probed.output.contains(part)) << part << "\n" << probed.output;
}

TEST(Probe, TellsCredentialsApart) {
  for (const int status : {401, 403}) {
    const FakeMirror mirror(always(json(R"({"error":"who are you"})", status)), /*pings_too=*/true);
    const auto probed = probe(probed_table(mirror.address()));
    EXPECT_EQ(probed.code, 1);
    EXPECT_TRUE(probed.output.contains(
        fmt::format("it refuses karmad without credentials (status {})", status)))
        << probed.output;
  }
}

TEST(Probe, UsesTlsWhereTheAgentNeedsItAndSendsNothingWithoutTrust) {
  const FakeMirror mirror(
      [](const std::string& request) {
        const bool known = request.contains("Authorization: Bearer a-token-for-the-agent\r\n");
        return json(R"({"name":"n","version":{"number":"8.11.0"},"tagline":"for Search"})",
                    known ? 200 : 401);
      },
      /*pings_too=*/true);
  const EncryptedFront front(mirror.address());
  const TempDir dir;
  const auto secret = dir.file("secret", "bearer a-token-for-the-agent\n");
  const auto with = [&](const std::string& more) {
    return probe(
        fmt::format("table w {{\n type = distributed\n dialect = http\n route = /w\n agent = {}\n "
                    "credentials = {}\n {}\n}}\n",
                    front.address, secret, more));
  };
  const auto trusted = with("agent_tls = yes\n agent_tls_ca = " + front.authority.root());
  EXPECT_EQ(trusted.code, 0) << trusted.output;
  const auto asked = mirror.requests();
  EXPECT_GT(asked, 0u);
  const auto strange = with("agent_tls = yes");
  EXPECT_EQ(strange.code, 1);
  EXPECT_TRUE(strange.output.contains("certificate")) << strange.output;
  EXPECT_EQ(mirror.requests(), asked);
  const auto missing = with("agent_tls = yes\n agent_tls_ca = /none.pem");
  EXPECT_TRUE(missing.output.contains("/none.pem: no certificates in PEM can be read"))
      << missing.output;
}

TEST(Probe, AsksOtherServersWhatTheyAreAndWhetherThePathExists) {
  const auto react = [](const std::string& request) {
    if (request.starts_with("HEAD /shop "))
      return Reaction{"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"};
    return json(R"({"name":"n","version":{"number":"8.11.0"},"tagline":"You Know, for Search"})");
  };
  const FakeMirror mirror(react, /*pings_too=*/true);
  const auto table = [&](const char* route) {
    return fmt::format(
        "table w {{\n type = distributed\n dialect = http\n route = {}\n agent = {}\n}}\n", route,
        mirror.address());
  };
  const auto good = probe(table("/books"));
  EXPECT_EQ(good.code, 0) << good.output;
  EXPECT_TRUE(good.output.contains(": ok; Elasticsearch 8.11.0, ")) << good.output;
  EXPECT_TRUE(good.output.contains("note: HEAD /books is answered with status 200")) << good.output;
  const auto bad = probe(table("/shop"));
  EXPECT_EQ(bad.code, 1) << bad.output;
  EXPECT_TRUE(bad.output.contains("HEAD /shop is answered with status 404")) << bad.output;
}

TEST(Probe, AsksAKarmadBelowForItsTables) {
  const FakeMirror mirror(always(nothing_found()));
  Master below("ha_ping_interval = 20ms",
               fmt::format("table t {{\n type = distributed\n agent = {}\n}}\n", mirror.address()));
  ASSERT_TRUE(below.ready());
  const auto address = fmt::format("127.0.0.1:{}", below.port());
  const auto good = probe(probed_table(address));
  EXPECT_EQ(good.code, 0) << good.output;
  EXPECT_TRUE(good.output.contains(": ok; karmad " KARMAD_VERSION)) << good.output;
  const auto bad = probe(probed_table(address + ":other"));
  EXPECT_EQ(bad.code, 1);
  EXPECT_TRUE(bad.output.contains("it has no table 'other'")) << bad.output;
}

TEST(Probe, EndsInTimeAndSafelyWhateverAnAgentSends) {
  const FakeMirror silent(always(silence()), true);
  const FakeMirror garbage(always({.bytes = "garbage\r\n\r\n", .then = Then::close}), true);
  const FakeMirror deep(always(json(std::string(500'000, '['))), true);
  const FakeMirror large(always(json(std::string(2 << 20, ' '))), true);
  const FakeMirror lies(
      always(json(R"([{"data":[{"Table":"\u001b[31mred","Type":1},{"Table":"t"},7,null]}])")),
      true);
  const FullPort full;
  std::string agents = fmt::format("{}|{}|{}|{}|{}|{}", silent.address(), garbage.address(),
                                   deep.address(), large.address(), full.address(), lies.address());
  std::string tables = probed_table(agents);
  for (int i = 0; i < 20; ++i)
    tables.insert(tables.size() - 2, " agent = " + silent.address() + "\n");
  const auto probed = probe(tables);
  EXPECT_EQ(probed.code, 1);
  EXPECT_LT(probed.took, kSoon);
  EXPECT_TRUE(probed.output.contains("probe: 26 agents, 25 with problems")) << probed.output;
  EXPECT_FALSE(probed.output.contains('\x1b')) << probed.output;
}

TEST(Probe, IsForGoodConfigurationsOnlyAndNeedsCheck) {
  const auto bad = probe("table t {\n type = distributed\n agent = 127.0.0.1:99999\n}\n");
  EXPECT_EQ(bad.code, 78) << bad.output;
  EXPECT_FALSE(bad.output.contains("probe:")) << bad.output;
  const TempDir dir;
  Process alone("karmad", {"--probe", "-c", dir.file("k.conf", "")});
  EXPECT_EQ(alone.wait(), 2) << alone.output();
}

}  // namespace
}  // namespace karmad::test
