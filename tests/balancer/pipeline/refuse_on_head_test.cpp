#include <gtest/gtest.h>

#include "balancer/admission/admission.hpp"
#include "balancer/pipeline/pipeline.hpp"
#include "tests/balancer/pipeline/asking.hpp"

namespace karmad {
namespace {

/// All steps on a head refuse; a test disables single ones. Complete bodies have 150000 bytes.
struct RefuseOnHead : testing::Asking {
  static constexpr std::string_view kRate =
      " ingress_request_rate = 1/h\n ingress_request_burst = 1h\n";
  static constexpr std::string_view kSmallPackets = " max_packet_size = 100000\n";

  struct Holder final : MemoryHolder {
    using MemoryHolder::MemoryHolder;
    void on_denied(MemoryDenial) override {}
  };

  RefuseOnHead() {
    shared.limits.memory.limit(1 << 20);
    shared.limits.memory.add(1 << 20);
    use(std::string(kRate).append(kSmallPackets));
    const std::string first = "GET /search HTTP/1.1\r\nHost: h\r\n";
    EXPECT_FALSE(refused(first, /*arrived=*/false)) << "it takes the only token";
    admission.emplace(1, loops, 1000, tickets->searchd, Loop::now());
    shared.limits.admission = &*admission;
  }

  void use(const std::string& searchd) {
    const auto loaded = load_text("searchd {\n" + searchd +
                                  "}\ntable t {\n type = distributed\n agent = a:1:x\n}\n");
    ASSERT_TRUE(loaded.settings);
    topology = Topology::build(*loaded.settings, {.registry = registry, .loops = loops}, nullptr,
                               problems);
    shared.limits.rates.adopt(topology->settings, Loop::now());
  }

  std::optional<EarlyRefusal> refused(
      std::string bytes, bool arrived,
      std::optional<EarlyRefusal> step(const ArrivedHead&) = refuse_on_head) {
    bytes.append("\r\n");
    RequestHead head;
    EXPECT_EQ(parse_request_head(bytes, {}, head), HeadState::complete) << bytes;
    Holder holder(worker.loop.memory);
    return step({worker, *topology, head, client, holder, arrived});
  }
  /// The refusal of a request whose body has not arrived.
  std::optional<EarlyRefusal> of_head(std::string_view target, std::string_view fields) {
    return refused(
        std::string("POST ").append(target).append(" HTTP/1.1\r\nHost: h\r\n").append(fields),
        /*arrived=*/false);
  }
  std::optional<EarlyRefusal> of_whole() {
    return refused("POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: 150000\r\n",
                   /*arrived=*/true);
  }
  std::uint64_t counted(Count count) { return worker.counters[static_cast<std::size_t>(count)]; }

  std::optional<IpAddress> client;
  std::shared_ptr<const Topology> topology;
  std::optional<Settings> tickets = load_text("searchd {\n search_tickets = 0\n}\n").settings;
  std::optional<Admission> admission;
};

constexpr std::string_view kLong = "Content-Length: 150000\r\n";

void expect_refused(const std::optional<EarlyRefusal>& refused, int status, std::string_view by,
                    bool ends_connection) {
  ASSERT_TRUE(refused) << by;
  EXPECT_EQ(refused->answer.status, status) << by;
  EXPECT_TRUE(refused->answer.body.contains(by)) << refused->answer.body;
  EXPECT_EQ(refused->ends_connection, ends_connection) << by;
}

TEST_F(RefuseOnHead, TheFirstStepThatRefusesWins) {
  expect_refused(of_head("/search", kLong), 429, "ingress_request_rate", true);
  use(std::string(kSmallPackets));
  expect_refused(of_head("/search", kLong), 413, "max_packet_size", true);
  EXPECT_EQ(counted(Count::bad_requests), 1U);
  use("");
  expect_refused(of_head("/search", kLong), 429, "memory_limit", true);
  shared.limits.memory.add(-(1 << 20));
  EXPECT_FALSE(of_head("/search", kLong)) << "there may be a ticket when its body is here";
  expect_refused(of_whole(), 429, "search_tickets", false);
  shared.limits.admission = nullptr;
  EXPECT_FALSE(of_whole());
}

TEST_F(RefuseOnHead, ABodyThatIsHereNeedsNoMemory) {
  use("");
  expect_refused(of_whole(), 429, "search_tickets", false);
}

TEST_F(RefuseOnHead, RequestsAboutKarmadAreRefusedForTheirSizeOnly) {  // AC-053
  expect_refused(of_head("/status", kLong), 413, "max_packet_size", true);
  use(std::string(kRate));
  EXPECT_FALSE(of_head("/status", kLong));
}

TEST_F(RefuseOnHead, ABodyThatCostsLittleIsDroppedAndTheConnectionStays) {  // AC-050
  const struct {
    std::string_view fields;
    bool ends_connection;
  } cases[] = {
      {"", false},
      {"Content-Length: 65536\r\n", false},
      {"Content-Length: 65537\r\n", true},
      {"Content-Length: 1\r\nExpect: 100-continue\r\n", true},
      {"Transfer-Encoding: chunked\r\n", true},
  };
  for (const auto& c : cases)
    expect_refused(of_head("/search", c.fields), 429, "ingress_request_rate", c.ends_connection);
  use(std::string(kRate).append(" max_packet_size = 20000\n"));
  expect_refused(of_head("/search", "Content-Length: 30000\r\n"), 429, "ingress_request_rate",
                 true);
}

TEST_F(RefuseOnHead, OfAPathThatNothingAnswersNoBodyIsReadThatCosts) {
  const auto refused_at = [&](std::string_view target, std::string_view fields) {
    return refused(
        std::string("PUT ").append(target).append(" HTTP/1.1\r\nHost: h\r\n").append(fields),
        /*arrived=*/false, refuse_path);
  };
  for (const std::string_view costs :
       {"Content-Length: 70000\r\n", "Content-Length: 3\r\nExpect: 100-continue\r\n",
        "Transfer-Encoding: chunked\r\n"}) {
    expect_refused(refused_at("/serach", costs), 404, "/serach", true);
    for (const auto* known : {"/search", "/status", "/admin/drain", "/", "/other/_update/1"})
      EXPECT_FALSE(refused_at(known, costs)) << known;
  }
  EXPECT_FALSE(refused_at("/serach", "Content-Length: 60000\r\n")) << "it is dropped";
}

}  // namespace
}  // namespace karmad
