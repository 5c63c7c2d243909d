#include "agent/dialect/manticore_json/scroll/scroll_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/manticore_json/parse_part.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

std::string scroll_attribute(const SortKey& key) {
  return key.by == SortKey::By::score ? "weight()" : key.by == SortKey::By::id ? "id" : key.name;
}

bool same_order(const std::vector<ScrollKey>& before, const std::vector<SortKey>& now) {
  return std::ranges::equal(before, now, [](const ScrollKey& a, const SortKey& b) {
    return a.attribute == scroll_attribute(b) && a.descending == b.descending;
  });
}

/// The member of an object that was read before; of several the last.
std::string_view member_in(std::string_view object, std::string_view wanted) {
  std::string_view found;
  PassedMembers members(object);
  while (const auto member = members.next())
    if (same_attribute(member->name, wanted)) found = member->value;
  return found;
}

std::string_view value_in(const MergedHit& hit, const SortKey& key) {
  if (key.by == SortKey::By::score) return member_in(hit.bytes, "_score");
  if (key.by == SortKey::By::id) return member_in(hit.bytes, "_id");
  return member_in(hit.source, key.name);
}

/// Nothing for a value that servers cannot continue after.
std::optional<ScrollKey> scroll_key(const MergedHit& hit, const SortKey& key) {
  const auto value = value_in(hit, key);
  ScrollKey read{.attribute = scroll_attribute(key), .descending = key.descending};
  if (value.empty() || is_object(value) || is_array(value) || value == "null") return std::nullopt;
  read.type = "int";
  if (value == "true" || value == "false") {
    read.value = value == "true" ? "1" : "0";
    return read;
  }
  read.value = value;
  if (is_string(value)) {
    if (key.by == SortKey::By::id)
      read.value = without_quotes(value);  // digits
    else
      read.type = "string";
  } else if (value.find_first_of(".eE") != value.npos) {
    read.type = "float";
  }
  return read;
}

bool is_true(std::string_view value) {
  return value == "true" || value == "1";
}
bool is_false(std::string_view value) {
  return value == "false" || value == "0" || value == "null" || value == "\"\"";
}

}  // namespace

std::expected<std::unique_ptr<ScrollPlan>, ClientError> ScrollPlan::make(
    std::string_view body, const SearchRequest& request, const ScrollPlace& place) {
  const auto option = request.scroll_option.in(body);
  if (!request.scroll_option.found() || is_false(option)) return nullptr;
  std::unique_ptr<ScrollPlan> plan(new ScrollPlan(place.key));
  const auto sort = request[Property::sort].in(body);
  auto& position = plan->position_;
  if (is_string(option)) {
    plan->given_ = json_unescaped(without_quotes(option));
    auto read = plan->signer_.read(plan->given_);
    if (!read) return std::unexpected(read.error());
    position = *std::move(read);
    if (auto why = why_not_continued(position, place.table, place.shards))
      return std::unexpected(*std::move(why));
    if (sort.empty()) return plan;
    const auto now = plan_sort(sort);
    const auto before = plan_sort(position.sort);
    if (!now || !before || now->keys != before->keys)
      return refused(
          "\"sort\" is not that of the scroll token; leave it out, or start again with "
          "options.scroll = true");
    return plan;
  }
  if (!is_true(option))
    return refused("options.scroll must be true, or the token of the page before");
  position.table = place.table;
  position.shards = place.shards;
  position.sort = sort;
  return plan;
}

std::optional<ClientError> ScrollPlan::complete(SortPlan& sort) {
  auto& keys = sort.keys;
  if (keys.size() > kMostServerKeys)
    return ClientError{
        400, fmt::format("a scroll sorts by at most {} keys and the id", kMostServerKeys - 1)};
  for (const auto& key : keys)
    if (!key.path.empty())
      return ClientError{400, fmt::format("a scroll cannot sort by {}, a value inside JSON; give "
                                          "it a name in \"expressions\" and sort by that name",
                                          key.name)};
  if (!given_.empty() && !same_order(position_.keys, keys))
    return ClientError{400,
                       "the scroll token has another order; start again with options.scroll = "
                       "true"};
  sort.asked = keys.size();
  return std::nullopt;
}

std::string ScrollPlan::option() const {
  return given_.empty() ? "false" : fmt::format("\"{}\"", server_token(position_.keys));
}

bool ScrollPlan::prefers(std::size_t shard, std::string_view mirror) const {
  return shard < position_.mirrors.size() && !position_.mirrors[shard].empty() &&
         position_.mirrors[shard] == signer_.digest(mirror);
}

std::string ScrollPlan::next_token(const std::vector<SortKey>& keys,
                                   std::span<const MergedHit> page,
                                   std::span<const ShardReply> replies) const {
  if (page.empty()) return given_;
  ScrollPosition next{.table = position_.table, .shards = position_.shards, .sort = position_.sort};
  for (const auto& key : keys) {
    auto read = scroll_key(page.back(), key);
    if (!read) return {};
    next.keys.push_back(*std::move(read));
  }
  for (std::size_t shard = 0; shard < replies.size(); ++shard) {
    const auto mirror = replies[shard].mirror;
    if (!mirror.empty())
      next.mirrors.push_back(signer_.digest(mirror));
    else
      next.mirrors.push_back(shard < position_.mirrors.size() ? position_.mirrors[shard] : "");
  }
  return signer_.token(next).value_or("");
}

}  // namespace karmad
