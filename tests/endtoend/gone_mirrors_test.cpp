// Connections of a mirror that is gone or shutting down are closed, so that a server that waits for
// its connections can stop (SD-008, SD-023).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

/// A primary and two replicas; the first replica goes down in a way of the test.
class GoneMirror : public testing::TestWithParam<int> {
 protected:
  enum class How { well, pings_fail, searches_say_so };

  static Reaction hello(const std::string& role) {
    return json(fmt::format(R"({{"ok":true,"set":"s","role":"{}"}})", role));
  }
  Reaction of_replica(const std::string& request) {
    if (request.starts_with("GET /hello"))
      return how == How::pings_fail ? json("{}", 503) : hello("replica");
    if (how == How::searches_say_so)
      return json(R"({"error":{"type":"shutting_down"},"code":11600})", 503);
    return nothing_found();
  }

  std::atomic<How> how = How::well;
  FakeMirror primary{[](const std::string& request) {
                       return request.starts_with("GET /hello") ? hello("primary")
                                                                : nothing_found();
                     },
                     true};
  FakeMirror replica{[this](const std::string& request) { return of_replica(request); }, true};

  std::string settings() const {
    auto lines = choosing();
    return lines.replace(lines.find("workers = 1"), 11, fmt::format("workers = {}", GetParam()));
  }
  std::string table() const {
    return table_of({line_of({primary.address(), replica.address()})},
                    "read_preference = secondaryPreferred\n ping_type = native");
  }
  /// Leaves unused connections to the replica on the workers.
  void open_connections(const Master& master) {
    replica.hold();
    std::vector<Pending> searches;
    for (int i = 0; i < 12; ++i) searches.push_back(Pending::search(master, {}));
    ASSERT_TRUE(eventually([&] { return replica.busy() >= 12; }));
    replica.release();
    for (auto& search : searches) EXPECT_EQ(search.answer().status, 200);
    EXPECT_GE(replica.open_connections(), 12u);
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, GoneMirror, testing::Values(1, 3));

// Of the connections only that of the pings stays.
TEST_P(GoneMirror, HasNoConnectionsWhenItsPingsFail) {  // SD-008
  const RestingMaster master(settings(), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  open_connections(master);
  how = How::pings_fail;
  EXPECT_TRUE(eventually([&] { return replica.open_connections() <= 1; }))
      << replica.open_connections();
  how = How::well;
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  open_connections(master);
}

TEST_P(GoneMirror, HasNoConnectionsWhenItSaysThatItShutsDown) {  // SD-023
  const RestingMaster master(settings(), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  open_connections(master);
  how = How::searches_say_so;
  EXPECT_EQ(master.find().status, 200);
  EXPECT_TRUE(eventually([&] { return replica.open_connections() <= 1; }))
      << replica.open_connections();
}

TEST_P(GoneMirror, HasNoConnectionsWhenAReloadRemovesIt) {
  RestingMaster master(settings(), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  open_connections(master);
  ASSERT_TRUE(
      master.reload(settings(), table_of({line_of({primary.address()})}, "ping_type = native")));
  EXPECT_TRUE(eventually([&] { return replica.open_connections() == 0; }))
      << replica.open_connections();
}

}  // namespace
}  // namespace karmad::test
