#include "strategies/tags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/text/source_text.hpp"
#include "strategies/words.hpp"

namespace karmad {
namespace {

constexpr std::string_view kPair = "a tag is written name:value";

std::optional<std::string> add_pair(Tags& tags, std::string_view pair, char separator) {
  const auto colon = pair.find(':');
  if (colon != std::string_view::npos)
    return add_tag(tags, trimmed(pair.substr(0, colon)), trimmed(pair.substr(colon + 1)));
  if (pair.empty()) return fmt::format("a tag is missing around a '{}'; {}", separator, kPair);
  return fmt::format("the tag {} has no value; {}", quoted(pair), kPair);
}

std::string text(const Tag& tag) {
  return fmt::format("{}:{}", tag.name, tag.value);
}

/// The elements as text, joined by the separator.
template <class List>
std::string joined(const List& list, char separator) {
  std::string all;
  for (const auto& element : list) {
    if (&element != list.data()) all += separator;
    all += text(element);
  }
  return all;
}

}  // namespace

std::optional<std::string> add_tag(Tags& tags, std::string_view name, std::string_view value) {
  if (name.empty()) return fmt::format("a tag has no name; {}", kPair);
  if (has_control_characters(name) || has_control_characters(value))
    return fmt::format("the tag {} holds a control character", quoted(name));
  if (tags.size() == kMostTags) return fmt::format("more than {} tags in a set", kMostTags);
  const auto place = std::ranges::lower_bound(tags, name, {}, &Tag::name);
  if (place != tags.end() && place->name == name)
    return fmt::format("the tag {} is given twice in a set", quoted(name));
  tags.insert(place, {std::string(name), std::string(value)});
  return std::nullopt;
}

std::expected<Tags, std::string> parse_tags(std::string_view text, char separator) {
  Tags tags;
  if (trimmed(text).empty()) return tags;
  if (!is_utf8(text)) return std::unexpected("tags are not UTF-8");
  std::optional<std::string> why;
  each_part(text, separator, [&](std::string_view pair) {
    why = add_pair(tags, trimmed(pair), separator);
    return !why;
  });
  if (why) return std::unexpected(std::move(*why));
  return tags;
}

std::expected<std::vector<Tags>, std::string> parse_tag_sets(std::string_view text) {
  std::vector<Tags> tag_sets;
  std::optional<std::string> why;
  each_part(text, '|', [&](std::string_view set) {
    auto tags = parse_tags(set, ',');
    if (!tags)
      why = std::move(tags.error());
    else if (tag_sets.size() == kMostTagSets)
      why = fmt::format("more than {} tag sets", kMostTagSets);
    else
      tag_sets.push_back(std::move(*tags));
    return !why;
  });
  if (why) return std::unexpected(std::move(*why));
  return tag_sets;
}

std::string text(const Tags& tags) {
  return joined(tags, ',');
}

std::string text(const std::vector<Tags>& tag_sets) {
  return joined(tag_sets, '|');
}

}  // namespace karmad
