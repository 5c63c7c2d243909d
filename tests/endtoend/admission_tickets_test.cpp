// Requests that need a ticket, with the number of tickets that the test configures.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <optional>

#include "tests/support/fake_set.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

using namespace std::chrono_literals;

/// The settings for this number of concurrent searches and this length of the queue.
std::string tickets(int out, int waiting, std::string_view more = {}) {
  return taking_turns(
      fmt::format("search_tickets = {}\n ticket_queue_depth = {}\n {}", out, waiting, more));
}

bool shows(const Master& master, std::string_view key, std::int64_t value) {
  return eventually([&] { return master.count(std::string(key)) == value; });
}

Pending search(const Master& master, std::string_view fields = {}) {
  return Pending(master, "/search", kFindAll, fields);
}

/// A master in front of a mirror that never answers, and searches that have all its tickets.
struct Busy {
  explicit Busy(const std::string& searchd, std::size_t searches)
      : mirrors(1, silence()), master(searchd, mirrors.table()) {
    for (std::size_t i = 0; i < searches; ++i) inside.push_back(search(master));
    EXPECT_TRUE(eventually([&] { return mirrors.requests() == searches; }));
  }
  /// Waits until this number of requests waits for a ticket.
  bool has_waiting(std::int64_t requests) {
    return shows(master, "search_tickets_queued", requests);
  }
  /// Answers searches from now on: those in progress end and return their tickets.
  void go_on() {
    mirrors.react(nothing_found());
    inside.clear();
  }

  FakeSet mirrors;
  RestingMaster master;
  std::vector<Pending> inside;
};

// AC-010, AC-011, AC-065
TEST(Tickets, SearchesBeyondTheTicketsWaitAndBeyondTheQueueAreRefused) {
  Busy busy(tickets(2, 2), 2);
  Pending first = search(busy.master);
  Pending second = search(busy.master);
  ASSERT_TRUE(busy.has_waiting(2));
  const auto refused = busy.master.find();
  EXPECT_EQ(refused.status, 429);
  const auto seconds = std::atoi(refused.fields.at("retry-after").c_str());
  EXPECT_GE(seconds, 1);
  EXPECT_LE(seconds, 30);
  EXPECT_EQ(refused.fields.at("x-error-labels"), "SystemOverloadedError, RetryableError");
  EXPECT_NE(refused.body.find("\"code\":462"), std::string::npos) << refused.body;
  EXPECT_EQ(busy.mirrors.requests(), 2u) << "no more reach the mirror";
  EXPECT_EQ(busy.master.count("search_tickets_out"), 2);
  EXPECT_EQ(busy.master.count("search_tickets_available"), 0);
  EXPECT_EQ(busy.master.count("tickets_refused"), 1);
  busy.go_on();
  EXPECT_EQ(first.answer().status, 200);
  EXPECT_EQ(second.answer().status, 200);
  EXPECT_EQ(busy.master.count("tickets_waited"), 2);
}

TEST(Tickets, AClientThatLeavesTheQueueFreesItsPlace) {  // AC-010
  Busy busy(tickets(1, 1), 1);
  {
    const Pending leaves = search(busy.master);
    ASSERT_TRUE(busy.has_waiting(1));
  }
  ASSERT_TRUE(busy.has_waiting(0));
  Pending waits = search(busy.master);
  ASSERT_TRUE(busy.has_waiting(1));
  busy.go_on();
  EXPECT_EQ(waits.answer().status, 200);
  EXPECT_EQ(busy.mirrors.requests(), 2u);
}

TEST(Tickets, ARequestThatWaitsUntilItsDeadlineGetsTheLengthOfItsWait) {  // AC-010
  Busy busy(tickets(1, 1), 1);
  const auto late = busy.master.find("", "X-Timeout-Ms: 50\r\nX-Karmad-Trace: 1\r\n");
  EXPECT_EQ(late.status, 429);
  EXPECT_NE(late.body.find("waited "), std::string::npos) << late.body;
  EXPECT_NE(late.fields.at("x-karmad-trace").find("\"queued_us\":"), std::string::npos);
  EXPECT_EQ(busy.master.count("tickets_expired"), 1);
}

constexpr std::string_view kLow = "X-Priority: low\r\n";

TEST(Tickets, LowPriorityHasItsOwnPoolAndQueue) {  // AC-007
  Busy busy(tickets(2, 2, "low_priority = 1\n low_priority_tickets = 1"), 2);
  Pending normal = search(busy.master);
  ASSERT_TRUE(busy.has_waiting(1));
  std::optional inside = search(busy.master, kLow);
  ASSERT_TRUE(eventually([&] { return busy.mirrors.requests() == 3; })) << "it does not starve";
  Pending low = search(busy.master, kLow);
  ASSERT_TRUE(shows(busy.master, "low_search_tickets_queued", 1));
  EXPECT_EQ(busy.master.count("low_search_tickets_out"), 1);
  EXPECT_EQ(busy.master.count("low_search_tickets_available"), 0);
  EXPECT_EQ(busy.master.count("low_search_tickets_total"), 1);
  EXPECT_EQ(busy.master.count("low_update_tickets_out"), 0);
  EXPECT_EQ(busy.master.count("search_tickets_out"), 2) << "nor takes what others need";
  const auto told = get(busy.master.port(), "/admission").body;
  rapidjson::Document admission;
  admission.Parse(told.c_str());
  EXPECT_EQ(admission["tickets"][3]["low"]["queueLength"].GetInt(), 1) << told;
  EXPECT_EQ(admission["tickets"][1]["normal"]["queueLength"].GetInt(), 1) << told;
  busy.go_on();
  EXPECT_EQ(normal.answer().status, 200);
  EXPECT_EQ(busy.master.count("low_search_tickets_queued"), 1) << "those were not for it";
  inside.reset();
  EXPECT_EQ(low.answer().status, 200);
}

