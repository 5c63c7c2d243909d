#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/plan.hpp"

namespace karmad {

/// The dialect as the balancer uses it, with words for what a test says.
class Searching {
 public:
  explicit Searching(DialectSettings settings = {}) : dialect_(make_manticore_json(settings)) {}

  const Dialect& dialect() const { return *dialect_; }

  static ClientRequest post(std::string_view body) {
    return {"POST", "/search", "", "application/json", body};
  }

  std::expected<Parsed, ClientError> parse(std::string_view body) const {
    return dialect_->parse(post(body));
  }

  /// Why the request cannot be merged over several shards, or what a shard is asked.
  std::string asked(std::string_view body, std::vector<std::string> tables = {"s"}) const {
    const auto request = post(body);
    const auto parsed = dialect_->parse(request);
    if (!parsed) return "refused: " + parsed.error().reason;
    const auto plan = dialect_->plan(request, *parsed, 2);
    if (!plan) return "refused: " + plan.error().reason;
    std::string buffer;
    return std::string(write_planned(*plan, 0, tables, buffer).body);
  }

  /// The merged answer, or which shard could not be understood.
  std::string merged(std::string_view body, const std::vector<std::string>& answers,
                     MergeNotes notes = {}) const {
    const auto request = post(body);
    const auto parsed = dialect_->parse(request);
    if (!parsed) return "refused: " + parsed.error().reason;
    const auto plan = dialect_->plan(request, *parsed, answers.size());
    if (!plan) return "refused: " + plan.error().reason;
    std::vector<ShardReply> replies;
    for (const auto& answer : answers) replies.push_back({answer});
    std::string out = "<";
    if (const auto bad = merge(*plan, replies, notes, out)) {
      EXPECT_EQ(out, "<") << "a refused merge must leave its output alone";
      return "bad shard " + std::to_string(bad->shard) + ": " + bad->reason;
    }
    return out.substr(1);
  }

  /// Plan::merge_weight of a request; 0 when it is refused.
  unsigned merge_weight(std::string_view body) const {
    const auto parsed = parse(body);
    if (!parsed) return 0;
    const auto plan = dialect_->plan(post(body), *parsed, 2);
    return plan ? plan->merge_weight : 0;
  }

 private:
  std::unique_ptr<Dialect> dialect_;
};

/// The `aggs` that a shard is asked for, and what follows them; or why they are refused.
inline std::string asked_aggs(std::string_view aggs) {
  const auto asked =
      Searching().asked(R"({"table":"t","limit":0,"aggs":)" + std::string(aggs) + "}");
  const auto at = asked.find("\"aggs\":");
  return at == asked.npos ? asked : asked.substr(at + 7, asked.size() - at - 8);
}

/// An answer of a shard, `hits` and `rest` spelled out.
inline std::string answer(int total, std::string_view hits, std::string_view rest = "") {
  return R"({"took":1,"timed_out":false,"hits":{"total":)" + std::to_string(total) +
         R"(,"total_relation":"eq","hits":[)" + std::string(hits) + "]}" + std::string(rest) + "}";
}

/// A merged answer that took nothing.
inline std::string whole(int total, std::string_view hits, std::string_view rest = "") {
  return R"({"took":0,"timed_out":false,"hits":{"total":)" + std::to_string(total) +
         R"(,"total_relation":"eq","hits":[)" + std::string(hits) + "]}" + std::string(rest) + "}";
}

}  // namespace karmad
