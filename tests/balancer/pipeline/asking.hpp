#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "balancer/endpoints/endpoints.hpp"
#include "balancer/pipeline/admit.hpp"
#include "tests/config/written.hpp"

namespace karmad::testing {

/// The last step of the pipeline, with a scatter of the test.
struct Route {
  Scatter scatter;
  Task<Answer> operator()(Query& query) const { return answer(query, scatter); }
};

/// A worker without a network, and requests for the handles under test.
class Asking : public ::testing::Test {
 protected:
  /// The answer of `handle` to a request with this head (without its last line) and body.
  template <class H>
  Answer ask(H& handle, std::string_view head, std::string_view body = {}) {
    std::string bytes(head);
    bytes.append("\r\n");
    RequestHead parsed;
    const auto state = parse_request_head(bytes, {}, parsed);
    EXPECT_TRUE(state && *state == HeadState::complete) << head;
    const auto topology = worker.topology();
    Query query(worker, *topology, parsed, body, "::1");
    if (leaves) query.client.left = true;
    Answer answer;
    spawn([](H& asked, Query& with, Answer& told) -> Task<void> { told = co_await asked(with); }(
                                                      handle, query, answer));
    return answer;
  }

  bool leaves = false;  ///< the client, before there is an answer
  AgentRegistry registry{1, std::chrono::seconds(60)};
  Loops loops;
  SharedState shared;
  Problems problems;
  Worker worker{
      0,
      1,
      shared,
      Topology::build(*load_text("table t {\n type = distributed\n agent = a:1:x\n}\n").settings,
                      {.registry = registry, .loops = loops}, nullptr, problems),
      {}};
};

}  // namespace karmad::testing
