#include "agent/stats/stats_writer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace karmad {
namespace {

class Lines final : public StatsWriter {
 public:
  std::vector<std::string> all;

 private:
  void put(const Stat& stat, const StatValue& value, std::span<const Label> labels) override {
    std::string line(stat.name);
    for (const auto& label : labels) line.append(" ").append(label.name).append(label.value);
    all.push_back(line.append(" ").append(std::to_string(value.get().index())));
  }
};

void write_two(StatsWriter& out) {
  out.add({"plain", "a number"}, 1U);
  out.labelled({"of", "A"}, [&] {
    out.add({"deep", "a number"}, Micros{1}, {{"by", "B"}});
    out.add({"flat", "a number"}, std::optional<double>());
  });
  out.add({"plain", "a number"}, -1);
}

TEST(StatsWriter, NumbersHaveTheLabelsAroundThem) {
  Lines lines;
  write_two(lines);
  EXPECT_EQ(lines.all,
            (std::vector<std::string>{"plain 1", "deep ofA byB 4", "flat ofA 0", "plain 2"}));
}

TEST(StatsRecorder, RepeatsTheNumbersItGot) {
  Lines at_once;
  write_two(at_once);
  StatsRecorder recorder;
  write_two(recorder);
  Lines later;
  write(later, recorder.take());
  EXPECT_EQ(later.all, at_once.all);
}

TEST(StatValue, KeepsTheTypeAndWhetherThereIsALimit) {
  const auto is = [](const StatValue& value, std::size_t type) {
    return value.get().index() == type;
  };
  EXPECT_TRUE(is(true, 5) && is(1U, 1) && is(-1, 2) && is(0.5, 3) && is(Micros{1}, 4));
  EXPECT_TRUE(is(std::optional<unsigned>(), 0) && is(std::optional(1U), 1));
  EXPECT_TRUE(is(StatValue::limit(std::optional<unsigned>()), 6));
}

}  // namespace
}  // namespace karmad
