#include "agent/dialect/plan/search/source_plan.hpp"

#include <algorithm>

#include "agent/json/json_line.hpp"
#include "agent/json/json_tree.hpp"

namespace karmad {

namespace {

using Patterns = std::vector<std::string>;

/// The selection of a client; empty `includes` selects everything.
struct Selection {
  bool none = false;
  Patterns includes;
  Patterns excludes;
};

std::expected<Patterns, ClientError> patterns_of(const rapidjson::Value& list, const char* what) {
  if (list.IsString()) return Patterns{std::string(text_of(list))};
  if (!list.IsArray()) return refused(std::string(what) + " must be an array of strings");
  Patterns patterns;
  for (const auto& item : list.GetArray()) {
    if (!item.IsString()) return refused(std::string(what) + " must be an array of strings");
    patterns.emplace_back(text_of(item));
  }
  return patterns;
}

std::expected<Selection, ClientError> selection_of(const rapidjson::Value& source) {
  Selection selection;
  if (source.IsBool()) {
    selection.none = !source.GetBool();
    return selection;
  }
  if (source.IsString()) {
    if (source.GetStringLength() != 0) selection.includes.emplace_back(text_of(source));
    return selection;
  }
  if (source.IsArray()) {
    auto includes = patterns_of(source, "\"_source\"");
    if (!includes) return std::unexpected(includes.error());
    selection.includes = std::move(*includes);
    return selection;
  }
  if (!source.IsObject()) return refused("\"_source\" must be a string, an array or an object");
  for (const auto& member : source.GetObject()) {
    const auto key = text_of(member.name);
    if (key == "includes") {
      auto includes = patterns_of(member.value, "\"_source\".\"includes\"");
      if (!includes) return std::unexpected(includes.error());
      selection.includes = std::move(*includes);
    } else if (key == "excludes") {
      auto excludes = patterns_of(member.value, "\"_source\".\"excludes\"");
      if (!excludes) return std::unexpected(excludes.error());
      selection.excludes = std::move(*excludes);
    }
  }
  return selection;
}

bool any_matches(const Patterns& patterns, std::string_view member) {
  return std::ranges::any_of(patterns, [&](const auto& p) { return source_matches(p, member); });
}

void add_list(JsonLine& out, const Patterns& patterns) {
  out.add('[');
  for (const auto& pattern : patterns) {
    if (&pattern != &patterns.front()) out.add(',');
    out.add_quoted(pattern);
  }
  out.add(']');
}

void add_selection(JsonLine out, const Selection& selection) {
  if (selection.excludes.empty()) return add_list(out, selection.includes);
  out.add(R"({"includes":)");
  add_list(out, selection.includes);
  out.add(R"(,"excludes":)");
  add_list(out, selection.excludes);
  out.add('}');
}

/// The names under which shards may show the attribute of a sort key: those of a table's attributes
/// are in lower case, those of expressions as the client wrote them.
Patterns shown_names(const SortKey& key) {
  Patterns names{key.attribute};
  for (auto& c : names[0])
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  if (names[0] != key.attribute) names.push_back(key.attribute);
  return names;
}

/// Removes the exclusions that match `attribute` from the shards' request; append_hit() applies
/// them.
bool lift_exclusions(Selection& selection, std::string_view attribute, Patterns& hidden) {
  const auto lifted = std::ranges::stable_partition(
      selection.excludes, [&](const auto& pattern) { return !source_matches(pattern, attribute); });
  const bool any = !lifted.empty();
  hidden.insert(hidden.end(), lifted.begin(), lifted.end());
  selection.excludes.erase(lifted.begin(), lifted.end());
  return any;
}

}  // namespace

std::expected<SourcePlan, ClientError> plan_source(std::string_view text,
                                                   const std::vector<SortKey>& keys) {
  SourcePlan plan;
  if (text.empty()) {
    for (const auto& key : keys)
      if (!key.expression.empty()) plan.hidden.push_back(key.name);
    return plan;
  }
  rapidjson::Document source;
  parse_part(text, source);
  auto selection = selection_of(source);
  if (!selection) return std::unexpected(selection.error());

  bool changed = false;
  for (const auto& key : keys) {
    if (key.by != SortKey::By::attribute) continue;
    if (!key.expression.empty()) plan.hidden.push_back(key.name);
    for (const auto& name : shown_names(key)) {
      const bool everything = selection->includes.empty() && !selection->none;
      if (!everything && !any_matches(selection->includes, name)) {
        if (key.expression.empty()) plan.hidden.push_back(name);
        selection->includes.push_back(name);
        selection->none = false;
        changed = true;
      }
      if (lift_exclusions(*selection, name, plan.hidden)) changed = true;
    }
  }
  if (changed) add_selection(JsonLine(plan.rewritten.emplace()), *selection);
  return plan;
}

}  // namespace karmad
