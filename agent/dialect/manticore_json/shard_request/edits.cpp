#include "agent/dialect/manticore_json/shard_request/edits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/json/json_cursor.hpp"

namespace karmad {

void Edits::set(Property property, std::string value) {
  const auto span = request_[property];
  const auto end = request_.closing_brace;
  if (span.found())
    replace(span, std::move(value));
  else
    replace(ByteRange{end, end}, fmt::format(",\"{}\":{}", name(property), value));
}

void Edits::add_members(Property property, const std::string& members) {
  const auto span = request_[property];
  const auto text = span.in(body_);
  if (!is_object(text)) return set(property, fmt::format("{{{}}}", members));
  const auto first = text.find_first_not_of(" \t\r\n", 1);
  const bool empty = first == text.npos || text[first] == '}';
  replace(ByteRange{span.begin + 1, span.begin + 1}, empty ? members : members + ",");
}

TextEdits Edits::take() {
  for (const auto property : {Property::table, Property::index})
    if (const auto at = request_[property]; at.found())
      edits_.push_back({.begin = at.begin, .end = at.end, .names = TableNames::json});
  std::ranges::stable_sort(edits_, {}, &TextEdit::begin);
  return std::move(edits_);
}

}  // namespace karmad
