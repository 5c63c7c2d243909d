#include "balancer/admission/admission.hpp"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

InstanceSettings searchd(std::string_view text) {
  const auto loaded = load_text(std::string("searchd {\n ").append(text).append("\n}\n"));
  return loaded.settings.value().searchd;
}

/// What is logged meanwhile.
class Logged {
 public:
  Logged() : before_(spdlog::default_logger()) {
    const auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(out_);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  }
  ~Logged() { spdlog::set_default_logger(before_); }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST(AdmissionPools, WarnOfAResizeThatGetsStuck) {  // AC-012
  const struct {
    std::string_view before;
    std::string_view after;
    TicketPool Admission::*pool;
    std::string_view what;
  } cases[] = {{"ingress_tickets = 3", "ingress_tickets = 1", &Admission::ingress, "all requests"},
               {"search_tickets = 3", "search_tickets = 1", &Admission::searches, "searches"},
               {"update_tickets = 3", "update_tickets = 1", &Admission::updates, "updates"},
               {"low_priority_tickets = 3", "low_priority_tickets = 1", &Admission::low_searches,
                "searches of low priority"},
               {"low_priority_tickets = 3", "low_priority_tickets = 1", &Admission::low_updates,
                "updates of low priority"}};
  const Loops nowhere;
  for (const auto& c : cases) {
    TimePoint now{1s};
    Admission admission(1, nowhere, 1000, searchd(c.before), now);
    auto& pool = admission.*c.pool;
    std::vector<Ticket> tickets;
    for (int i = 0; i < 3; ++i) tickets.push_back(pool.try_take(0, Priority::normal, now));
    const Logged logged;
    admission.settings(searchd(c.after), now);
    tickets.pop_back();
    admission.sample(now + 59s);
    EXPECT_EQ(logged.text(), "");
    admission.sample(now + 60s);
    admission.sample(now + 120s);
    const auto text = logged.text();
    EXPECT_TRUE(text.contains(std::string("[warning] tickets of ")
                                  .append(c.what)
                                  .append(" did not come back in time: "
                                          "the resizing ends with 2 tickets")))
        << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << "once: " << text;
  }
}

TEST(AdmissionPools, LowPriorityHasTicketsBesidesTheOthers) {  // AC-007
  const Loops nowhere;
  const TimePoint now{1s};
  Admission admission(1, nowhere, 1000, searchd("search_tickets = 64"), now);
  EXPECT_EQ(admission.searches.statistics().total, 64U);
  EXPECT_EQ(admission.low_searches.statistics().total, 4U);
  EXPECT_EQ(admission.low_updates.statistics().total, 4U);
  EXPECT_EQ(admission.low_searches.queue_depth(), 16U);
  EXPECT_FALSE(admission.low_priority()) << "unless told";
  admission.settings(searchd("low_priority = 1\n low_priority_tickets = 9"), now);
  EXPECT_TRUE(admission.low_priority());
  EXPECT_EQ(admission.low_searches.statistics().total, 9U);
}

}  // namespace
}  // namespace karmad
