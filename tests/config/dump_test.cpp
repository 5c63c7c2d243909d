#include "config/effective.hpp"

#include <gtest/gtest.h>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

const char* const kEverything =
    "searchd {\n listen = 9308\n listen = [::1]:9309\n listen = /run/k.sock\n workers = 3\n"
    " ha_strategy = nodeads\n ha_period_karma = 1500ms\n ha_ping_interval = 0\n"
    " ping_timeout = 100\n interrupt_unreachable = 0\n ping_path = /a?b=$\\{x\\}\n karma_compound "
    "= 1\n dead_after = 5\n"
    " agent_connect_timeout = 250\n agent_query_timeout = 2s\n agent_retry_count = 0\n"
    " agent_retry_delay = 10\n request_timeout = 4001\n persistent_connections_limit = 7\n"
    " hostname_lookup = request\n partial_results = deny\n collation = binary\n"
    " client_timeout = 20\n network_timeout = 3\n max_packet_size = 8m\n max_header_size = 8193\n"
    " max_header_count = 50\n max_connections = 1000\n max_json_depth = 64\n"
    " memory_limit = 3g\n buffer_keep_up_to = 2m\n listen_backlog = 100\n shutdown_timeout = 0\n"
    " drain_delay = 7s\n takeover_socket = /run/t.sock\n"
    " shutdown_linger = 300ms\n log_level = debug\n ping_type = native\n read_preference = "
    "secondaryPreferred\n"
    " tag_sets = dc:ny,rack:2|dc:sf|\n max_staleness = 2m\n local_threshold = 0\n"
    " selection_timeout = 0\n max_waiting_selections = 0\n selection_log_level = debug\n"
    " tags_in_flat = 1\n retry_reads = 0\n hedge = p99\n hedge_step = 20\n breaker = 1\n"
    " agent_first_byte_timeout = 80\n search_timeouts = 300,1s , 3s\n access_log = /a{b}\n"
    " admission = monitor\n ingress_tickets = 7\n search_tickets = auto\n update_tickets = 12\n"
    " ticket_queue_depth = 3\n ticket_queue_timeout = 70\n ticket_queue_discipline = codel\n"
    " low_priority = 1\n low_priority_tickets = 2\n"
    " ingress_request_exempt_apps = night{ly} , b/1.0\n ticket_resize = immediate\n "
    "throughput_probing_step_multiple = 0.25\n}\n"
    "table t {\n type = distributed\n agent_persistent = c:3:x\n agent = a|b:2 "
    "[ha_strategy=random]\n"
    " agent = [::1]:5[role=primary,tags=dc:ny;rack:2,weight=2]|/run/f[tags=DC:sf]|g:7[weight=0]"
    "[ha_strategy=leastops,ping_type=solr,ping_path=/p?q=1,set=Main]\n"
    " agent = d:4[blackhole=1, conn=pconn]\n agent_blackhole = /run/e:y\n ha_strategy = "
    "roundrobin\n"
    " agent_connect_timeout = 20\n agent_query_timeout = 30\n agent_retry_count = 1\n"
    " partial_results = allow\n ping_type = none\n ping_path = /y\n read_preference = primary\n"
    " tag_sets = |\n max_staleness = -1\n updates = any\n hedge = 50ms\n search_timeouts = 5\n"
    " max_attempts = 1\n}\n"
    "table pass {\n type = distributed\n dialect = http\n route = /solr\n path = /x\n"
    " reads = /solr/select, /solr/query\n agent = s:8983[retry_count=4]\n}\n";

std::string without_comments(std::string dumped) {
  for (auto at = dumped.find("  # "); at != std::string::npos; at = dumped.find("  # "))
    dumped.erase(at, dumped.find('\n', at) - at);
  return dumped;
}

TEST(Dump, LoadsAsTheSameSettings) {
  for (const std::string text : {"searchd {\n}\n", kEverything}) {
    const auto first = load_text(text);
    for (const auto& problem : first.problems) ADD_FAILURE() << karmad::text(problem);
    ASSERT_TRUE(first.settings);
    const auto dumped = dump(*first.settings);
    const auto second = load_text(dumped);
    for (const auto& problem : second.problems) ADD_FAILURE() << karmad::text(problem) << dumped;
    ASSERT_TRUE(second.settings);
    EXPECT_EQ(without_comments(dump(*second.settings)), without_comments(dumped));
    EXPECT_EQ(second.settings->searchd.ping_path.has_value(),
              first.settings->searchd.ping_path.has_value());
    EXPECT_EQ(second.settings->tables.size(), first.settings->tables.size());
    EXPECT_EQ(second.settings->searchd.ping_timeout.has_value(),
              first.settings->searchd.ping_timeout.has_value());
  }
}

