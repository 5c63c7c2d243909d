#include "agent/dialect/manticore_update/update_counts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "agent/dialect/changes/change_replies.hpp"
#include "agent/dialect/manticore_update/update_answer.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

constexpr std::array<std::string_view, 3> kCounts{"updated", "deleted", "created"};

std::optional<std::uint64_t> changed_count(std::string_view value) {
  std::uint64_t count = 0;
  const auto* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, count);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return count;
}

/// How much a `result` says that the shard had the document.
int result_rank(std::string_view result) {
  if (result == R"("not found")") return 1;
  if (result == R"("noop")") return 2;
  return 3;
}

/// What the members of one answer say.
struct CountedAnswer {
  int rank = 0;  ///< of its `result`; 0: it has none
  std::string_view warning;
};

CountedAnswer read_counts(std::string_view body, std::array<std::uint64_t, kCounts.size()>& sums) {
  CountedAnswer said;
  visit_members(body, [&](std::string_view key, std::string_view value) {
    if (key == "result") said.rank = result_rank(value);
    if (key == "warning") said.warning = value;
    for (std::size_t i = 0; i < kCounts.size(); ++i)
      if (key == kCounts[i]) sums[i] += changed_count(value).value_or(0);
    return true;
  });
  return said;
}

}  // namespace

bool is_update_answer(std::string_view body) {
  bool has_result = false;
  const bool whole = visit_members(body, [&](std::string_view key, std::string_view value) {
    if (key == "result") has_result = is_string(value);
    if (std::ranges::find(kCounts, key) == kCounts.end()) return key != "result" || has_result;
    const bool counted = changed_count(value).has_value();
    has_result = has_result || counted;
    return counted || value == "true" || value == "false";  // `created` of one document
  });
  return whole && has_result;
}

std::string merged_update_answer(std::span<const std::string_view> bodies) {
  std::array<std::uint64_t, kCounts.size()> sums{};
  std::string_view best = bodies.front();
  std::string_view warning;
  int best_rank = -1;
  for (const auto body : bodies) {
    const auto said = read_counts(body, sums);
    if (warning.empty()) warning = said.warning;
    if (said.rank <= best_rank) continue;
    best_rank = said.rank;
    best = body;
  }
  std::string merged;
  JsonLine out(merged);
  out.add('{');
  bool first = true;
  const auto add_key = [&](std::string_view key) {
    if (!std::exchange(first, false)) out.add(',');
    out.add('"');
    out.add(key);
    out.add(R"(":)");
  };
  visit_members(best, [&](std::string_view key, std::string_view value) {
    if (key == "warning") return true;
    add_key(key);
    for (std::size_t i = 0; i < kCounts.size(); ++i)
      if (key == kCounts[i] && changed_count(value)) {
        out.add_number(sums[i]);
        return true;
      }
    out.add(value);
    return true;
  });
  if (!warning.empty()) {
    add_key("warning");
    out.add(warning);
  }
  out.add('}');
  return merged;
}

int merge_update_counts(const UpdateCounts& how, std::span<const ChangeReply> given,
                        std::string& out) {
  if (const auto* refusal = common_refusal(given)) return pass_refusal_on(out, *refusal, how.table);
  const auto replies = checked(given, is_update_answer);
  std::vector<std::string_view> bodies;  // of one mirror of each shard
  int status = 200;
  for (const auto& end : shard_ends(replies)) {
    if (end.answer == nullptr) continue;
    bodies.push_back(end.answer->body);
    status = end.answer->status;
  }
  const auto merged = bodies.empty() ? std::string() : merged_update_answer(bodies);
  const auto named = with_table(merged, how.table).value_or(merged);
  if (std::ranges::all_of(replies, &ChangeReply::done)) {
    out.append(named);
    return status;
  }
  return append_incomplete(out, replies, named);
}

}  // namespace karmad
