#include "agent/dialect/replies/raw_replies.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/json/json_grammar.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/number_in.hpp"

namespace karmad {

namespace {

/// Room for those of most replies.
constexpr std::size_t kFewColumns = 16;

/// Most lines that are searched backwards; after so many a forward search is as fast.
constexpr int kMostTailLines = 200;

/// A member of a result set besides columns and rows.
void read_member(std::string_view key, std::string_view value, RawSet& set) {
  if (equals_literal(key, "total")) set.total = number_in<std::uint64_t>(value);
  if (!is_string(value)) return;
  if (equals_literal(key, "warning")) set.warning = without_quotes(value);
  if (equals_literal(key, "error")) set.error = without_quotes(value);
}

bool take_name(JsonCursor& json, std::string_view name) {
  const auto size = name.size();
  if (static_cast<std::size_t>(json.end - json.at) > size + 2 && json.at[0] == '"' &&
      std::memcmp(json.at + 1, name.data(), size) == 0 && json.at[size + 1] == '"' &&
      json.at[size + 2] == ':') {
    json.at += size + 3;
    return true;
  }
  const auto found = take_string(json);
  return found && *found == name && take(json, ':');
}

}  // namespace

std::optional<ReplyTail> find_tail(std::string_view body) {
  ReplyTail tail;
  for (int searched = 0; searched < kMostTailLines; ++searched) {
    const auto* const feed = static_cast<const char*>(::memrchr(body.data(), '\n', body.size()));
    if (feed == nullptr) break;
    const auto begin = static_cast<std::size_t>(feed - body.data()) + 1;
    const auto line = body.substr(begin);
    body = body.substr(0, begin - 1);
    if (tail.last_set == 0 && line == "{") tail.last_set = begin;
    if (line != "],") continue;
    if (tail.last_set != 0) {
      tail.after_rows = begin + 1;
      return tail;
    }
    if (tail.after_last_rows == 0) tail.after_last_rows = begin + 1;
  }
  return std::nullopt;
}

std::optional<BadReply> RawReplies::read(std::span<const ShardReply> replies, std::size_t sets,
                                         LastSet last) {
  sets_each_ = sets;
  sets_.resize(replies.size() * sets);
  known_.resize(sets);
  answered_.resize(replies.size());
  columns_.reserve(kFewColumns);
  for (std::size_t s = 0; s < replies.size(); ++s) {
    if (replies[s].body.empty()) continue;
    answered_[s] = true;
    std::string_view wrong = "it is not an array of the result sets that were requested";
    auto* const of_reply = sets_.data() + s * sets;
    const bool read = read_reply(replies[s].body, of_reply, last, wrong);
    for (const auto& set : std::span(of_reply, sets))
      if (!set.error.empty()) return BadReply{s, json_unescaped(set.error)};
    if (!read) return BadReply{s, std::string(wrong)};
  }
  return std::nullopt;
}

bool RawReplies::read_answer(std::string_view body) {
  sets_.clear();
  columns_.clear();
  known_.assign(1, {});
  answered_.assign(1, true);
  JsonCursor json(body);
  const auto read_next = [&] {
    auto& set = sets_.emplace_back();
    return read_set(json, set, known_.front(), false) && set.listed <= kMostRawColumns;
  };
  skip_space(json);
  bool whole = false;
  if (!json.done() && *json.at == '{') {
    whole = read_next();
  } else {
    JsonElements elements(json);
    while (elements.next())
      if (sets_.size() == kMostRawSets || !read_next()) return false;
    whole = elements.complete() && !sets_.empty();
  }
  sets_each_ = sets_.size();
  return whole;
}

bool RawReplies::has_rows(std::size_t number) const {
  for (std::size_t s = 0; s < shards(); ++s)
    if (set(s, number).columns != 0) return true;
  return false;
}

std::span<const RawColumn> RawReplies::listed_columns(std::size_t number) const {
  for (std::size_t s = 0; s < shards(); ++s)
    if (const auto& found = set(s, number); found.listed != 0) return all_columns_of(found);
  return {};
}

/// Whether it is the whole answer to a SELECT with MATCH() from a percolate table: one column
/// without a name and no rows. The server then does not carry out the statements that follow.
bool RawReplies::is_without_match(const RawSet& set) const {
  return set.columns == 0 && set.listed == 1 && columns_[set.first_column].name.empty();
}

bool RawReplies::read_reply(std::string_view body, RawSet* sets, LastSet last,
                            std::string_view& wrong) {
  const auto last_byte = body.find_last_not_of(kJsonSpace);
  if (last_byte == body.npos || body[last_byte] != ']') {
    wrong = "it does not end as a JSON array";
    return false;
  }
  body = body.substr(0, last_byte + 1);
  JsonCursor json(body);
  if (!take(json, '[')) return false;
  for (std::size_t i = 0; i < sets_each_; ++i) {
    if (i != 0 && !take(json, ',')) return i == 1 && is_without_match(sets[0]) && take(json, ']');
    if (i == 0 && sets_each_ == 2 && read_first_of_two(body, json, sets[0])) continue;
    const bool up_to_rows = last == LastSet::up_to_rows && i + 1 == sets_each_;
    if (!read_set(json, sets[i], known_[i], up_to_rows) || !sets[i].error.empty()) return false;
  }
  return true;
}

bool RawReplies::read_first_of_two(std::string_view body, JsonCursor& json, RawSet& set) {
  const auto tail = find_tail(body);
  auto beginning = json;
  RawSet first;
  if (!tail || !read_set(beginning, first, known_[0], true) || first.rows.at == nullptr ||
      first.rows.at >= body.data() + tail->after_rows)
    return false;
  JsonCursor rest(body.substr(tail->after_rows));
  const bool whole = visit_further_members(rest, [&](auto key, auto value) {
    read_member(key, value, first);
    return true;
  });
  if (!whole || !first.error.empty()) return false;
  json = rest;
  if (!take(rest, ',')) return false;
  skip_space(rest);
  if (rest.at != body.data() + tail->last_set) return false;
  set = first;
  return true;
}

bool RawReplies::read_set(JsonCursor& json, RawSet& set, KnownColumns& known, bool up_to_rows) {
  JsonMembers members(json);
  while (const auto key = members.next(R"("columns":)", R"("data":)")) {
    if (equals_literal(*key, "columns")) {
      if (!read_columns(json, set, known)) return false;
      continue;
    }
    if (equals_literal(*key, "data")) {
      skip_space(json);
      if (json.done() || *json.at != '[' || set.listed == 0) return false;
      set.rows = json;
      auto first = json;
      if (take(first, '[') && !take(first, ']')) set.columns = set.listed;
      if (up_to_rows) return true;
    }
    const auto value = take_value(json);
    if (!value) return false;
    read_member(*key, *value, set);
  }
  return members.complete();
}

bool RawReplies::read_columns(JsonCursor& json, RawSet& set, KnownColumns& known) {
  skip_space(json);
  const auto size = known.bytes.size();
  if (size != 0 && static_cast<std::size_t>(json.end - json.at) > size &&
      std::memcmp(json.at, known.bytes.data(), size) == 0) {
    json.at += size;
    set.first_column = known.first;
    set.listed = known.count;
    return true;
  }
  const auto* const begin = json.at;
  set.first_column = columns_.size();
  JsonElements columns(json);
  while (columns.next())
    if (!read_column(json)) return false;
  set.listed = columns_.size() - set.first_column;
  if (!columns.complete()) return false;
  if (size == 0)
    known = {{begin, static_cast<std::size_t>(json.at - begin)}, set.first_column, set.listed};
  return true;
}

/// `{"name":{"type":"long"}}`
bool RawReplies::read_column(JsonCursor& json) {
  RawColumn column;
  JsonMembers names(json);
  const auto name = names.next();
  if (!name) return false;
  column.name = *name;
  const bool typed = visit_members(json, [&](std::string_view key, std::string_view value) {
    if (key == "type" && is_string(value)) column.type = without_quotes(value);
  });
  if (!typed || names.next() || !names.complete()) return false;
  columns_.push_back(column);
  return true;
}

bool RawRows::take_cells(std::span<const RawColumn> columns, std::string_view* cells) {
  auto json = rest_;  // a copy, which can be in registers
  char before = '{';
  for (const auto& column : columns) {
    if (!take(json, std::exchange(before, ',')) || !take_name(json, column.name)) return false;
    skip_space(json);
    const auto* const begin = json.at;
    json.at = after_value(begin, json.end);
    if (json.at == nullptr) return false;
    *cells++ = {begin, static_cast<std::size_t>(json.at - begin)};
  }
  rest_ = json;
  return take(rest_, '}');
}

RawRows::Step RawRows::next(std::span<const RawColumn> columns, std::string_view* cells) {
  const auto step = to_next();
  if (step != Step::row) return step;
  return take_cells(columns, cells) ? Step::row : Step::malformed;
}

RawRows::Step RawRowsByName::next(std::span<const RawColumn> columns, std::string_view* cells) {
  const auto step = to_next();
  if (step != Step::row) return step;
  const auto begin = rest_;
  if (take_cells(columns, cells)) return Step::row;
  rest_ = begin;
  std::fill_n(cells, columns.size(), std::string_view());
  const bool read = visit_members(rest_, [&](std::string_view name, std::string_view value) {
    if (const auto place = place_of(columns, name); place < columns.size()) cells[place] = value;
  });
  return read ? Step::row : Step::malformed;
}

/// The number of columns, if none has that name.
std::size_t RawRowsByName::place_of(std::span<const RawColumn> columns, std::string_view name) {
  if (places_.empty())
    for (std::size_t c = 0; c < columns.size(); ++c) places_.try_emplace(columns[c].name, c);
  const auto found = places_.find(name);
  return found == places_.end() ? columns.size() : found->second;
}

}  // namespace karmad
