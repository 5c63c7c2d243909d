#include <fmt/format.h>

#include <array>

#include "agent/dialect/merge/merge_steps.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

/// One scroll of table t over shards, with one karmad's key.
class Scrolling {
 public:
  explicit Scrolling(std::string key = "0123456789abcdef")
      : dialect_(make_manticore_json({.scroll_key = std::move(key)})) {}

  std::expected<Plan, ClientError> plan(std::string_view body, std::size_t shards = 2) const {
    const auto request = Searching::post(body);
    const auto parsed = dialect_->parse(request);
    if (!parsed) return std::unexpected(parsed.error());
    return dialect_->plan(request, *parsed, shards);
  }
  std::string why_refused(std::string_view body, std::size_t shards = 2) const {
    const auto planned = plan(body, shards);
    return planned ? "planned"
                   : fmt::format("{} {}", planned.error().status, planned.error().reason);
  }
  std::string asked(std::string_view body) const {
    const std::string tables[] = {"s"};
    std::string out;
    const auto planned = plan(body);
    if (!planned) return planned.error().reason;
    return std::string(write_planned(*planned, 0, tables, out).body);
  }
  std::string merged(std::string_view body, std::string_view one, std::string_view other) const {
    const ShardReply replies[] = {{one, "10.0.0.1:9308"}, {other, "10.0.0.2:9308"}};
    std::string out;
    const auto planned = plan(body, 2);
    EXPECT_TRUE(planned) << planned.error().reason;
    if (planned) {
      EXPECT_FALSE(merge(*planned, replies, {}, out));
    }
    return out;
  }
  std::string token(std::string_view body, std::string_view one, std::string_view other) const {
    const auto out = merged(body, one, other);
    const auto at = out.find(R"("scroll":")");
    return at == out.npos ? "" : out.substr(at + 10, out.size() - at - 12);
  }

 private:
  std::unique_ptr<Dialect> dialect_;
};

std::string sold(int id, std::string_view price) {
  return fmt::format(R"({{"_id":{},"_score":1,"_source":{{"price":{}}}}})", id, price);
}
std::string next_page(std::string_view token) {
  return fmt::format(R"({{"table":"t","limit":2,"options":{{"scroll":"{}"}}}})", token);
}
/// The token for the shards in the request for one.
std::string shard_token(std::string_view asked) {
  const auto at = asked.find(R"("scroll":")");
  if (at == asked.npos) return "none";
  const auto rest = asked.substr(at + 10);
  return bytes_of_base64(rest.substr(0, rest.find('"'))).value_or("no base64");
}

constexpr auto* kFirst =
    R"({"table":"t","limit":2,"sort":[{"price":"desc"}],"options":{"scroll":true}})";

TEST(Scroll, ContinuesAtEveryShardAfterTheLastHitOfTheMergedPage) {
  const Scrolling scroll;
  EXPECT_EQ(
      scroll.asked(kFirst),
      R"({"table":"s","limit":2,"sort":[{"price":"desc"},{"id":"asc"}],"options":{"scroll":false}})");
  const auto token = scroll.token(kFirst, answer(2, sold(1, "9") + "," + sold(2, "5")),
                                  answer(2, sold(3, "7") + "," + sold(4, "6")));
  const auto asked = scroll.asked(next_page(token));
  EXPECT_EQ(
      shard_token(asked),
      R"({"order_by_str":"price desc, id asc","order_by":[{"attr":"price","desc":true,"value":7,"type":"int"},{"attr":"id","desc":false,"value":3,"type":"int"}]})");
  EXPECT_TRUE(asked.ends_with(R"(,"sort":[{"price":"desc"},{"id":"asc"}]})")) << asked;
}

