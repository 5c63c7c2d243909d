#include <vector>

#include "balancer/admission/admission.hpp"
#include "balancer/pipeline/pipeline.hpp"
#include "balancer/pipeline/trace_scope.hpp"
#include "tests/balancer/pipeline/asking.hpp"

namespace karmad {
namespace {

constexpr auto kRequest = "POST /search HTTP/1.1\r\nHost: h\r\n";

struct AUserHandle : testing::Asking {
  static Task<Answer> echo(Query& query) {
    Answer answer;
    answer.body = query.request.body;
    co_return answer;
  }
  Answer through(const std::vector<UserHandle>& handles) {
    auto handle = [&](Query& query) { return Next(handles, &echo)(query); };
    return ask(handle, kRequest, "asked");
  }
  /// Puts its mark around the request and around the answer.
  static UserHandle marks(std::string mark) {
    return [mark = std::move(mark)](Query& query, Next next) -> Task<Answer> {
      auto body = mark;
      body.append(query.request.body);
      query.request.body = query.keep(std::move(body));
      auto answer = co_await next(query);
      answer.body.append(mark);
      co_return answer;
    };
  }
};

TEST_F(AUserHandle, IsNotNeeded) {
  EXPECT_EQ(through({}).body, "asked");
}

TEST_F(AUserHandle, ChangesRequestAndAnswer) {  // CO-003
  EXPECT_EQ(through({marks("-")}).body, "-asked-");
}

TEST_F(AUserHandle, EnclosesLaterHandles) {
  EXPECT_EQ(through({marks("1"), marks("2"), marks("3")}).body, "321asked321");
}

TEST_F(AUserHandle, MayAnswerItself) {
  const UserHandle refuses = [](Query&, Next) -> Task<Answer> { co_return refusal(403, "no"); };
  EXPECT_EQ(through({marks("1"), refuses, marks("2")}).status, 403);
}

TEST_F(AUserHandle, MayAskAgain) {  // CO-004
  const UserHandle twice = [](Query& query, Next next) -> Task<Answer> {
    const auto first = co_await next(query);
    auto second = co_await next(query);
    second.body.append(first.body);
    co_return second;
  };
  EXPECT_EQ(through({twice, marks("+")}).body, "++asked++asked+");
}

TEST_F(AUserHandle, MayWaitBeforeItAnswers) {
  AsyncEvent go;
  const std::vector<UserHandle> handles{[&](Query& query, Next next) -> Task<Answer> {
    auto& signal = go;  // g++ 12 awaits a copy of what was captured
    co_await signal;
    co_return co_await next(query);
  }};
  auto handle = [&](Query& query) { return Next(handles, &echo)(query); };
  RequestHead head;
  const auto bytes = std::string(kRequest).append("\r\n");
  ASSERT_TRUE(parse_request_head(bytes, {}, head));
  Query query(worker, *worker.topology_now(), head, "asked", "::1");
  std::string told;
  spawn([](auto& asked, Query& with, std::string& body) -> Task<void> {
    auto answer = co_await asked(with);
    body = std::move(answer.body);
  }(handle, query, told));
  EXPECT_EQ(told, "");
  go.notify();
  EXPECT_EQ(told, "asked");
}

TEST_F(AUserHandle, StandsInThePipelineBeforeTheRoute) {  // CO-002
  const std::vector<UserHandle> handles{[](Query& query, Next next) -> Task<Answer> {
    query.request.path = "/healthz";
    query.request.method = "GET";
    auto answer = co_await next(query);
    answer.status = 299;
    co_return answer;
  }};
  shared.process.user_handles = handles;
  auto pipeline = [](Query& query) -> Task<Answer> {
    open_trace(query);
    auto answer = co_await pass_pipeline(query);
    close_trace(query, answer);
    co_return answer;
  };
  const auto answer = ask(pipeline, "POST /nothing HTTP/1.1\r\nHost: h\r\nX-Karmad-Trace: 1\r\n");
  EXPECT_EQ(answer.status, 299);
  EXPECT_EQ(answer.body, R"({"status":"ok"})");
  EXPECT_NE(answer.trace.find(R"("operation":"healthz")"), std::string::npos) << answer.trace;
}

// The class of the tickets is that of the statements before the change.
TEST_F(AUserHandle, ChangesTheStatementThatIsAnswered) {
  Admission admission(1, loops, 1000, {}, Loop::now());
  shared.limits.admission = &admission;
  auto pipeline = [](Query& query) { return pass_pipeline(query); };
  const auto head = "POST /sql?mode=raw HTTP/1.1\r\nHost: h\r\n";
  const std::string first = "SHOW AGENT STATUS LIKE 'status_%'";
  const std::string changed = "SHOW AGENT STATUS LIKE 'ag_0_hostname'";
  const auto unchanged = ask(pipeline, head, first);
  const auto expected = ask(pipeline, head, changed);
  ASSERT_NE(expected.content(), unchanged.content());
  const std::vector<UserHandle> handles{[&](Query& query, Next next) {
    query.request.body = query.keep(std::string(changed));
    return next(query);
  }};
  shared.process.user_handles = handles;
  const auto answer = ask(pipeline, head, first);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content(), expected.content());
  EXPECT_TRUE(answer.content().contains("ag_0_hostname")) << answer.content();
}

}  // namespace
}  // namespace karmad
