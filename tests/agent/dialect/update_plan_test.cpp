// Updates over several shards and mirrors: where each part goes, and what is made of the answers.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>

#include "agent/dialect/fronts/json/read_request.hpp"
#include "agent/dialect/request/document_ids.hpp"
#include "tests/agent/dialect/changes_support.hpp"
#include "tests/agent/dialect/updating.hpp"

namespace karmad {
namespace {

/// Keeps what the plan refers to.
class UpdatePlans : public testing::Test {
 protected:
  PlannedChange& plan(std::string path, std::string body, ShardLayout layout) {
    path_ = std::move(path);
    body_ = std::move(body);
    const auto request = Updating::post(path_, body_);
    const auto parsed = updating_.dialect().parse(request);
    if (!parsed) {
      planned_ = {{}, parsed.error().reason, 400};
    } else {
      planned_ = planned(updating_.dialect().plan(request, *parsed, layout));
    }
    return planned_;
  }

  static constexpr auto kById = ShardBy::id;
  static constexpr auto kNone = ShardBy::none;

 private:
  Updating updating_;
  std::string path_;
  std::string body_;
  PlannedChange planned_;
};

// The hash is part of the documented format: other programs load data with it.
TEST(ShardOfId, IsTheFinalizerOfSplitmix64ModuloTheShards) {
  EXPECT_EQ(splitmix64(0), 0u);
  EXPECT_EQ(splitmix64(1), 0x5692161d100b05e5u);
  EXPECT_EQ(splitmix64(0x9e3779b97f4a7c15u), 0xe220a8397b1dcdafu);  // the generator's first, seed 0
  EXPECT_EQ(DocumentId::of_number("1")->shard(1000), 0x5692161d100b05e5u % 1000);
  EXPECT_EQ(DocumentId::of_text("1").shard(1000), DocumentId::of_number("1")->shard(1000));
  // FNV-1a of "a" is af63dc4c8601ec8c.
  EXPECT_EQ(DocumentId::of_text("a").shard(1000), splitmix64(0xaf63dc4c8601ec8cu) % 1000);
  EXPECT_EQ(DocumentId::of_number("-1")->shard(1000),
            DocumentId::of_number("18446744073709551615")->shard(1000));
  for (const auto* no : {"", "1.0", "1e3", "18446744073709551616", "x", "-"})
    EXPECT_FALSE(DocumentId::of_number(no)) << no;
}

TEST_F(UpdatePlans, AnUpdateByQueryGoesToEveryShardAndItsCountsAreSummed) {
  auto& update = plan("/update", R"({"table":"t","doc":{"a":1},"query":{"match_all":{}}})", 2);
  for (const std::size_t shard : {0, 1})
    EXPECT_EQ(update.written(shard), R"({"table":"x","doc":{"a":1},"query":{"match_all":{}}})");
  EXPECT_EQ(update.answer({done(0, R"({"table":"x","updated":3})"),
                           done(1, R"({"table":"y","updated":39,"warning":"w"})")}),
            R"({"table":"t","updated":42,"warning":"w"})");
  EXPECT_EQ(update.status, 200);
  auto& remove = plan("/json/delete", R"({"table":"t","query":{"match_all":{}}})", 2);
  EXPECT_EQ(remove.answer(
                {done(0, R"({"table":"t","deleted":0})"), done(1, R"({"table":"t","deleted":7})")}),
            R"({"table":"t","deleted":7})");
}

TEST_F(UpdatePlans, ByIdTheAnswerIsThatOfTheShardThatHadTheDocument) {
  auto& update = plan("/update", R"({"table":"t","id":7,"doc":{"a":1}})", 3);
  EXPECT_TRUE(update.plan->asks(0) && update.plan->asks(1) && update.plan->asks(2));
  const auto noop = R"({"table":"x","id":7,"result":"noop"})";
  EXPECT_EQ(update.answer({done(0, noop), done(1, R"({"table":"x","id":7,"result":"updated"})"),
                           done(2, noop)}),
            R"({"table":"t","id":7,"result":"updated"})");
  EXPECT_EQ(update.answer({done(0, noop), done(1, noop), done(2, noop)}),
            R"({"table":"t","id":7,"result":"noop"})");
  auto& remove = plan("/delete", R"({"table":"t","id":7})", 2);
  EXPECT_EQ(remove.answer({done(0, R"({"table":"t","id":7,"found":false,"result":"not found"})"),
                           done(1, R"({"table":"t","id":7,"found":true,"result":"deleted"})")}),
            R"({"table":"t","id":7,"found":true,"result":"deleted"})");
}

TEST_F(UpdatePlans, WithShardByIdOneDocumentHasOneShard) {
  const auto at = DocumentId::of_number("7")->shard(4);
  for (const auto* path : {"/update", "/delete", "/insert", "/replace"}) {
    auto& one = plan(path, R"({"table":"t","id":7,"doc":{}})", {4, kById});
    for (std::size_t shard = 0; shard < 4; ++shard)
      EXPECT_EQ(one.plan->asks(shard), shard == at) << path << shard;
  }
  auto& several = plan("/delete", R"({"table":"t","id":[7,8]})", {4, kById});
  for (std::size_t shard = 0; shard < 4; ++shard) EXPECT_TRUE(several.plan->asks(shard));
}

TEST_F(UpdatePlans, DocumentsWithoutAKnownShardAreRefusedWithTheHint) {
  const auto refused = [&](std::string body, ShardLayout layout) {
    auto& insert = plan("/insert", std::move(body), layout);
    EXPECT_EQ(insert.status, 400);
    return insert.refused;
  };
  EXPECT_TRUE(refused(R"({"table":"t","id":1,"doc":{}})", 2).contains("set shard_by = id"));
  EXPECT_TRUE(refused(R"({"table":"t","id":1.5,"doc":{}})", {2, kById}).contains("1.5"));
  EXPECT_TRUE(refused(R"({"table":"t","id":1,"id":2,"doc":{}})", {2, kById}).contains("twice"));
  EXPECT_TRUE(refused(R"({"table":"t","ID":1,"doc":{}})", {2, kById}).contains("write id"));
  EXPECT_TRUE(refused(R"({"table":"t","id":1,"doc":{"Id":2}})", {2, kById}).contains("\"doc\""));
}

TEST_F(UpdatePlans, AFailedPartIsToldWithItsShardAndMirrorAndWhatTheOthersChanged) {
  auto& update = plan("/update", R"({"table":"t","doc":{"a":1},"query":{}})", {2, kNone, true});
  EXPECT_EQ(update.answer({done(0, R"({"table":"x","updated":3})", "a:1"),
                           done(0, R"({"table":"x","updated":3})", "a:2"),
                           done(1, R"({"table":"x","updated":4})", "b:1"),
                           lost(1, "agent b:2: connection refused", "b:2")}),
            R"({"error":{"type":"update_incomplete","reason":"the update failed in 1 of 4 parts, )"
            R"(the others carried it out: shard 2: agent b:2: connection refused",)"
            R"("failed":[{"shard":2,"mirror":"b:2","status":503,)"
            R"("reason":"agent b:2: connection refused"}],)"
            R"("changed":{"table":"t","updated":7}},"status":500})");
  EXPECT_EQ(update.status, 500);
  // All mirrors refuse the update: the first one's words are the answer.
  EXPECT_EQ(update.answer({refusing(0, 409, R"({"error":"no such column"})"),
                           refusing(1, 409, R"({"error":"no such column"})")}),
            R"({"error":"no such column"})");
  EXPECT_EQ(update.status, 409);
  const auto unreadable =
      update.answer({done(0, R"({"table":"x","updated":3})"), done(1, R"({"updated":)")});
  EXPECT_EQ(update.status, 500);
  EXPECT_TRUE(unreadable.contains("cannot be read")) << unreadable;
}

