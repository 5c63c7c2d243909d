// The page for people: how it is served. tests/scripts/dashboard shows it in a browser.
#include <gtest/gtest.h>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

TEST(Dashboard, IsOnePageThatMayLoadNothingElse) {
  FakeSet set(1);
  const Master master(taking_turns(), set.table());
  const auto page = get(master.port(), "/dashboard");
  ASSERT_EQ(page.status, 200);
  EXPECT_EQ(page.fields.at("content-type"), "text/html; charset=UTF-8");
  EXPECT_EQ(page.fields.at("x-content-type-options"), "nosniff");
  EXPECT_FALSE(page.fields.contains("content-encoding"));
  const auto& policy = page.fields.at("content-security-policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; connect-src 'self';")) << policy;
  EXPECT_FALSE(policy.contains("unsafe")) << policy;
  EXPECT_TRUE(page.body.starts_with("<!doctype html>"));
  EXPECT_FALSE(page.body.contains(" src=")) << "no other file";
  EXPECT_FALSE(page.body.contains("@SCRIPT@"));
}

TEST(Dashboard, IsSentCompressedToAClientThatTakesThat) {
  FakeSet set(1);
  const Master master(taking_turns(), set.table());
  const auto plain = get(master.port(), "/dashboard");
  const auto packed =
      ask(master.port(), "GET", "/dashboard", "", "Accept-Encoding: br;q=1, gzip;q=0.5\r\n");
  EXPECT_EQ(packed.fields.at("content-encoding"), "gzip");
  EXPECT_LT(packed.body.size(), plain.body.size() / 2);
  EXPECT_EQ(packed.body.substr(0, 2), "\x1f\x8b");
  for (const auto* refused : {"Accept-Encoding: gzip;q=0\r\n", "Accept-Encoding: br\r\n"})
    EXPECT_EQ(ask(master.port(), "GET", "/dashboard", "", refused).body, plain.body) << refused;
}

TEST(Dashboard, IsReadOnly) {
  FakeSet set(1);
  const Master master(taking_turns(), set.table());
  EXPECT_EQ(post(master.port(), "/dashboard", "{}").status, 405);
  EXPECT_EQ(post(master.port(), "/dashboard", "{}").fields.at("allow"), "GET, HEAD");
  EXPECT_EQ(get(master.port(), "/dashboard/other").status, 404);
}

}  // namespace
}  // namespace karmad::test