TEST(Tickets, MonitoringCountsAndRefusesNoRequest) {
  Busy busy(tickets(1, 1, "admission = monitor"), 3);
  EXPECT_EQ(busy.master.count("tickets_would_wait"), 1);
  EXPECT_EQ(busy.master.count("tickets_would_be_refused"), 1);
  EXPECT_EQ(busy.master.count("tickets_refused"), 0);
}

TEST(Tickets, RequestsAboutKarmadNeedNone) {  // AC-005, AC-062
  const FakeSet mirrors(1);
  const RestingMaster master(taking_turns("ingress_tickets = 0"), mirrors.table());
  EXPECT_EQ(master.find().status, 429);
  EXPECT_EQ(insert(master).status, 429);
  for (const auto* path : {"/", "/healthz", "/readyz", "/agents", "/hello", "/status", "/metrics",
                           "/events", "/admission"}) {
    const auto status = get(master.port(), path).status;
    EXPECT_TRUE(status == 200 || status == 503) << path << ' ' << status;
  }
  EXPECT_EQ(master.count("ingress_tickets_total"), 0);
  EXPECT_GE(master.count("tickets_exempt"), 8);
  EXPECT_EQ(mirrors.requests(), 0u);
}

TEST(Tickets, UpdatesHaveTheirOwn) {  // AC-002
  FakeSet mirrors(1, silence());
  const RestingMaster master(tickets(1, 0, "update_tickets = 0"), mirrors.table("updates = any"));
  const Pending inside = search(master);
  ASSERT_TRUE(eventually([&] { return mirrors.requests() == 1; }));
  const auto refused = insert(master);
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.body.find("update_tickets"), std::string::npos) << refused.body;
}

TEST(Tickets, OneIsForTheWholeRequest) {  // AC-063: retries need no further one
  FakeSet mirrors(3, refused(429, ""));
  const RestingMaster master(tickets(1, 0), mirrors.table());
  mirrors[2].react(always(nothing_found()));
  EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(master.count("tickets_refused"), 0);
}

TEST(Tickets, AReloadResizesAndLosesNoRequest) {  // AC-012
  Busy busy(tickets(1, 4), 1);
  Pending first = search(busy.master);
  Pending second = search(busy.master);
  ASSERT_TRUE(busy.has_waiting(2));
  ASSERT_TRUE(busy.master.reload(tickets(2, 0), busy.mirrors.table()));
  EXPECT_TRUE(busy.has_waiting(1))
      << "one more ticket; waiting requests stay, but no further one may wait";
  EXPECT_EQ(busy.master.find().status, 429);
  ASSERT_TRUE(busy.master.reload(tickets(1, 0), busy.mirrors.table()));
  EXPECT_EQ(busy.master.count("search_tickets_out"), 2);
  busy.inside.clear();
  EXPECT_TRUE(shows(busy.master, "search_tickets_total", 1));
  EXPECT_TRUE(busy.has_waiting(1)) << "the ticket that came back is gone";
  ASSERT_TRUE(busy.master.reload(taking_turns(), busy.mirrors.table()));
  EXPECT_TRUE(busy.has_waiting(0)) << "there is no limit any more";
  EXPECT_TRUE(eventually([&] { return busy.mirrors.requests() == 3; }));
}

TEST(Tickets, StatusIsJson) {
  Busy busy(tickets(2, 3), 1);
  const Pending second = search(busy.master);
  ASSERT_TRUE(shows(busy.master, "search_tickets_out", 2));
  rapidjson::Document status;
  status.Parse(get(busy.master.port(), "/status").body.c_str());
  ASSERT_TRUE(status.IsObject());
  EXPECT_EQ(status["search_tickets_out"].GetInt(), 2);
  EXPECT_STREQ(status["update_tickets_total"].GetString(), "unlimited");
  rapidjson::Document admission;
  admission.Parse(get(busy.master.port(), "/admission").body.c_str());
  ASSERT_TRUE(admission.IsObject());
  EXPECT_STREQ(admission["admission"].GetString(), "enforce");
  const auto& pool = admission["tickets"][1];
  EXPECT_EQ(pool["out"].GetInt(), 2);
  EXPECT_EQ(pool["settings"]["ticket_queue_depth"].GetInt(), 3);
  EXPECT_EQ(pool["normal"]["processing"].GetInt(), 2);
}

// The mirror takes 5 ms for a search, however many it has: each ticket more is throughput.
TEST(Tickets, ProbingFindsItsSizeWhileItWorks) {  // AC-004, AC-022, AC-023
  FakeSet mirrors(1);
  mirrors[0].react(always(slowly(5ms)));
  const RestingMaster master(
      taking_turns("search_tickets = auto\n throughput_probing_min_concurrency = 1\n "
                   "throughput_probing_initial_concurrency = 2\n ticket_queue_depth = 100\n "
                   "throughput_probing_concurrency_adjustment_interval = 50ms"),
      mirrors.table());
  const auto size = [&] {
    rapidjson::Document told;
    told.Parse(get(master.port(), "/admission").body.c_str());
    return told["tickets"][1]["totalTickets"].GetInt();
  };
  EXPECT_LE(size(), 2);
  const Load load(master.port(), 12, expecting_200(std::string(kFindAll)));
  EXPECT_TRUE(eventually([&] { return size() >= 5; })) << get(master.port(), "/admission").body;
}

}  // namespace
}  // namespace karmad::test
