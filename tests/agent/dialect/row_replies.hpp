#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/merge/merge_steps.hpp"

namespace karmad {

/// A result set in the server's layout. `columns`: `name:type` each.
inline std::string raw_set(const std::vector<std::string>& columns,
                           const std::vector<std::string>& rows, std::string_view warning = {}) {
  std::string heads;
  for (const auto& column : columns) {
    const auto colon = column.rfind(':');
    heads += fmt::format(R"({}{{"{}":{{"type":"{}"}}}})", heads.empty() ? "" : ",",
                         column.substr(0, colon), column.substr(colon + 1));
  }
  return fmt::format(
      "{{\n\"columns\":[{}],\n\"data\":[\n{}{}],\n\"total\":{},\n\"error\":\"\",\n\"warning\":\"{}"
      "\"\n}}",
      heads, fmt::join(rows, ",\n"), rows.empty() ? "" : "\n", rows.size(), warning);
}

/// SHOW META with the documents found, and further rows (`name=value`).
inline std::string meta_set(std::size_t found, const std::vector<std::string>& more = {},
                            std::string_view time = "0.001", std::string_view relation = "eq") {
  std::vector<std::string> rows;
  const auto add = [&](std::string_view name, std::string_view value) {
    rows.push_back(fmt::format(R"({{"Variable_name":"{}","Value":"{}"}})", name, value));
  };
  add("total", "1");
  add("total_found", fmt::format("{}", found));
  add("total_relation", relation);
  add("time", time);
  for (const auto& row : more) {
    const auto equals = row.find('=');
    add(row.substr(0, equals), row.substr(equals + 1));
  }
  return raw_set({"Variable_name:string", "Value:string"}, rows);
}

inline std::string raw_reply(const std::vector<std::string>& sets) {
  return fmt::format("[{}]", fmt::join(sets, ",\n"));
}

/// The merged answer, or which shard could not be understood.
inline std::string select_merged(const SelectPlan& plan, const std::vector<std::string>& answers,
                                 MergeNotes notes = {}) {
  std::vector<ShardReply> replies;
  for (const auto& answer : answers) replies.push_back({answer});
  std::string out = "<";
  if (const auto bad = merge_replies(plan, replies, notes, out)) {
    EXPECT_EQ(out, "<") << "a refused merge must leave its output alone";
    return "bad shard " + std::to_string(bad->shard) + ": " + bad->reason;
  }
  return out.substr(1);
}

/// The rows of the first result set, one a line.
inline std::string rows_in(const std::string& answer) {
  const auto begin = answer.find("\"data\":[\n");
  if (begin == answer.npos) return answer;
  const auto end = answer.find("],\n\"total\"", begin);
  return answer.substr(begin + 9, end - begin - 9);
}

}  // namespace karmad
