#include "agent/dialect/replies/change_replies.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "agent/dialect/replies/search_reply.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestReason = 500;
/// Most failed parts that an answer lists.
constexpr std::size_t kMostListed = 64;

bool depends_on_id(const ShardLayout& layout) {
  return layout.shards > 1 || layout.copies;
}

}  // namespace

bool needs_made_id(const std::optional<DocumentId>& id, const ShardLayout& layout) {
  return depends_on_id(layout) && (!id || id->is_missing());
}

std::optional<std::string> check_document_id(const std::optional<DocumentId>& id,
                                             const ShardLayout& layout, std::string_view shown) {
  if (!depends_on_id(layout) || !id || id->is_missing() || id->is_kept()) return std::nullopt;
  return fmt::format(
      "gives a new document the id {}; an id is a whole number from 1 to 18446744073709551615 in "
      "digits",
      clean_utf8(shortened_utf8(shown)));
}

std::vector<ShardEnd> shard_ends(std::span<const ChangeReply> replies) {
  std::vector<ShardEnd> ends;
  for (const auto& reply : replies) {
    if (ends.empty() || ends.back().shard != reply.shard) ends.push_back({.shard = reply.shard});
    auto& end = ends.back();
    ++end.parts;
    if (reply.done) {
      ++end.done;
      if (end.answer == nullptr) end.answer = &reply;
    } else if (end.refusal == nullptr && !reply.body.empty()) {
      end.refusal = &reply;
    }
  }
  return ends;
}

std::vector<ChangeReply> checked(std::span<const ChangeReply> replies,
                                 const std::function<bool(std::string_view body)>& reads) {
  std::vector<ChangeReply> all(replies.begin(), replies.end());
  for (auto& reply : all) {
    if (!reply.done || reads(reply.body)) continue;
    reply.done = false;
    reply.body = {};
    reply.reason =
        fmt::format("may have taken effect: agent {}: its answer cannot be read", reply.mirror);
  }
  return all;
}

const ChangeReply* common_refusal(std::span<const ChangeReply> replies) {
  const bool all = !replies.empty() && std::ranges::all_of(replies, [](const auto& reply) {
    return !reply.done && !reply.body.empty();
  });
  return all ? &replies.front() : nullptr;
}

std::string failure_text(const ChangeReply& reply) {
  auto text = reply.reason;
  if (text.empty()) {
    const auto error = agent_error_text(reply.body);
    text = error.empty() ? fmt::format("agent {}: status {}", reply.mirror, reply.status)
                         : fmt::format("agent {}: {}", reply.mirror, error);
  }
  text.resize(shortened_utf8(text, kLongestReason).size());
  return text;
}

std::string failures_line(std::span<const ChangeReply> replies) {
  std::string line;
  std::size_t listed = 0;
  for (const auto& reply : replies) {
    if (reply.done || listed++ >= kMostListed) continue;
    if (!line.empty()) line += "; ";
    fmt::format_to(std::back_inserter(line), "shard {}: {}", reply.shard + 1, failure_text(reply));
  }
  if (listed > kMostListed)
    fmt::format_to(std::back_inserter(line), "; and {} more", listed - kMostListed);
  return line;
}

int append_incomplete(std::string& out, std::span<const ChangeReply> replies,
                      std::string_view changed) {
  const auto failed = std::ranges::count(replies, false, &ChangeReply::done);
  JsonLine json(out);
  json.add(
      R"({"error":{"type":"update_incomplete","reason":)",
      Quoted(fmt::format("the update failed in {} of {} parts{}: {}", failed, replies.size(),
                         std::cmp_less(failed, replies.size()) ? ", the others carried it out" : "",
                         failures_line(replies))),
      R"(,"failed":[)");
  std::size_t listed = 0;
  for (const auto& reply : replies) {
    if (reply.done || listed >= kMostListed) continue;
    json.add(listed++ == 0 ? R"({"shard":)" : R"(,{"shard":)", reply.shard + 1, R"(,"mirror":)",
             Quoted(reply.mirror), R"(,"status":)", reply.status, R"(,"reason":)",
             Quoted(failure_text(reply)), '}');
  }
  json.add(']');
  if (!changed.empty()) json.add(R"(,"changed":)", changed);
  json.add(R"(},"status":500})");
  return 500;
}

}  // namespace karmad
