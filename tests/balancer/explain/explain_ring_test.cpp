#include "balancer/explain/explain_record.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

ExplainRecord& begun(ExplainRing& ring, std::uint64_t query, std::string_view id = "") {
  auto& record = *ring.at(ring.begin(query), query);
  record.request_id = id;
  return record;
}

TEST(ExplainRing, IsOffAtFirst) {
  ExplainRing ring;
  EXPECT_FALSE(ring.enabled());
  EXPECT_EQ(ring.find("7"), nullptr);
}

TEST(ExplainRing, FindsARequestByItsIdOrItsNumber) {
  ExplainRing ring;
  ring.keep(4);
  begun(ring, 7, "order");
  begun(ring, 8, "other");
  ASSERT_NE(ring.find("order"), nullptr);
  EXPECT_EQ(ring.find("order")->query, 7U);
  EXPECT_EQ(ring.find("8")->request_id.text(), "other");
  EXPECT_EQ(ring.find("8x"), nullptr);
  EXPECT_EQ(ring.find(""), nullptr);
  EXPECT_EQ(ring.find("18446744073709551615"), nullptr);
}

TEST(ExplainRing, FindsTheNewestOfTwoWithTheSameId) {
  ExplainRing ring;
  ring.keep(4);
  begun(ring, 1, "same");
  begun(ring, 2, "same");
  EXPECT_EQ(ring.find("same")->query, 2U);
}

TEST(ExplainRing, ReplacesTheOldestRecord) {
  ExplainRing ring;
  ring.keep(2);
  const auto place = ring.begin(1);
  ring.begin(2);
  EXPECT_NE(ring.at(place, 1), nullptr);
  ring.begin(3);
  EXPECT_EQ(ring.at(place, 1), nullptr);
  EXPECT_EQ(ring.find("1"), nullptr);
  EXPECT_NE(ring.find("2"), nullptr);
}

TEST(ExplainRecord, GrowsToItsLimitsAndKeepsWhatItGrewTo) {
  ExplainRecord record(5, 20);
  for (std::size_t choice = 0; choice < 5; ++choice) {
    auto* const added = record.add(4);
    ASSERT_NE(added, nullptr) << choice;
    EXPECT_EQ(added->first_number, 4 * choice);
  }
  EXPECT_EQ(record.numbers.size(), 20U);
  EXPECT_EQ(record.add(0), nullptr) << "no further choice";
  EXPECT_EQ(record.left_out, 1U);
  record.clear();
  EXPECT_GE(record.choices.capacity(), 5U);
  EXPECT_EQ(record.add(21), nullptr) << "more numbers than it may have";
  EXPECT_NE(record.add(20), nullptr);
}

TEST(ExplainRing, EndsItsRecordsWithAnotherSize) {
  ExplainRing ring;
  ring.keep(8);
  const auto place = ring.begin(1);
  ring.keep(8);
  EXPECT_NE(ring.at(place, 1), nullptr) << "the same size changes nothing";
  ring.keep(0);
  EXPECT_EQ(ring.at(place, 1), nullptr);
  EXPECT_FALSE(ring.enabled());
}

TEST(ExplainRing, KeepsRecordsOfTwoTopologiesOnly) {
  ExplainRing ring;
  ring.keep(4);
  std::vector<std::weak_ptr<const Topology>> topologies;
  for (std::uint64_t query = 1; query <= 3; ++query) {
    auto topology = std::make_shared<const Topology>();
    topologies.push_back(topology);
    ring.adopt(topology);
    EXPECT_TRUE(ring.keeps(topology.get()));
    begun(ring, query).topology = topology.get();
  }
  EXPECT_EQ(ring.find("1"), nullptr);
  EXPECT_NE(ring.find("2"), nullptr);
  EXPECT_NE(ring.find("3"), nullptr);
  EXPECT_TRUE(topologies[0].expired());
  EXPECT_FALSE(topologies[1].expired());
}

TEST(ExplainRecord, CountsChoicesWithoutRoom) {
  ExplainRecord record(3, 10);
  EXPECT_EQ(record.add(4)->first_number, 0U);
  EXPECT_EQ(record.add(4)->first_number, 4U);
  EXPECT_EQ(record.add(4), nullptr) << "no room for the numbers";
  EXPECT_NE(record.add(2), nullptr);
  EXPECT_EQ(record.add(0), nullptr) << "no room for a choice";
  EXPECT_EQ(record.left_out, 2U);
  record.clear();
  EXPECT_EQ(record.left_out, 0U);
  EXPECT_EQ(record.add(10)->first_number, 0U);
}

TEST(ExplainRecord, KeepsTheFirstBytesOfATextOnly) {
  ShortText<5> text;
  EXPECT_EQ(text.text(), "");
  text = "refused by the mirror";
  EXPECT_EQ(text.text(), "refus");
}

}  // namespace
}  // namespace karmad
