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

std::string_view value_in(const MergedHit& hit, const SortKey& key) {
  if (key.by == SortKey::By::score) return last_member(hit.bytes, "_score");
  if (key.by == SortKey::By::id) return last_member(hit.bytes, "_id");
  return last_member(hit.source, key.name, same_attribute);
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
  const auto sort = request[Property::sort].in(body);
  const auto expressions = request[Property::expressions].in(body);
  const auto planned = [expressions](ScrollPages pages) {
    return std::unique_ptr<ScrollPlan>(new ScrollPlan(std::move(pages), expressions));
  };
  if (!is_string(option)) {
    if (is_true(option)) return planned(ScrollPages(place, sort));
    return refused("options.scroll must be true, or the token of the page before");
  }
  auto pages = ScrollPages::behind(json_unescaped(without_quotes(option)), place);
  if (!pages) return std::unexpected(std::move(pages.error()));
  if (sort.empty()) return planned(*std::move(pages));
  const auto now = plan_sort(sort);
  const auto before = plan_sort(pages->sort());
  if (!now || !before || now->keys != before->keys)
    return refused(
        "\"sort\" is not that of the scroll token; leave it out, or start again with "
        "options.scroll = true");
  return planned(*std::move(pages));
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
  if (!pages_.keys().empty() && !same_order(pages_.keys(), keys))
    return ClientError{400,
                       "the scroll token has another order; start again with options.scroll = "
                       "true"};
  sort.asked = keys.size();
  return std::nullopt;
}

std::string ScrollPlan::option() const {
  return pages_.keys().empty() ? "false" : fmt::format("\"{}\"", server_token(pages_.keys()));
}

/// A server does not continue behind a text that an expression gives.
ScrollKey ScrollPlan::key_of(const MergedHit& hit, const SortKey& key) const {
  auto read = scroll_key(scroll_attribute(key), key.descending, value_in(hit, key));
  if (read.type == "string" && !last_member(expressions_, key.name, same_attribute).empty())
    read.type.clear();
  return read;
}

std::string ScrollPlan::next_token(const std::vector<SortKey>& keys, std::size_t before,
                                   std::span<const MergedHit> page,
                                   std::span<const ShardReply> replies) const {
  if (page.empty()) return pages_.given();
  return pages_.next_token(
      {.before = before,
       .rows = page.size(),
       .keys = keys.size(),
       .value = [&](std::size_t row, std::size_t k) { return key_of(page[row], keys[k]); }},
      replies);
}

}  // namespace karmad
