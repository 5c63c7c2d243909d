#include "agent/dialect/request/parsed.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "agent/json/json_cursor.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

namespace {

/// `{"color":"red"}` of a query of words, whose value may be within `query` or `value`.
std::string equal_value(const PassedMembers::Member& field) {
  auto value = field.value;
  for (const auto* const inside : {"query", "value"})
    if (const auto inner = is_object(value) ? last_member(value, inside) : ""; !inner.empty())
      value = inner;
  return fmt::format(R"({{"{}":{}}})", field.name, value);
}

/// Writes equality over the queries of words about the field, below `query`, a part of `body`. The
/// size stays, and with it the places of everything else.
bool replace_words(std::string& body, std::string_view query, std::string_view field) {
  bool any = false;
  if (is_array(query)) {
    visit_elements(query,
                   [&](std::string_view element) { any |= replace_words(body, element, field); });
    return any;
  }
  PassedMembers members(query);
  while (const auto member = members.next()) {
    const auto& [name, value] = *member;
    if (!is_word_query(name)) {
      if (is_object(value) || is_array(value)) any |= replace_words(body, value, field);
      continue;
    }
    const auto only = PassedMembers(value).next();
    if (!only || !wire::same_word(only->name, field)) continue;
    auto equal = fmt::format(R"("{}":{})", name == "terms" ? "in" : "equals", equal_value(*only));
    const auto begin = static_cast<std::size_t>(name.data() - body.data()) - 1;
    const auto end = static_cast<std::size_t>(value.data() - body.data()) + value.size();
    if (begin + equal.size() > end) continue;
    equal.resize(end - begin, ' ');
    std::ranges::copy(equal, body.begin() + static_cast<std::ptrdiff_t>(begin));
    any = true;
  }
  return any;
}

}  // namespace

bool is_word_query(std::string_view name) {
  return name == "term" || name == "terms" || name == "match" || name == "match_phrase";
}

std::optional<std::string> with_equality(std::string_view body, std::string_view error) {
  constexpr std::string_view kBefore = "no field '";
  const auto at = error.find(kBefore);
  if (at == error.npos) return std::nullopt;
  error.remove_prefix(at + kBefore.size());
  const auto field = error.substr(0, error.find('\''));
  if (!error.substr(field.size()).starts_with("' found in schema")) return std::nullopt;
  std::string equal(body);
  return replace_words(equal, last_member(equal, "query"), field) ? std::optional(std::move(equal))
                                                                  : std::nullopt;
}

}  // namespace karmad
