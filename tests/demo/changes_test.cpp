#include <fmt/format.h>
#include <gtest/gtest.h>

#include "demo/data/corpus.hpp"
#include "tests/demo/shop.hpp"

namespace karmad::demo {
namespace {

/// A catalogue of its own, which the test may change.
class Changes : public testing::Test {
 protected:
  Engine engine{Index{invent_corpus(100), {}}, {"products", "p2"}};

  HttpAnswer update(std::string path, std::string body) const {
    return post(engine, std::move(path), std::move(body));
  }
  std::string search(std::string_view query) const {
    auto text =
        ask(engine, fmt::format(R"({{"table":"products","limit":200,"query":{}}})", query)).body;
    return text.substr(text.find("\"hits\""));
  }
  std::string source(int id) const {
    return hits_of(
               ask(engine,
                   fmt::format(R"({{"table":"products","query":{{"equals":{{"id":{}}}}}}})", id)))
        .at(0)
        .source;
  }
};

constexpr std::string_view kAll = R"({"match_all":{}})";
constexpr std::string_view kZeppelin = R"({"match":{"title":"zeppelin lamp"}})";

TEST_F(Changes, AreFoundBySearchesAndLeaveNoTrace) {
  const auto before = search(kAll);
  const auto lamps = search(kZeppelin);
  EXPECT_EQ(
      update("/insert", R"({"table":"products","id":1000,"doc":{"title":"Zeppelin lamp","price":7,)"
                        R"("tags":[3,1,3],"meta":{"n":5,"size":{"w":2}},"embedding":[0,1,0,0]}})")
          .body,
      R"({"table":"products","id":1000,"created":true,"result":"created","status":201})");
  EXPECT_EQ(
      source(1000),
      R"({"title":"Zeppelin lamp","body":"","price":7,"rating":0.0,"brand":"","seller":"",)"
      R"("tags":[1,3],"meta":{"n":5,"size":{"w":2}},"ts":0,"stock":0,"weight":0.0,"lat":0.0,"lon":0.0,)"
      R"("embedding":[0.0,1.0,0.0,0.0]})");
  EXPECT_NE(search(kZeppelin), lamps);
  update("/replace", R"({"table":"products","id":1000,"doc":{"title":"Airship"}})");
  EXPECT_EQ(search(kZeppelin), lamps);
  // A document before others moves them, and their words with them.
  update("/insert", R"({"table":"products","id":50000,"doc":{"title":"lamp"}})");
  update("/delete", R"({"table":"products","id":[1000,50000]})");
  EXPECT_EQ(search(kAll), before);
  EXPECT_EQ(search(kZeppelin), lamps);
}

TEST_F(Changes, OfAttributesConcernOneDocumentOrAllThatAQueryFinds) {
  EXPECT_EQ(
      update("/update", R"({"table":"products","id":1,"doc":{"price":12345,"meta.n":77}})").body,
      R"({"table":"products","id":1,"result":"updated"})");
  EXPECT_NE(source(1).find(R"("price":12345)"), std::string::npos);
  EXPECT_NE(source(1).find(R"("n":77)"), std::string::npos);
  EXPECT_EQ(
      update("/json/update",
             R"({"table":"products","query":{"range":{"id":{"lte":10}}},"doc":{"price":54321}})")
          .body,
      R"({"table":"products","updated":10})");
  EXPECT_EQ(update("/update", R"({"table":"products","id":7777,"doc":{"price":3}})").body,
            R"({"table":"products","id":7777,"result":"noop"})");
  EXPECT_EQ(update("/delete", R"({"table":"products","query":{"equals":{"price":54321}}})").body,
            R"({"table":"products","deleted":10})");
  EXPECT_EQ(update("/delete", R"({"table":"products","id":1})").body,
            R"({"table":"products","id":1,"found":false,"result":"not found"})");
}

TEST_F(Changes, ThatCannotBeMadeChangeNothing) {
  const auto before = search(kAll);
  const auto twice = update("/insert", R"({"table":"products","id":1,"doc":{"title":"x"}})");
  EXPECT_EQ(twice.status, 409);
  EXPECT_EQ(twice.body,
            R"({"error":{"type":"action_request_validation_exception","reason":"duplicate id '1'",)"
            R"("table":"products"},"status":409})");
  for (const auto* document : {R"({"nothing":1})", R"({"title":"x"})", R"({"embedding":[1]})"})
    EXPECT_EQ(update("/update", fmt::format(R"({{"table":"products","id":1,"doc":{}}})", document))
                  .status,
              409)
        << document;
  const auto two = update("/insert", R"({"table":"products","id":[5000001],"doc":{"title":"x"}})");
  EXPECT_EQ(two.status, 400) << two.body;
  EXPECT_EQ(search(kAll), before);
}

TEST_F(Changes, InABulkAreGroupedByTableAndAFailedGroupIsTakenBack) {
  const auto done =
      update("/bulk", R"({"insert":{"table":"products","id":900,"doc":{"title":"a"}}})"
                      "\n"
                      R"({"insert":{"table":"p2","id":901,"doc":{"title":"b"}}})"
                      "\n\n"
                      R"({"replace":{"table":"p2","id":902,"doc":{"title":"c"}}})"
                      "\n"
                      R"({"insert":{"table":"p2","id":900,"doc":{"title":"d"}}})"
                      "\n"
                      R"({"insert":{"table":"p2","id":903,"doc":{"title":"e"}}})");
  EXPECT_EQ(done.status, 500);
  EXPECT_EQ(
      done.body,
      R"({"items":[{"bulk":{"table":"products","_id":900,"created":1,"deleted":0,"updated":0,)"
      R"("result":"created","status":201}},{"bulk":{"table":"p2","_id":901,"created":1,"deleted":0,)"
      R"("updated":0,"result":"created","status":201}},{"insert":{"error":{"type":"duplicate id '900'",)"
      R"("table":"p2"},"status":409}}],"current_line":5,"skipped_lines":2,"errors":true,)"
      R"("error":"duplicate id '900'"})");
  EXPECT_EQ(total_of(ask(engine, R"({"table":"products"})")), 102);
}

TEST_F(Changes, OfFieldsInABulkAreGroupsOfTheirOwn) {
  const auto done =
      update("/bulk", R"({"insert":{"table":"products","id":900,"doc":{"title":"a"}}})"
                      "\n"
                      R"({"update":{"table":"products","id":900,"doc":{"price":3}}})"
                      "\n"
                      R"({"delete":{"table":"products","id":1}})"
                      "\n");
  EXPECT_EQ(
      done.body,
      R"({"items":[{"bulk":{"table":"products","_id":900,"created":1,"deleted":0,"updated":0,)"
      R"("result":"created","status":201}},{"update":{"table":"products","_id":900,)"
      R"("result":"updated"}},{"bulk":{"table":"products","_id":1,"created":0,"deleted":1,)"
      R"("updated":0,"result":"updated","status":200}}],"current_line":4,"skipped_lines":0,)"
      R"("errors":false,"error":""})");
}

}  // namespace
}  // namespace karmad::demo
