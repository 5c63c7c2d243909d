#include "balancer/pipeline/admit.hpp"

#include <rapidjson/document.h>

#include <vector>

#include "balancer/admission/admission.hpp"
#include "balancer/endpoints/endpoints.hpp"
#include "balancer/pipeline/pipeline.hpp"
#include "balancer/status/status_json.hpp"
#include "tests/balancer/pipeline/asking.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kSearch = "POST /search HTTP/1.1\r\nHost: h\r\n";
constexpr std::string_view kInsert = "POST /insert HTTP/1.1\r\nHost: h\r\n";

struct AdmitHandle : testing::Asking {
  AdmitHandle() { shared.process.user_handles = handles; }

  /// A request that is being answered, or has its answer.
  struct Request {
    Request(AdmitHandle& test, std::string_view with_head, std::string_view with_body = {})
        : bytes(std::string(with_head).append("\r\n")), body(with_body) {
      EXPECT_TRUE(parse_request_head(bytes, {}, head));
      query.emplace(test.worker, *test.worker.topology_now(), head, body, "::1");
      query->client.admissions = &test.admissions;
      spawn([](Request& self) -> Task<void> {
        self.answer = co_await pass_pipeline(*self.query);
      }(*this));
    }
    std::string bytes;
    std::string body;
    RequestHead head;
    std::optional<Query> query;
    std::optional<Answer> answer;
  };

  void admit(const std::string& searchd) {
    const auto loaded = load_text("searchd {\n" + searchd + "\n}\n");
    ASSERT_TRUE(loaded.settings);
    settings = loaded.settings->searchd;
    if (!admission) {
      admission.emplace(1, loops, 1000, settings, Loop::now());
      shared.limits.admission = &*admission;
    } else {
      admission->settings(settings, Loop::now());
    }
  }
  std::uint64_t counted(Count count) { return worker.counters[static_cast<std::size_t>(count)]; }
  std::uint64_t out(const TicketPool& pool) { return pool.statistics().out; }

  ~AdmitHandle() override {
    if (!admission) return;
    for (const auto& [name, label, pool] : admission->pools())
      EXPECT_EQ(out(*pool), 0U) << name << ": no ticket is in use";
  }

  InstanceSettings settings;
  std::optional<Admission> admission;
  std::uint64_t admissions = 0;
  int asked = 0;
  std::function<Task<Answer>(Query&)> next = [this](Query&) -> Task<Answer> {
    ++asked;
    co_return Answer{};
  };
  const std::vector<UserHandle> handles{[this](Query& query, Next) { return next(query); }};
};

TEST_F(AdmitHandle, AdmitsEveryRequestWithoutAdmission) {
  const Request request(*this, kSearch);
  EXPECT_EQ(request.answer->status, 200);
  admit("admission = off\n search_tickets = 0");
  const Request another(*this, kSearch);
  EXPECT_EQ(another.answer->status, 200);
  EXPECT_EQ(admission->searches.finished(), 0U);
}

TEST_F(AdmitHandle, HoldsTheTicketsUntilTheQueryEnds) {  // AC-064
  admit("search_tickets = 2");
  {
    const Request request(*this, kSearch);
    EXPECT_TRUE(request.answer);
    EXPECT_EQ(out(admission->ingress), 1U);
    EXPECT_EQ(out(admission->searches), 1U);
    EXPECT_EQ(out(admission->updates), 0U);
  }
  EXPECT_EQ(out(admission->searches), 0U);
  const Request update(*this, kInsert);
  EXPECT_EQ(out(admission->updates), 1U);
}

TEST_F(AdmitHandle, RefusesWithLabelsCodeAndRetryAfter) {  // AC-011, BP-015
  admit("search_tickets = 1\n ticket_queue_depth = 0");
  const Request first(*this, kSearch);
  const Request second(*this, kSearch);
  ASSERT_TRUE(second.answer);
  EXPECT_EQ(second.answer->status, 429);
  EXPECT_EQ(second.answer->retry_after, 1U);
  EXPECT_EQ(second.answer->error_labels, "SystemOverloadedError, RetryableError");
  EXPECT_EQ(second.answer->body,
            R"({"error":{"type":"overloaded","reason":"all tickets (search_tickets) are taken, )"
            R"-(and their queue is full (ticket_queue_depth)","code":462,)-"
            R"("labels":["SystemOverloadedError","RetryableError"]},"status":429})");
  EXPECT_EQ(counted(Count::tickets_refused), 1U);
  EXPECT_EQ(asked, 1);
  const Request update(*this, kInsert);
  EXPECT_EQ(update.answer->status, 200) << "it has a pool of its own";
}