TEST_F(UpdatePlans, AnAnswerThatDoesNotTellWhatWasDoneIsAFailure) {
  const auto done_by = [&](std::string_view answer) {
    auto& update = plan("/update", R"({"table":"t","doc":{"a":1},"query":{}})", 2);
    update.answer({done(0, R"({"table":"x","updated":3})"), done(1, answer)});
    return update.status == 200;
  };
  for (const auto* answer :
       {R"({"table":"x","updated":0})", R"({"table":"x","id":7,"result":"noop"})",
        R"({"table":"x","id":7,"found":false,"result":"not found"})",
        R"({"_index":"x","_id":7,"created":true,"result":"created","status":201})",
        R"({"table":"x","type":"doc","_id":"2","result":"updated"})"})
    EXPECT_TRUE(done_by(answer)) << answer;
  for (const auto* answer : {"{}", R"({"hits":"plenty","took":[]})", R"({"updated":"4"})",
                             R"({"updated":-1})", R"({"updated":1.5,"result":"updated"})",
                             R"({"table":"x","created":true})", R"({"result":1})", "[]"})
    EXPECT_FALSE(done_by(answer)) << answer;
}

TEST_F(UpdatePlans, NewDocumentsHaveIdsThatTheEngineKeeps) {
  const ShardLayout copies(1, kNone, true);
  for (const auto* path : {"/insert", "/replace"})
    for (const auto& layout : {ShardLayout(2, kById), copies}) {
      const auto refused = [&](const std::string& id) {
        return plan(path, R"({"table":"t","id":)" + id + R"(,"doc":{}})", layout).refused;
      };
      for (const auto* id : {R"("abc")", "-5", R"("5.0")", R"(" 5")", R"("18446744073709551616")"})
        EXPECT_EQ(refused(id), "the request gives a new document the id " + std::string(id) +
                                   "; an id is a whole number from 1 to 18446744073709551615 in "
                                   "digits");
      for (const auto* id : {"5", R"("5")", "18446744073709551615"}) EXPECT_EQ(refused(id), "");
    }
  const auto text = R"({"table":"t","id":"abc","doc":{}})";
  EXPECT_EQ(plan("/insert", text, 1).refused, "");  // the engine's matter
  EXPECT_EQ(plan("/update", text, {2, kById}).refused, "");
  EXPECT_EQ(plan("/delete", text, {2, kById}).refused, "");
  auto& bulk = plan("/bulk",
                    R"({"delete":{"table":"t","id":"abc"}})"
                    "\n"
                    R"({"insert":{"table":"t","id":"abc","doc":{}}})",
                    {2, kById});
  EXPECT_TRUE(bulk.refused.starts_with("line 2 gives a new document the id \"abc\"; "))
      << bulk.refused;
}