TEST(Dump, SaysWhereEachValueCameFrom) {
  const auto loaded = load_text(
      "searchd {\n ha_period_karma = 30\n}\n"
      "table t {\n type = distributed\n agent = a|b:2\n}\n");
  ASSERT_TRUE(loaded.settings);
  const auto dumped = dump(*loaded.settings);
  for (const char* line :
       {"  listen = 127.0.0.1:9308  # default\n", "  workers = auto  # default\n",
        "  ha_period_karma = 30s  # c:2:20\n", "  ha_ping_interval = 1s  # default\n",
        "  # agent_retry_count is unset: each other mirror once\n", "table t {  # c:4:1\n",
        "  type = distributed\n", "  agent = a:9308:t|b:2:t  # c:6:10\n",
        "  dialect = manticore  # default\n"})
    EXPECT_NE(dumped.find(line), std::string::npos) << line << "not in\n" << dumped;
  EXPECT_EQ(dumped.find("mirror_retry_count"), std::string::npos) << "other names are not dumped";
}

// What a count comes to is in force, and not what `max_attempts` is by default.
TEST(Dump, SaysHowManyAttemptsAreMadeForEachAgentLine) {
  const struct {
    const char* searchd;
    const char* table;
    const char* line;
    int attempts;
  } cases[] = {
      {"", "", "a|b|c", 10},
      {"throttle_max_retries = 0", "", "a|b|c", 6},
      {"throttle_max_retries = 5", "", "a|b|c|d|e|f|g|h", 8},
      {"throttle_max_retries = 33", "", "a", 34},
      {"throttle_max_retries = 0\n overload_max_retries = 7", "", "a", 8},
      {"throttle_max_retries = 0", "search_timeouts = 1,2,3,4,5,6,7,8", "a|b", 8},
      {"throttle_max_retries = 0\n agent_retry_count = 0", "", "a|b|c|d|e|f|g|h", 6},
      {"agent_retry_count = 4", "", "a|b|c", 13},
      {"agent_retry_count = 4", "agent_retry_count = 1", "a|b|c", 10},
      {"", "", "a|b|c:t[retry_count=10]", 11},
      {"max_attempts = 6", "", "a|b|c:t[retry_count=10]", 6},
      {"agent_retry_count = 3\n max_attempts = 50", "max_attempts = 4", "a|b|c", 4},
  };
  for (const auto& c : cases) {
    const auto loaded = load_text(std::string("searchd {\n ") + c.searchd +
                                  "\n}\ntable t {\n type = distributed\n " + c.table +
                                  "\n agent = " + c.line + "\n}\n");
    ASSERT_TRUE(loaded.settings) << testing::PrintToString(lines(loaded.problems));
    const auto dumped = dump(*loaded.settings);
    EXPECT_NE(dumped.find("  # at most " + std::to_string(c.attempts) +
                          " attempts of a request at the shard in c:"),
              std::string::npos)
        << c.searchd << c.line << "\n"
        << dumped;
  }
}

TEST(Dump, SaysWhatMaxAttemptsLeavesOfEachCount) {
  const auto loaded = load_text(
      "searchd {\n overload_max_retries = 7\n search_timeouts = 1s, 2s, 3s\n}\n"
      "table t {\n type = distributed\n max_attempts = 4\n agent = a|b\n}\n"
      "table u {\n type = distributed\n agent = a|b:1:t[retry_count=12]\n}\n");
  ASSERT_TRUE(loaded.settings);
  const auto dumped = dump(*loaded.settings);
  for (const char* line :
       {"  # at most 4 attempts of a request at the shard in c:8:10; retries: 1 ordinary, 3 after "
        "overload, 3 after a delay, 2 after timeouts\n",
        "  # at most 13 attempts of a request at the shard in c:12:10; retries: 12 ordinary, 7 "
        "after overload, 9 after a delay, 2 after timeouts\n"})
    EXPECT_NE(dumped.find(line), std::string::npos) << line << "not in\n" << dumped;
}

TEST(Dump, EscapesWhatWouldBeSyntax) {
  const auto loaded = load_text("searchd {\n ping_path = /${V}\n}\n", {{"V", "a{b}}${V}\\"}});
  ASSERT_TRUE(loaded.settings);
  ASSERT_EQ(loaded.settings->searchd.ping_path->value, "/a{b}}${V}\\");
  const auto again = load_text(dump(*loaded.settings));
  ASSERT_TRUE(again.settings) << testing::PrintToString(lines(again.problems));
  EXPECT_EQ(again.settings->searchd.ping_path->value, "/a{b}}${V}\\");
}

}  // namespace
}  // namespace karmad