TEST_F(AdmitHandle, WaitsInTurn) {  // AC-065
  admit("search_tickets = 1");
  std::optional<Request> first(std::in_place, *this, kSearch);
  std::optional<Request> second(std::in_place, *this, kSearch);
  const Request third(*this, kSearch);
  EXPECT_FALSE(second->answer);
  first.reset();
  EXPECT_TRUE(second->answer);
  EXPECT_FALSE(third.answer);
  second.reset();
  ASSERT_TRUE(third.answer);
  EXPECT_EQ(third.answer->status, 200);
  EXPECT_EQ(counted(Count::tickets_waited), 2U);
}

TEST_F(AdmitHandle, AClientThatLeavesFreesItsPlace) {  // AC-010
  admit("search_tickets = 1\n ticket_queue_depth = 1");
  std::optional<Request> first(std::in_place, *this, kSearch);
  Request gone(*this, kSearch);
  gone.query->client.left = true;
  gone.query->stop();
  EXPECT_TRUE(gone.answer);
  const Request waits(*this, kSearch);
  EXPECT_FALSE(waits.answer);
  first.reset();
  EXPECT_EQ(waits.answer->status, 200);
  EXPECT_EQ(asked, 2) << "no mirror is asked for a client that left";
}

TEST_F(AdmitHandle, ReportsTheWaitOfARefusedRequest) {
  admit("search_tickets = 1\n ticket_queue_timeout = 1ms");
  const Request first(*this, kSearch);
  const Request second(*this, kSearch);
  EXPECT_FALSE(second.answer);
  while (!second.answer) worker.loop.io.run_one();
  EXPECT_EQ(second.answer->status, 429);
  EXPECT_NE(second.answer->body.find("waited "), std::string::npos) << second.answer->body;
  EXPECT_NE(second.answer->body.find("ticket_queue_timeout"), std::string::npos);
  EXPECT_GT(second.query->record.trace.queued, 0us);
  EXPECT_EQ(counted(Count::tickets_expired), 1U);
  EXPECT_EQ(counted(Count::tickets_refused), 1U);
}

// AC-010: the deadline matters to a request that waits, not to a free ticket.
TEST_F(AdmitHandle, AFreeTicketIsGivenEvenAfterTheDeadline) {
  admit("search_tickets = 1");
  const auto late = std::string(kSearch).append("X-Timeout-Ms: 0\r\n");
  {
    const Request request(*this, late);
    ASSERT_TRUE(request.answer);
    EXPECT_LE(request.query->resources.deadline, Loop::now());
    EXPECT_EQ(request.answer->status, 200);
    EXPECT_EQ(out(admission->searches), 1U);
  }
  const Request first(*this, kSearch);
  const Request second(*this, late);
  while (!second.answer) worker.loop.io.run_one();
  EXPECT_EQ(second.answer->status, 429);
  EXPECT_EQ(asked, 2);
}

TEST_F(AdmitHandle, ExemptRequestsNeedNoTicket) {  // AC-008, AC-062
  admit("ingress_tickets = 0");
  const Request search(*this, kSearch);
  EXPECT_EQ(search.answer->status, 429) << "0 blocks everything that is subject to it (AC-060)";
  const Request health(*this, "GET /healthz HTTP/1.1\r\nHost: h\r\n");
  EXPECT_EQ(health.answer->status, 200);
  EXPECT_EQ(admission->ingress.statistics()[Priority::exempt].processing(), 1U);
}

TEST_F(AdmitHandle, LowPriorityNeitherStarvesNorKeepsOthersOut) {  // AC-007
  const std::string low = std::string(kSearch).append("X-Priority: low\r\n");
  admit(
      "ingress_tickets = 3\n search_tickets = 1\n ticket_queue_depth = 1\n low_priority = 1\n"
      " low_priority_tickets = 1");
  std::optional<Request> busy(std::in_place, *this, kSearch);
  const Request queued(*this, kSearch);
  std::optional<Request> inside(std::in_place, *this, low);
  EXPECT_TRUE(inside->answer) << "whatever waits elsewhere";
  EXPECT_EQ(admissions, 1U);
  const Request waits(*this, low);
  EXPECT_FALSE(waits.answer);
  const Request one_more(*this, low);
  EXPECT_EQ(one_more.answer->status, 429);
  EXPECT_TRUE(one_more.answer->body.contains("low_priority_tickets"));
  EXPECT_EQ(out(admission->ingress), 3U) << "who waits with low priority has none of these";
  inside.reset();
  EXPECT_EQ(waits.answer->status, 200);
  const auto statistics = admission->low_searches.statistics();
  EXPECT_EQ(statistics[Priority::low].started_processing, 2U);
  EXPECT_EQ(statistics[Priority::low].refused, 1U);
  EXPECT_EQ(admission->low_updates.statistics().out, 0U);
  EXPECT_FALSE(queued.answer);
  busy.reset();
  EXPECT_EQ(queued.answer->status, 200);
}

