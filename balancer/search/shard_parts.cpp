#include "balancer/search/scatter_gather.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/plan/plan.hpp"

namespace karmad {
namespace {

bool has_answered(const ShardPart& part) {
  return part->answered();
}

bool tells_of_change(const ShardDriver& part) {
  return part.answered() || part.outcome() == Outcome::client_mistake;
}

void append_reason(std::string& text, const ShardDriver& part) {
  if (const auto& refused = part.result().refused) {
    text += refused->reason;
  } else {
    part.append_failed(text);
  }
}

}  // namespace

void ShardParts::make(Query& query, const ShardQuery& shard_query, For each) {
  only_.reset();
  several_.clear();
  const auto& shards = shard_query.table.shards;
  const auto parts_of = [&](std::size_t shard) -> std::size_t {
    if (shard_query.plan != nullptr && !shard_query.plan->asks(shard)) return 0;
    return each == For::mirror ? shards[shard]->mirrors->size() : 1;
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) count += parts_of(i);
  if (count == 1) {
    parts_ = {&only_, 1};
  } else {
    several_ = std::vector<ShardPart>(count);
    parts_ = several_;
  }
  auto part = parts_.begin();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto number = static_cast<unsigned>(i + 1);
    for (std::size_t mirror = 0; mirror < parts_of(i); ++mirror, ++part)
      part->emplace(query, shard_query, *shards[i], number,
                    each == For::mirror ? std::optional(mirror) : std::nullopt);
  }
}

bool ShardParts::any_answered() const {
  return std::ranges::any_of(parts_, has_answered);
}

bool ShardParts::all_answered() const {
  return std::ranges::all_of(parts_, has_answered);
}

ShardDriver* ShardParts::refusing() {
  const auto found = std::ranges::find_if(
      parts_, [](const auto& part) { return part->outcome() == Outcome::client_mistake; });
  return found == parts_.end() ? nullptr : &**found;
}

ShardDriver* ShardParts::denying() {
  const auto found = std::ranges::find_if(parts_, [](auto& part) {
    const auto status = part->reply().status;
    return part->outcome() == Outcome::client_mistake && (status == 401 || status == 403);
  });
  return found == parts_.end() ? nullptr : &**found;
}

const Refusal* ShardParts::whole_refusal(bool may_be_partial, bool may_lack_all) const {
  const Refusal* found = nullptr;
  std::size_t refused = 0;
  for (const auto& part : parts_) {
    const auto& why = part->result().refused;
    if (!why) continue;
    ++refused;
    if (found == nullptr || why->status < found->status) found = &*why;
  }
  if ((refused == parts_.size() && !may_lack_all) || found == nullptr) return found;
  const bool missing = found->overloaded && may_be_partial;
  return found->status < 500 && !missing ? found : nullptr;
}

const Refusal* ShardParts::refusal() const {
  for (const auto& part : parts_)
    if (const auto& refused = part->result().refused) return &*refused;
  return nullptr;
}

const ShardDriver* ShardParts::overloaded() const {
  const ShardDriver* longest = nullptr;
  for (const auto& part : parts_) {
    const auto& result = part->result();
    const auto& hint = result.hint;
    const bool refuses =
        result.refused ? result.refused->overloaded
                       : result.outcome == Outcome::agent_error && hint.overload && hint.retryable;
    if (refuses && (longest == nullptr || longest->result().hint.delay < hint.delay))
      longest = &*part;
  }
  return longest;
}

bool ShardParts::any_finally_overloaded() const {
  return std::ranges::any_of(parts_, [](const auto& part) {
    const auto& result = part->result();
    return result.outcome == Outcome::agent_error && result.hint.overload && !result.hint.retryable;
  });
}

bool ShardParts::any_timed_out() const {
  return std::ranges::any_of(
      parts_, [](const auto& part) { return !part->answered() && part->result().timed_out; });
}

bool ShardParts::any_crashed() const {
  return std::ranges::any_of(
      parts_, [](const auto& part) { return !part->answered() && part->result().crashed; });
}

bool ShardParts::any_in_doubt() const {
  return std::ranges::any_of(parts_, [](const auto& part) { return part->result().in_doubt; });
}

std::string ShardParts::reasons(std::string_view table, bool may_be_changed) const {
  std::string text;
  for (const auto& part : parts_) {
    if (part->answered()) continue;
    if (!text.empty()) text += ";\n";
    fmt::format_to(std::back_inserter(text), "table {}: shard {}: ", table, part->shard_at() + 1);
    append_reason(text, *part);
  }
  constexpr std::string_view kDoubt = "; the request may have taken effect";
  if (may_be_changed && !text.ends_with(kDoubt)) text += kDoubt;
  return text;
}

bool ShardParts::tell_of_change() const {
  return std::ranges::any_of(parts_, [](const auto& part) { return tells_of_change(*part); });
}

std::vector<ChangeReply> ShardParts::change_replies() {
  std::vector<ChangeReply> replies;
  replies.reserve(parts_.size());
  for (auto& part : parts_) {
    auto& reply = replies.emplace_back();
    reply.shard = part->shard_at();
    reply.done = part->answered();
    reply.mirror = part->shown_mirror();
    if (tells_of_change(*part)) {
      reply.status = part->reply().status;
      reply.body = part->reply().body();
    }
    if (reply.done || !reply.body.empty()) continue;
    reply.status = part->result().timed_out ? 504 : 503;
    if (part->result().in_doubt) reply.reason = "may have taken effect: ";
    append_reason(reply.reason, *part);
  }
  return replies;
}

}  // namespace karmad