TEST(Scroll, SortsByScoreAndIdWithoutASortAndKeepsTexts) {
  const Scrolling scroll;
  const auto* const by_score = R"({"table":"t","limit":1,"options":{"scroll":true}})";
  EXPECT_EQ(
      shard_token(scroll.asked(next_page(scroll.token(
          by_score, answer(1, R"({"_id":8,"_score":1478,"_source":{}})"), answer(0, ""))))),
      R"x({"order_by_str":"@weight desc, id asc","order_by":[{"attr":"weight()","desc":true,"value":1478,"type":"int"},{"attr":"id","desc":false,"value":8,"type":"int"}]})x");
  const auto* const by_text =
      R"({"table":"t","limit":1,"sort":["brand"],"options":{"scroll":true}})";
  EXPECT_EQ(
      shard_token(scroll.asked(next_page(scroll.token(
          by_text, answer(1, R"({"_id":8,"_source":{"brand":"a\"b"}})"), answer(0, ""))))),
      R"({"order_by_str":"brand asc, id asc","order_by":[{"attr":"brand","desc":false,"value":"a\"b","type":"string"},{"attr":"id","desc":false,"value":8,"type":"int"}]})");
}

TEST(Scroll, TellsShardsTheIdAsTheSignedNumberByWhichTheyOrderIt) {
  const Scrolling scroll;
  const auto* const by_id = R"({"table":"t","limit":1,"sort":["id"],"options":{"scroll":true}})";
  const auto token = scroll.token(by_id, answer(1, R"({"_id":1,"_source":{}})"),
                                  answer(1, R"({"_id":18446744073709551615,"_source":{}})"));
  EXPECT_EQ(
      shard_token(scroll.asked(next_page(token))),
      R"({"order_by_str":"id asc","order_by":[{"attr":"id","desc":false,"value":-1,"type":"int"}]})");
}

std::string rated(int id, std::string_view brand, std::string_view rating) {
  return fmt::format(R"({{"_id":{},"_source":{{"brand":"{}","rating":{}}}}})", id, brand, rating);
}
constexpr auto* kByRating =
    R"({"table":"t","limit":3,"sort":["brand",{"rating":"desc"}],"options":{"scroll":true}})";