TEST_F(AdmitHandle, ServesLowPriorityByTheFewestAdmissions) {  // AC-007
  const std::string low = std::string(kInsert).append("X-Priority: low\r\n");
  admit("low_priority = 1\n low_priority_tickets = 1");
  std::optional<Request> first(std::in_place, *this, low);
  std::optional<Request> often(std::in_place, *this, low);
  admissions = 0;  // a connection that had none yet
  std::optional<Request> seldom(std::in_place, *this, low);
  first.reset();
  EXPECT_FALSE(often->answer);
  EXPECT_TRUE(seldom->answer);
  seldom.reset();
  EXPECT_TRUE(often->answer);
}

TEST_F(AdmitHandle, LowPriorityHasAnEffectOnlyWithItsSetting) {  // AC-007
  const std::string low = std::string(kSearch).append("X-Priority: low\r\n");
  admit("search_tickets = 1\n low_priority_tickets = 0");
  std::optional<Request> as_any(std::in_place, *this, low);
  EXPECT_EQ(as_any->answer->status, 200);
  EXPECT_EQ(out(admission->searches), 1U);
  as_any.reset();
  admit("search_tickets = 1\n low_priority_tickets = 0\n low_priority = 1");
  const Request refused(*this, low);
  EXPECT_EQ(refused.answer->status, 429);
  const Request high(*this, std::string(kSearch).append("X-Priority: high\r\n"));
  EXPECT_EQ(high.answer->status, 200);
}

TEST_F(AdmitHandle, SetsRetryAfterByTheLengthOfTheQueue) {  // BP-015
  admit("search_tickets = 1\n ticket_queue_depth = 3");
  std::optional<Request> first(std::in_place, *this, kSearch);
  std::vector<std::unique_ptr<Request>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(std::make_unique<Request>(*this, kSearch));
  auto now = Loop::now();
  admission->sample(now);
  first.reset();
  admission->sample(now += 2s);  // one in two seconds
  waiting.push_back(std::make_unique<Request>(*this, kSearch));
  const Request refused(*this, kSearch);
  ASSERT_TRUE(refused.answer);
  EXPECT_EQ(refused.answer->retry_after, 8U) << "three wait, then it is its turn";
  while (!waiting.empty()) waiting.erase(waiting.begin());
}

TEST_F(AdmitHandle, MonitoringRefusesNoRequest) {
  admit("search_tickets = 1\n ticket_queue_depth = 1\n admission = monitor");
  const Request a(*this, kSearch);
  const Request b(*this, kSearch);
  const Request c(*this, kSearch);
  EXPECT_TRUE(a.answer && b.answer && c.answer);
  const auto statistics = admission->searches.statistics();
  EXPECT_EQ(statistics[Priority::normal].would_queue, 1U);
  EXPECT_EQ(statistics[Priority::normal].would_refuse, 1U);
}

TEST_F(AdmitHandle, AReloadKeepsWaitingRequests) {
  admit("search_tickets = 1");
  const Request first(*this, kSearch);
  const Request second(*this, kSearch);
  admit("search_tickets = 1\n ticket_queue_depth = 0");
  EXPECT_FALSE(second.answer);
  admit("search_tickets = 2");
  EXPECT_EQ(second.answer->status, 200);
}

TEST_F(AdmitHandle, DoesNotCountUnlimitedPools) {
  admit("ingress_tickets = 1000\n search_tickets = 999");
  const Request request(*this, kSearch);
  EXPECT_FALSE(admission->ingress.statistics().peak) << "there are at most 1000 connections";
  EXPECT_EQ(admission->ingress.statistics().available, 999);
  EXPECT_TRUE(admission->searches.statistics().peak);
}