class BulkPlans : public UpdatePlans {
 protected:
  /// The first id from `from` on that belongs to the shard of two.
  static std::string id_in(std::size_t shard, int from = 1) {
    while (DocumentId::of_number(std::to_string(from))->shard(2) != shard) ++from;
    return std::to_string(from);
  }
  const std::string a = id_in(0);
  const std::string b = id_in(1);
  const std::string a2 = id_in(0, std::stoi(a) + 1);

  static std::string line(const std::string& verb, const std::string& id) {
    return R"({")" + verb + R"(":{"table":"t","id":)" + id + ",\"doc\":{}}}\n";
  }
  static std::string in_mirror(const std::string& verb, const std::string& id) {
    auto text = line(verb, id);
    return text.replace(text.find("\"t\""), 3, "\"x\"");
  }
  static std::string item(const std::string& id, int created, int deleted) {
    return R"({"bulk":{"table":"x","_id":)" + id + R"(,"created":)" + std::to_string(created) +
           R"(,"deleted":)" + std::to_string(deleted) +
           R"(,"updated":0,"result":"created","status":201}})";
  }
  static std::string whole(const std::string& items) {
    return R"({"items":[)" + items +
           R"(],"current_line":3,"skipped_lines":0,"errors":false,"error":""})";
  }
};

