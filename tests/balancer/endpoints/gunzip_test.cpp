#include "balancer/endpoints/packed_body.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/gzip.hpp"

namespace karmad {
namespace {

using test::gzip;

struct Unpacked {
  int status = 200;
  std::string plain;
  std::string reason;
  std::size_t steps = 0;
};

/// `room`: how much the buffer grows at each step.
Unpacked unpack(std::string_view packed, std::size_t most = 64 << 20, std::size_t room = 70'000) {
  Gunzip gunzip(packed, most);
  Unpacked end;
  while (!gunzip.done()) {
    ++end.steps;
    if (end.plain.capacity() - end.plain.size() < room) end.plain.reserve(end.plain.size() + room);
    const auto before = end.plain.size();
    const auto taken = gunzip.bytes_read();
    if (const auto wrong = gunzip.step(end.plain))
      return {wrong->status, {}, wrong->reason, end.steps};
    EXPECT_LE(end.plain.size() - before, Gunzip::kStep);
    EXPECT_LE(gunzip.bytes_read() - taken, Gunzip::kStep);
    EXPECT_LE(end.steps,
              4 + packed.size() + 2 * (end.plain.size() / std::min(room, Gunzip::kStep)));
  }
  return end;
}

std::string noise(std::size_t size) {
  std::mt19937 random(7);
  std::string text(size, ' ');
  for (auto& c : text) c = static_cast<char>(random());
  return text;
}

TEST(Gunzip, GivesTheOriginalBytes) {
  for (const auto& plain : {std::string("x"), std::string(), std::string(1 << 20, 'a'),
                            noise(300'000), std::string(R"({"table":"t"})")})
    for (const int level : {0, 1, 9})
      for (const std::size_t room : {1000u, 70'000u}) {
        const auto end = unpack(gzip(plain, level), 64 << 20, room);
        EXPECT_EQ(end.status, 200) << end.reason;
        EXPECT_TRUE(end.plain == plain) << plain.size();
      }
}

// RFC 1952 section 2.2: members follow each other.
TEST(Gunzip, TakesSeveralMembers) {
  EXPECT_EQ(unpack(gzip("one ") + gzip("") + gzip("two", 0)).plain, "one two");
  std::string many;
  for (int i = 0; i < 5000; ++i) many += gzip("");
  EXPECT_EQ(unpack(many + gzip("end")).plain, "end");
}

TEST(Gunzip, RefusesWhatEndsTooEarlyAtAnyByte) {
  const auto packed = gzip(R"({"table":"t","query":{"match_all":{}}})");
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const auto end = unpack(std::string_view(packed).substr(0, size));
    EXPECT_EQ(end.status, 400) << size;
    EXPECT_TRUE(end.reason.contains("ends too early")) << end.reason;
  }
}

TEST(Gunzip, RefusesWhatFollowsTheLastMember) {
  for (const auto& behind : {std::string("garbage"), std::string(8, '\0'), std::string("x")})
    EXPECT_EQ(unpack(gzip("plain") + behind).status, 400);
  EXPECT_EQ(unpack("{\"table\":\"t\"}").status, 400);
  EXPECT_EQ(unpack("\x78\x9c\x03\x00\x00\x00\x00\x01").status, 400);  // RFC 1950
}

TEST(Gunzip, RefusesMoreThanItsBounds) {
  const auto packed = gzip(noise(100'000));
  EXPECT_EQ(unpack(packed, 100'000).status, 200);
  EXPECT_EQ(unpack(packed, 99'999).status, 413);
  // A thousand times its size: found after a megabyte, not after all of it.
  const auto bomb = gzip(std::string(64 << 20, ' '), 9);
  const auto end = unpack(bomb);
  EXPECT_EQ(end.status, 400);
  EXPECT_TRUE(end.reason.contains("200 times")) << end.reason;
  EXPECT_LE(end.steps, 80u);
  EXPECT_EQ(unpack(bomb, 1 << 20).status, 413);
}

// For any bytes it ends with an error, or with content that matches the checksum.
TEST(Gunzip, SurvivesMutatedBytes) {
  const auto good = gzip(noise(500)) + gzip(std::string(5000, 'a'));
  const auto plain = unpack(good).plain;
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    auto bad = good;
    for (unsigned i = 0; i <= random() % 3; ++i) {
      switch (random() % 4) {
        case 0:
          bad[random() % bad.size()] = static_cast<char>(random());
          break;
        case 1:
          bad.erase(random() % bad.size(), 1 + random() % 8);
          break;
        case 2:
          bad.insert(random() % bad.size(), 1 + random() % 8, static_cast<char>(random()));
          break;
        default:
          bad += bad.substr(random() % bad.size());
      }
      if (bad.empty()) bad = "x";
    }
    const auto end = unpack(bad, 1 << 20);
    if (end.status == 200) continue;
    EXPECT_TRUE(end.status == 400 || end.status == 413) << end.status;
    EXPECT_FALSE(end.reason.empty());
  }
}

}  // namespace
}  // namespace karmad
