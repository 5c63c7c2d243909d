#include "agent/dialect/plan/search/scroll_plan.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

bool same_order(const std::vector<ScrollKey>& before, const std::vector<SortKey>& now) {
  return std::ranges::equal(before, now, [](const ScrollKey& a, const SortKey& b) {
    return a.attribute == scroll_attribute(b) && a.descending == b.descending;
  });
}

bool is_true(std::string_view value) {
  return value == "true" || value == "1";
}
bool is_false(std::string_view value) {
  return value == "false" || value == "0" || value == "null" || value == "\"\"";
}

}  // namespace

std::expected<std::optional<HitScroll>, ClientError> plan_scroll(std::string_view body,
                                                                 const SearchRequest& request,
                                                                 const ScrollPlace& place) {
  const auto option = request.scroll_option.in(body);
  if (!request.scroll_option.found() || is_false(option)) return std::nullopt;
  const auto sort = request[Property::sort].in(body);
  const auto expressions = request[Property::expressions].in(body);
  const auto planned = [expressions](ScrollPages pages) {
    return HitScroll{std::move(pages), expressions};
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

std::optional<ClientError> complete_scroll(const ScrollPages& pages, SortPlan& sort) {
  auto& keys = sort.keys;
  if (keys.size() > kMostServerKeys)
    return ClientError{
        400, fmt::format("a scroll sorts by at most {} keys and the id", kMostServerKeys - 1)};
  for (const auto& key : keys)
    if (!key.path.empty())
      return ClientError{400, fmt::format("a scroll cannot sort by {}, a value inside JSON; give "
                                          "it a name in \"expressions\" and sort by that name",
                                          key.name)};
  if (!pages.keys().empty() && !same_order(pages.keys(), keys))
    return ClientError{400,
                       "the scroll token has another order; start again with options.scroll = "
                       "true"};
  sort.asked = keys.size();
  return std::nullopt;
}

std::string scroll_option(const ScrollPages& pages) {
  return pages.keys().empty() ? "false" : fmt::format("\"{}\"", server_token(pages.keys()));
}

}  // namespace karmad
