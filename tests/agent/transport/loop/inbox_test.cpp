#include "agent/transport/loop/loop.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <future>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

#include "agent/transport/loop/thread_pool.hpp"
#include "agent/transport/resolve.hpp"
#include "tests/agent/transport/on_loop.hpp"
#include "tests/support/name_server.hpp"

namespace karmad {
namespace {

using test::eventually;
using test::finish;
using test::result_of;
using test::turn_until;

struct AnInbox : testing::Test {
  Loop loop{0, 1 << 20, 1};
};

TEST_F(AnInbox, RunsJobsOfAnotherThreadInTheLoopInTheirOrder) {
  constexpr int kJobs = 1000;
  std::vector<int> done;
  bool all_here = true;
  std::thread other([&] {
    for (int i = 0; i < kJobs; ++i)
      loop.post([&, i, here = std::this_thread::get_id()] {
        all_here = all_here && std::this_thread::get_id() != here;
        done.push_back(i);
      });
  });
  EXPECT_TRUE(turn_until(loop, [&] { return done.size() == kJobs; }));
  other.join();
  EXPECT_TRUE(all_here);
  EXPECT_TRUE(std::ranges::is_sorted(done));
}

TEST_F(AnInbox, WakesALoopThatWaits) {
  std::thread running([&] { loop.run(); });
  std::promise<void> done;
  loop.post([&] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(test::kSoon), std::future_status::ready);
  loop.post([&] { loop.let_end(); });
  running.join();
}

TEST_F(AnInbox, KeepsJobsThatAJobPosts) {
  std::vector<int> done;
  std::thread running([&] { loop.run(); });
  loop.post([&] {
    loop.post([&] {
      done.push_back(2);
      loop.let_end();
    });
    done.push_back(1);
  });
  running.join();
  EXPECT_EQ(done, (std::vector{1, 2}));
}

// A query in progress while its worker ends may still get messages.
TEST_F(AnInbox, AcceptsJobsWhileAnyWorkIsInProgress) {
  std::vector<int> done;
  std::promise<void> let_end;
  std::optional under_way(asio::make_work_guard(loop.io));
  std::thread running([&] { loop.run(); });
  loop.post([&] {
    loop.let_end();
    loop.let_end();  // once is enough
    let_end.set_value();
  });
  let_end.get_future().wait();
  loop.post([&] {
    done.push_back(1);
    under_way.reset();
  });
  running.join();
  EXPECT_EQ(done, (std::vector{1}));
}

TEST_F(AnInbox, DropsJobsThatTheLoopDoesNotRun) {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  {
    Loop gone(0, 1 << 20, 1);
    gone.post([held = std::move(held)] { ADD_FAILURE() << *held; });
  }
  EXPECT_TRUE(seen.expired());
}

TEST_F(AnInbox, BringsNamesThatWereLookedUp) {
  Stop stop(loop);
  Address address;
  address.host = "localhost";
  address.port = 9308;
  const auto found =
      result_of(loop, resolve(loop, address, stop, std::make_shared<const DnsSettings>()));
  ASSERT_TRUE(found.has_value()) << found.error();
  ASSERT_FALSE(found->empty());
  address.host = "no.such.name.invalid";
  const auto none =
      result_of(loop, resolve(loop, address, stop, std::make_shared<const DnsSettings>()));
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().find("no.such.name.invalid"), std::string::npos) << none.error();
}

// A look-up cannot be cancelled and may outlive the loop.
TEST(ALookUp, OutlivesItsLoopWhenTheNameServerIsSlow) {
  test::NameServer server;
  server.mood(test::NameServer::Mood::silent);
  auto settings = std::make_shared<const DnsSettings>(
      DnsSettings{.servers = {{"127.0.0.1", server.port(), {}}}, .timeout = 200ms, .tries = 1});
  const std::weak_ptr<const DnsSettings> in_use = settings;
  {
    Loop loop(0, 1 << 20, 1);
    Stop stop(loop);
    Address address;
    address.host = "some.name";
    std::optional<bool> found;
    spawn([](Loop& on, const Address& of, Stop& by, std::shared_ptr<const DnsSettings> with,
             std::optional<bool>& into) -> Task<void> {
      const auto result = co_await resolve(on, of, by, std::move(with));
      into = result.has_value();
    }(loop, address, stop, settings, found));
    ASSERT_TRUE(eventually([&] { return server.questions() > 0; }));
    stop.request(StopReason::cancelled);
    EXPECT_EQ(found, false);
    loop.let_end();
    loop.run();
  }
  settings.reset();
  EXPECT_TRUE(eventually([&] { return in_use.expired(); })) << "it ended on its own";
}

// Look-ups beyond this number wait.
TEST(RunDetached, RunsEveryJobAndABoundedNumberAtATime) {
  struct Shared {
    std::counting_semaphore<> go{0};
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
  };
  const auto shared = std::make_shared<Shared>();
  for (int i = 0; i < 100; ++i)
    run_detached([shared] {
      ++shared->begun;
      shared->go.acquire();
      ++shared->ended;
    });
  ASSERT_TRUE(eventually([&] { return shared->begun == 32; }));
  shared->go.release(10);
  ASSERT_TRUE(eventually([&] { return shared->begun == 42; }));
  EXPECT_EQ(shared->ended, 10);
  shared->go.release(90);
  EXPECT_TRUE(eventually([&] { return shared->ended == 100; }));
}

// The caller may be destroyed; the look-up ends on its own.
TEST_F(AnInbox, ContinuesALookUpWithoutAWaitingRequest) {
  Stop stop(loop);
  Address address;
  address.host = "localhost";
  address.port = 9308;
  std::optional<bool> found;
  spawn([](Loop& on, const Address& of, Stop& by, std::optional<bool>& into) -> Task<void> {
    const auto result = co_await resolve(on, of, by, std::make_shared<const DnsSettings>());
    into = result.has_value();
  }(loop, address, stop, found));
  stop.request(StopReason::cancelled);
  EXPECT_EQ(found, false);
  loop.let_end();
  loop.run();
}

}  // namespace
}  // namespace karmad