TEST(Scroll, ContinuesBeforeTheHitsThatHaveNearlyTheRealNumberOfTheLastOne) {
  const Scrolling scroll;
  const auto token = scroll.token(
      kByRating, answer(9, rated(7, "a", "1.500000") + "," + rated(8, "a", "1.450000")),
      answer(9, rated(9, "a", "1.450001") + "," + rated(10, "a", "1.1")));
  const auto asked = scroll.asked(next_page(token));
  // Two of the page are behind 1.450003, and two more are wanted.
  EXPECT_TRUE(asked.starts_with(R"({"table":"s","limit":4,"options":{"scroll":")")) << asked;
  EXPECT_EQ(
      shard_token(asked),
      R"({"order_by_str":"brand asc, rating desc, id asc","order_by":[{"attr":"brand","desc":false,"value":"a","type":"string"},{"attr":"rating","desc":true,"value":1.450003,"type":"float"},{"attr":"id","desc":false,"value":9,"type":"int"}]})");
  // They are neither shown again nor counted again.
  EXPECT_EQ(scroll
                .merged(next_page(token), answer(3, rated(8, "a", "1.450000")),
                        answer(2, rated(9, "a", "1.450001") + "," + rated(10, "a", "1.1")))
                .substr(0, 118),
            whole(3, rated(10, "a", "1.1")).substr(0, 118));
}

TEST(Scroll, DoesNotTakeTextsInAnotherLetterCaseForApart) {
  const Scrolling scroll;
  const auto token = scroll.token(
      kByRating, answer(9, rated(7, "a", "2.500000") + "," + rated(8, "b", "1.500000")),
      answer(9, rated(9, "B", "1.500000")));
  const auto asked = scroll.asked(next_page(token));
  EXPECT_TRUE(asked.starts_with(R"({"table":"s","limit":4,"options":{"scroll":")")) << asked;
  EXPECT_TRUE(shard_token(asked).contains(R"("value":"b")")) << shard_token(asked);
}

TEST(Scroll, CountsFromItsBeginningWhereNoHitOfThePageIsApart) {
  const Scrolling scroll;
  const auto token = scroll.token(kByRating, answer(9, rated(7, "a", "1.450000")),
                                  answer(9, rated(9, "a", "1.450001")));
  const auto asked = scroll.asked(next_page(token));
  EXPECT_TRUE(asked.starts_with(R"({"table":"s","limit":4,"options":{"scroll":false})")) << asked;
  // A later page has one.
  const auto later = scroll.token(
      next_page(token), answer(9, rated(7, "a", "1.450000") + "," + rated(17, "b", "1.45")),
      answer(9, rated(9, "a", "1.450001") + "," + rated(10, "a", "1.44")));
  const auto then = scroll.asked(next_page(later));
  EXPECT_TRUE(then.starts_with(R"({"table":"s","limit":3,)")) << then;
  EXPECT_TRUE(shard_token(then).contains(
      R"("value":"b","type":"string"},{"attr":"rating","desc":true,"value":1.450002)"))
      << shard_token(then);
}

TEST(Scroll, ValuesThatNoServerContinuesBehindAreCounted) {
  const Scrolling scroll;
  const auto* const search =
      R"({"table":"t","limit":2,"expressions":{"c":"meta.color"},"sort":["c"],"options":{"scroll":true}})";
  for (const auto* color : {"\"red\"", "null"}) {
    const auto hit = fmt::format(R"({{"_id":8,"_source":{{"c":{}}}}})", color);
    const auto token = scroll.token(search, answer(2, hit), answer(0, ""));
    const auto asked = scroll.asked(next_page(token));
    EXPECT_TRUE(asked.starts_with(R"({"table":"s","limit":3,"options":{"scroll":false})")) << asked;
  }
}

// A server of August 2026 leaves out rows behind a real number of the first key in its token.
TEST(Scroll, TheServersTokenBeginsWithAWeightBeforeARealNumber) {
  const auto order_by = [](const std::vector<ScrollKey>& keys) {
    const auto token = bytes_of_base64(server_token(keys, "x ASC"));
    return token->substr(token->find("\"order_by\":") + 11);
  };
  const ScrollKey real{"price", false, "float", "2.5"};
  const ScrollKey whole{"n", true, "int", "7"};
  const std::string price = R"({"attr":"price","desc":false,"value":2.5,"type":"float"})";
  const std::string n = R"({"attr":"n","desc":true,"value":7,"type":"int"})";
  const std::string weight = R"x({"attr":"weight()","desc":false,"value":0,"type":"int"})x";
  EXPECT_EQ(order_by({real, whole}), fmt::format("[{},{},{}]}}", weight, price, n));
  EXPECT_EQ(order_by({whole, real}), fmt::format("[{},{}]}}", n, price));
}

TEST(Scroll, TheServersTokenHasTheTextOfOrderByInItsLetterCase) {
  const std::vector<ScrollKey> keys{{"price", true, "int", "3"}, {"id", false, "int", "7"}};
  const auto sql = bytes_of_base64(server_token(keys, "Price DESC, id ASC"));
  ASSERT_TRUE(sql);
  EXPECT_EQ(sql->substr(0, sql->find("\"order_by\"")), R"({"order_by_str":"Price DESC, id ASC",)");
  const auto json = bytes_of_base64(server_token(keys));
  ASSERT_TRUE(json);
  EXPECT_EQ(json->substr(0, json->find("\"order_by\"")),
            R"({"order_by_str":"price desc, id asc",)");
  EXPECT_EQ(sql->substr(sql->find("\"order_by\"")), json->substr(json->find("\"order_by\"")));
}

TEST(Scroll, ATokenOfASelectIsNoneOfASearchInJson) {
  const ScrollPages page({"t", 2, "0123456789abcdef", "sql"}, "price ASC");
  const auto token = page.next_token(
      {.rows = 1, .keys = 1, .value = [](auto, auto) { return scroll_key("price", false, "9"); }},
      std::array<ShardReply, 2>{});
  EXPECT_NE(Scrolling().why_refused(next_page(token)).find("is of a SELECT"), std::string::npos);
}

TEST(Scroll, PrefersTheMirrorsThatGaveThePageBefore) {
  const Scrolling scroll;
  const auto token = scroll.token(kFirst, answer(1, sold(1, "9")), answer(1, sold(3, "7")));
  EXPECT_EQ(bytes_of_base64(token)->find("10.0.0."), std::string::npos) << "shows an address";
  const auto body = next_page(token);
  const auto plan = scroll.plan(body);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(prefers(*plan, 0, "10.0.0.1:9308"));
  EXPECT_FALSE(prefers(*plan, 0, "10.0.0.2:9308"));
  EXPECT_TRUE(prefers(*plan, 1, "10.0.0.2:9308"));
}

TEST(Scroll, GivesTheSameTokenAgainForAnEmptyPageAndNoneForAnEmptyFirstPage) {
  const Scrolling scroll;
  const auto token = scroll.token(kFirst, answer(1, sold(1, "9")), answer(0, ""));
  EXPECT_EQ(scroll.token(next_page(token), answer(0, ""), answer(0, "")), token);
  EXPECT_EQ(scroll.merged(kFirst, answer(0, ""), answer(0, "")), whole(0, ""));
}

TEST(Scroll, RefusesTokensThatWereDamagedForgedOrMadeForOtherTables) {
  const Scrolling scroll;
  const auto token = scroll.token(kFirst, answer(1, sold(1, "9")), answer(0, ""));
  const auto refused = [&](std::string_view other, std::string_view why) {
    const auto reason = scroll.why_refused(next_page(other));
    EXPECT_TRUE(reason.starts_with("400 ") && reason.find(why) != reason.npos &&
                reason.find("start again") != reason.npos)
        << reason;
  };
  refused("***", "is not base64");
  refused(token.substr(0, token.size() - 4), "was cut");
  refused(base64_of(R"({"order_by_str":"id asc","order_by":[]})"), "is not one of karmad's");
  auto text = *bytes_of_base64(token);
  text[text.find("\"value\":9") + 8] = '8';
  refused(base64_of(text), "was changed");
  EXPECT_NE(Scrolling("another key").why_refused(next_page(token)).find("another key"),
            std::string::npos);
  EXPECT_NE(scroll.why_refused(next_page(token), 3).find("had 2 shards; it has 3 now"),
            std::string::npos);
  EXPECT_NE(scroll.why_refused(fmt::format(R"({{"table":"u","options":{{"scroll":"{}"}}}})", token))
                .find("is for table t, not for u"),
            std::string::npos);
  EXPECT_EQ(  // names of tables have no case
      scroll.why_refused(fmt::format(R"({{"table":"T","options":{{"scroll":"{}"}}}})", token)),
      "planned");
}

TEST(Scroll, RefusesAnOrderThatAServerCannotContinue) {
  const Scrolling scroll;
  const auto token = scroll.token(kFirst, answer(1, sold(1, "9")), answer(0, ""));
  const std::pair<std::string, std::string_view> cases[] = {
      {R"({"table":"t","options":{"scroll":7}})", "must be true, or the token"},
      {R"({"table":"t","options":{"scroll":true,"scroll":true}})", "given twice"},
      {R"({"table":"t","sort":["meta.a"],"options":{"scroll":true}})", "a value inside JSON"},
      {R"({"table":"t","sort":["a","b","c","d","e"],"options":{"scroll":true}})", "at most 4 keys"},
      {R"({"table":"t","knn":{"k":3},"options":{"scroll":true}})", "a search for vectors"},
      {fmt::format(R"({{"table":"t","sort":["price"],"options":{{"scroll":"{}"}}}})", token),
       "is not that of the scroll token"}};
  for (const auto& [body, why] : cases)
    EXPECT_NE(scroll.why_refused(body).find(why), std::string::npos) << scroll.why_refused(body);
}

TEST(Scroll, TokensOfOneKeyAreThoseOfAnotherKarmadAndARandomKeyIsThatOfTheProcess) {
  const auto token = Scrolling().token(kFirst, answer(1, sold(1, "9")), answer(0, ""));
  EXPECT_EQ(Scrolling().why_refused(next_page(token)), "planned");
  const auto random = Scrolling("").token(kFirst, answer(1, sold(1, "9")), answer(0, ""));
  EXPECT_EQ(Scrolling("").why_refused(next_page(random)), "planned");
}

}  // namespace
}  // namespace karmad