TEST_F(AdmitHandle, ShowsEveryPoolAndTheProbing) {  // AC-015, AC-027
  admit("search_tickets = auto\n update_tickets = 3\n throughput_probing_initial_concurrency = 9");
  const Request request(*this, kSearch);
  std::string text;
  append_admission_json(text, worker);
  rapidjson::Document json;
  json.Parse(text.c_str());
  ASSERT_TRUE(json.IsObject()) << text;
  EXPECT_EQ(json["limiters"]["network"]["ingressRequestRateLimiter"]["rejectedAdmissions"].GetInt(),
            0);
  const auto& search = json["tickets"][1];
  EXPECT_STREQ(search["name"].GetString(), "search_tickets");
  EXPECT_EQ(search["out"].GetInt(), 1);
  EXPECT_EQ(search["available"].GetInt(), 8);
  EXPECT_EQ(search["totalTickets"].GetInt(), 9);
  EXPECT_EQ(search["settings"]["ticket_queue_depth"].GetInt(), 36);
  EXPECT_EQ(search["normal"]["startedProcessing"].GetInt(), 1);
  EXPECT_EQ(search["delinquent"]["count"].GetInt(), 0);
  EXPECT_EQ(json["tickets"][2]["totalTickets"].GetInt(), 3);
  EXPECT_EQ(search["retryAfterSeconds"].GetInt(), 1);
  const auto& low = json["tickets"][3];
  EXPECT_STREQ(low["name"].GetString(), "low_priority_tickets (searches)");
  EXPECT_EQ(low["totalTickets"].GetInt(), 4);
  EXPECT_STREQ(low["settings"]["ticket_queue_discipline"].GetString(), "fewest admissions");
  EXPECT_STREQ(json["tickets"][4]["name"].GetString(), "low_priority_tickets (updates)");
  EXPECT_TRUE(json["probing"]["searches"].GetBool());
  EXPECT_FALSE(json["probing"]["updates"].GetBool());
  EXPECT_EQ(json["probing"]["searchTickets"].GetInt(), 9);
}

TEST_F(AdmitHandle, TheProbingResizesThePoolItProbes) {  // AC-022
  admit("search_tickets = auto\n throughput_probing_initial_concurrency = 20");
  TimePoint now = Loop::now();
  Probing probing(admission->searches, admission->updates, 1);
  probing.parameters({.initial = 20, .writes = false});
  probing.sample(now);
  std::vector<Ticket> tickets;
  for (int i = 0; i < 20; ++i)
    tickets.push_back(admission->searches.try_take(0, Priority::normal, now));
  probing.sample(now += 100ms);
  EXPECT_EQ(admission->searches.size(), 22U);
  EXPECT_EQ(probing.status().state, ProbeState::up);
  probing.sample(now += 100ms);
  EXPECT_EQ(admission->searches.size(), 20U) << "it brought nothing";
  EXPECT_EQ(probing.status().counters.times_probed_up, 1U);
}

// AC-062
TEST_F(AdmitHandle, TheEndpointDecidesWhichTicketItNeeds) {
  const struct {
    std::string_view head;
    std::string_view body;
    TicketClass ticket_class;
  } cases[] = {
      {"POST /search", "", TicketClass::search},
      {"POST /json/search", "", TicketClass::search},
      {"POST /json/bulk", "", TicketClass::update},
      {"POST /insert", "", TicketClass::update},
      {"GET /healthz", "", TicketClass::exempt},
      {"GET /readyz", "", TicketClass::exempt},
      {"GET /agents", "", TicketClass::exempt},
      {"GET /hello", "", TicketClass::exempt},
      {"GET /status", "", TicketClass::exempt},
      {"GET /admission", "", TicketClass::exempt},
      {"GET /", "", TicketClass::exempt},
      {"GET /nowhere", "", TicketClass::exempt},
      {"GET /sql?query=select+1", "", TicketClass::search},
      {"GET /sql?query=SHOW+STATUS", "", TicketClass::exempt},
      {"POST /cli_json", "desc t", TicketClass::exempt},
      {"POST /cli", "select * from t", TicketClass::search},
      {"POST /sql", "", TicketClass::exempt},
  };
  for (const auto& c : cases) {
    Request request(*this, std::string(c.head).append(" HTTP/1.1\r\nHost: h\r\n"), c.body);
    EXPECT_EQ(ticket_class_of(*request.query), c.ticket_class) << c.head;
  }
}

}  // namespace
}  // namespace karmad