TEST_F(BulkPlans, IsSplitByLineAndTheItemsFollowTheClientsLines) {
  auto& bulk = plan("/bulk",
                    line("insert", a) + line("replace", b) + line("delete", a2) + "\r\n" +
                        line("update", b) + line("insert", a2),
                    {2, kById});
  EXPECT_EQ(bulk.written(0),
            in_mirror("insert", a) + in_mirror("delete", a2) + "\n" + in_mirror("insert", a2));
  EXPECT_EQ(bulk.written(1), in_mirror("replace", b) + "\n" + in_mirror("update", b));
  const auto of_0 = whole(item(a2, 1, 1) + "," + item(a2, 1, 0));
  const auto of_1 =
      whole(item(b, 1, 0) + R"(,{"update":{"table":"x","_id":)" + b + R"(,"result":"updated"}})");
  EXPECT_EQ(bulk.answer({done(0, of_0), done(1, of_1)}),
            R"({"items":[{"bulk":{"table":"t","_id":)" + a2 +
                R"(,"created":2,"deleted":1,"updated":0,"result":"created","status":201}},)"
                R"({"update":{"table":"t","_id":)" +
                b + R"(,"result":"updated"}},{"bulk":{"table":"t","_id":)" + a2 +
                R"(,"created":1,"deleted":0,"updated":0,"result":"created","status":201}}],)"
                R"("current_line":7,"skipped_lines":0,"errors":false,"error":""})");
  EXPECT_EQ(bulk.status, 200);
}

TEST_F(BulkPlans, ShowsTheLastIdThatTheClientGaveNotOneThatAQueryFound) {
  auto& bulk =
      plan("/bulk", line("insert", a) + R"({"delete":{"table":"t","query":{"match_all":{}}}})",
           {2, kById});
  const auto answer =
      bulk.answer({done(0, whole(item("77", 1, 1))), done(1, whole(item("78", 0, 1)))});
  EXPECT_TRUE(answer.starts_with(R"({"items":[{"bulk":{"table":"t","_id":)" + a +
                                 R"(,"created":1,"deleted":2,)"))
      << answer;
  auto& by_query =
      plan("/bulk", R"({"delete":{"table":"t","query":{"match_all":{}}}})", {2, kById});
  EXPECT_TRUE(by_query.answer({done(0, whole(item("5", 0, 1))), done(1, whole(item("0", 0, 1)))})
                  .contains(R"("_id":5,)"));
}

TEST_F(BulkPlans, AShardThatFailedHasErrorsForItsLines) {
  auto& bulk = plan("/bulk", line("insert", a) + line("insert", b) + line("delete", b), {2, kById});
  const auto answer = bulk.answer({done(0, whole(item(a, 1, 0))), lost(1, "agent m:2: timed out")});
  const auto error = [&](const std::string& verb) {
    return R"({")" + verb + R"(":{"table":"t","_id":)" + b +
           R"(,"error":{"type":"shard_failed","reason":"shard 2: confirmed by 0 of 1 mirrors",)"
           R"("table":"t"},"status":503}})";
  };
  EXPECT_EQ(answer,
            R"({"items":[{"bulk":{"table":"t","_id":)" + a +
                R"(,"created":1,"deleted":0,"updated":0,"result":"created","status":201}},)" +
                error("insert") + "," + error("delete") +
                R"(],"current_line":4,"skipped_lines":2,"errors":true,)"
                R"("error":"shard 2: agent m:2: timed out"})");
  EXPECT_EQ(bulk.status, 500);
}

TEST_F(BulkPlans, AShardThatStoppedAtAnErrorSaysSo) {  // sample 096
  auto& bulk =
      plan("/bulk", line("insert", a) + "\n" + line("insert", a2) + line("insert", b), {2, kById});
  const auto answer = bulk.answer(
      {refusing(0, 500,
                R"({"items":[{"bulk":{"table":"x","_id":1,"created":1,"deleted":0,"updated":0,)"
                R"("result":"created","status":201}},{"insert":{"error":{"type":"duplicate id",)"
                R"("table":"x"},"status":409}}],"current_line":3,"skipped_lines":1,)"
                R"("errors":true,"error":"duplicate id"})"),
       done(1, whole(item(b, 1, 0)))});
  EXPECT_EQ(bulk.status, 500);
  EXPECT_TRUE(answer.contains(R"({"insert":{"error":{"type":"duplicate id","table":"t"})"))
      << answer;
  EXPECT_TRUE(answer.contains(R"("skipped_lines":1,"errors":true,)")) << answer;
  EXPECT_TRUE(answer.contains(R"("error":"duplicate id"})")) << answer;
}

