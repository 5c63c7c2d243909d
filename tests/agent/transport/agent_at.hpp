#pragma once

#include <memory>

#include "agent/mirrors/agent.hpp"
#include "agent/transport/pool.hpp"
#include "tests/agent/transport/on_loop.hpp"

namespace karmad::test {

/// An agent at a port of 127.0.0.1, with a pool on a loop.
struct AgentAt {
  explicit AgentAt(int port)
      : agent(std::make_shared<Agent>(
            Address{.host = "127.0.0.1", .port = static_cast<std::uint16_t>(port)}, 0, 1,
            std::chrono::seconds(60))),
        pool(loop, agent, agent->connections, LookUp::at_load) {
    agent->counts.quiet = Pool::kQuietAnswers;  // its connections are handed on at once
  }
  ~AgentAt() {
    pool.clear();
    turn_until(loop, [this] { return pool.unused(); });
  }

  std::expected<Pool::Taken, NoConnection> take(Pool::From from, Stop& stop) {
    return result_of(loop, pool.take(from, stop));
  }
  ConnectionPtr connection(Pool::From from = Pool::From::idle) {
    Stop stop(loop);
    auto taken = take(from, stop);
    EXPECT_TRUE(taken) << taken.error().why;
    return taken ? std::move(taken->connection) : nullptr;
  }
  unsigned open() const { return agent->counts.open; }

  Loop loop{0, 1 << 20, 1};
  std::shared_ptr<Agent> agent;
  Pool pool;
};

}  // namespace karmad::test