TEST_F(BulkPlans, ErrorsStandWhereTheirLinesDo) {
  const auto text = line("insert", a) + line("insert", b) + line("insert", a2) + line("delete", b);
  const std::string stopped_at_2 =
      R"({"items":[{"insert":{"error":{"type":"duplicate id"},"status":409}}],"current_line":2,)"
      R"("skipped_lines":2,"errors":true,"error":"duplicate id"})";
  const auto sum = [&](const std::string& id, int created, int deleted) {
    auto of_mirror = item(id, created, deleted);
    return of_mirror.replace(of_mirror.find("\"x\""), 3, "\"t\"");
  };
  const auto items = [](const std::string& answer) {
    return answer.substr(0, answer.find(R"(,"current_line")"));
  };
  auto& second = plan("/bulk", text, {2, kById});
  EXPECT_EQ(items(second.answer({refusing(0, 500, stopped_at_2), done(1, whole(item(b, 1, 1)))})),
            R"({"items":[{"insert":{"error":{"type":"duplicate id"},"status":409}},)" +
                sum(b, 1, 1) + "]");
  const auto lost_first = second.answer({lost(0, "gone"), done(1, whole(item(b, 1, 1)))});
  EXPECT_LT(lost_first.find(R"("_id":)" + a), lost_first.find(sum(b, 1, 1))) << lost_first;
  EXPECT_LT(lost_first.find(R"("_id":)" + a2 + ",\"error"), lost_first.find(sum(b, 1, 1)));
  EXPECT_EQ(items(second.answer({done(0, whole(item(a2, 2, 0))), refusing(1, 500, stopped_at_2)})),
            R"({"items":[)" + sum(a2, 2, 0) +
                R"(,{"insert":{"error":{"type":"duplicate id"},"status":409}}])");
}

TEST_F(BulkPlans, ThatAllShardsRefuseHasTheirStatus) {
  auto& bulk = plan("/bulk", line("create", a) + line("create", b), {2, kById});
  const auto refused =
      R"({"items":[],"current_line":1,"skipped_lines":1,"errors":true,"error":"unknown 'create'"})";
  const auto answer = bulk.answer({refusing(0, 400, refused), refusing(1, 400, refused)});
  EXPECT_EQ(bulk.status, 400);
  EXPECT_TRUE(answer.contains(R"("skipped_lines":2,"errors":true)")) << answer;
  EXPECT_TRUE(answer.contains("unknown 'create'")) << answer;
  bulk.answer({refusing(0, 400, refused), done(1, whole(item(b, 1, 0)))});
  EXPECT_EQ(bulk.status, 500);
}

TEST_F(BulkPlans, LinesAboutNoSingleDocumentGoToEveryShard) {
  auto& bulk = plan("/bulk", "{\"update\":{\"table\":\"t\",\"id\":1,\"doc\":{\"a\":1}}}", 2);
  EXPECT_EQ(bulk.written(0), bulk.written(1));
  EXPECT_EQ(bulk.answer({done(0, whole(R"({"update":{"table":"x","_id":1,"result":"noop"}})")),
                         done(1, whole(R"({"update":{"table":"x","_id":1,"result":"updated"}})"))}),
            R"({"items":[{"update":{"table":"t","_id":1,"result":"updated"}}],)"
            R"("current_line":1,"skipped_lines":0,"errors":false,"error":""})");
  auto& insert = plan("/bulk", line("delete", "1") + line("insert", "1"), 2);
  EXPECT_TRUE(insert.refused.starts_with("line 2 makes a document")) << insert.refused;
}

TEST(BulkSplits, AreRefusedBeyondTheOffsetsOfALine) {
  // Nothing of the body is read, so it takes no memory.
  constexpr std::size_t kSize = std::size_t{4} << 30;
  void* const at =
      ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  const std::string_view body{static_cast<const char*>(at), kSize};
  const auto bulk = read_bulk(body, 128);
  const auto update = read_update("/insert", body, 128);
  ::munmap(at, kSize);
  ASSERT_FALSE(bulk);
  EXPECT_EQ(bulk.error().status, 413);
  ASSERT_FALSE(update);
  EXPECT_EQ(update.error().status, 413);
}

}  // namespace
}  // namespace karmad
