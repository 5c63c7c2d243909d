#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "demo/data/text.hpp"
#include "demo/sql/cell_text.hpp"
#include "demo/sql/functions.hpp"
#include "demo/sql/read_expression.hpp"
#include "demo/sql/run.hpp"

namespace karmad::demo {

std::vector<Hit> found_hits(const Index& index, const Select& select, bool& more) {
  const auto matches = evaluate(index, select.match);
  const bool unordered = select.order.empty() && !select.groups() && !select.has_facets &&
                         select.knn.empty() && !ranks(select.match);
  const auto page = unordered && index.stops_early() ? select.offset + select.limit : 0;
  const auto cutoff = select.cutoff.value_or(page);
  std::vector<Hit> hits;
  for (std::uint32_t i = 0; i < matches.found.size(); ++i) {
    if (matches.found[i] == 0) continue;
    const Hit hit{i, select.scored ? matches.weight[i] : 1};
    if (select.where && !is_true(evaluate(*select.where, {&index, hit}))) continue;
    if (cutoff != 0 && hits.size() == cutoff) {
      more = true;
      break;
    }
    hits.push_back(hit);
  }
  return select.knn.empty() ? hits : nearest_hits(index, select, std::move(hits));
}

namespace {

constexpr std::uint64_t kHashStart = 0xcbf29ce484222325U;
constexpr std::uint64_t kHashFactor = 0x100000001b3U;

/// A number for a value of a group's key: itself, or a hash; of a string column without regard to
/// case.
std::int64_t number_of_key(const Literal& literal, CellType type) {
  if (const auto* whole = std::get_if<std::int64_t>(&literal);
      whole != nullptr && type != CellType::member)
    return *whole;
  const auto* real = std::get_if<double>(&literal);
  if (real != nullptr && type == CellType::real)
    return std::bit_cast<std::uint32_t>(static_cast<float>(*real));
  std::uint64_t hash = type == CellType::member ? kHashStart : kHashStart + literal.index();
  auto text = plain_text(to_cell(view(literal)));
  if (type != CellType::member) text = lower_case(text);
  if (real != nullptr) text = fmt::to_string(std::bit_cast<std::uint64_t>(*real));
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kHashFactor;
  return static_cast<std::int64_t>(hash);
}

/// The value of GROUPBY(): of several keys a hash, for numbers and empty texts that of the search
/// server.
std::int64_t number_of_keys(const std::vector<Literal>& key, const std::vector<Expression>& by) {
  if (key.size() == 1) return number_of_key(key[0], by[0].type);
  std::uint64_t hash = kHashStart;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto* text = std::get_if<std::string>(&key[i]);
    if (key[i].index() == 0 || (text != nullptr && text->empty())) continue;
    const auto number = number_of_key(key[i], by[i].type);
    for (int byte = 0; byte < 64; byte += 8)
      hash = (hash ^ (static_cast<std::uint64_t>(number) >> byte & 255U)) * kHashFactor;
  }
  return static_cast<std::int64_t>(hash);
}

/// Whether a key is a column with one value, which is read where it is compared.
bool is_plain(const Expression& key) {
  return key.kind == Expression::Kind::column && key.type < CellType::multi;
}

bool weighs_more(const Hit& a, const Hit& b) {
  return a.score > b.score;
}

/// The first `most` rows in the order of the keys, or by weight; equal ones as they stand.
std::vector<Row> in_order(std::span<const Row> rows, const std::vector<OrderKey>& keys,
                          std::size_t most) {
  std::vector<std::vector<Cell>> computed(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (!is_plain(keys[i].expression))
      for (const auto& row : rows) computed[i].push_back(evaluate(keys[i].expression, row));
  const auto value = [&](const Expression& key, std::uint32_t at) {
    return value_of(rows[at].index->documents()[rows[at].hit.document], key.column);
  };
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto& [by, descending, text, attribute] = keys[i];
      const auto order = computed[i].empty() ? compare(value(by, a), value(by, b))
                                             : cell_order(computed[i][a], computed[i][b], by.type);
      if (order != 0) return (order < 0) != descending;
    }
    if (keys.empty() && rows[a].hit.score != rows[b].hit.score)
      return weighs_more(rows[a].hit, rows[b].hit);
    return a < b;
  };
  std::vector<std::uint32_t> places(rows.size());
  std::iota(places.begin(), places.end(), 0U);
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(std::min(most, rows.size()));
  std::partial_sort(places.begin(), end, places.end(), before);
  std::vector<Row> out;
  for (auto place = places.begin(); place != end; ++place) out.push_back(rows[*place]);
  return out;
}

bool follows(const Row& row, const Select& select) {
  for (std::size_t i = 0; i < std::min(select.after.size(), select.order.size()); ++i) {
    const auto& by = select.order[i].expression;
    const auto order = cell_order(evaluate(by, row), to_cell(view(select.after[i])), by.type);
    if (order != 0) return (order < 0) == select.order[i].descending;
  }
  return false;
}

/// The token of the next page in the search server's form, base64 of JSON: the order, and the
/// values of the last row of a page.
std::string token_behind(const Row& last, const Select& select) {
  std::string order;
  std::string values;
  for (std::size_t i = 0; i < select.order.size(); ++i) {
    const auto& [by, descending, text, attribute] = select.order[i];
    const bool column = by.kind == Expression::Kind::column;
    const auto name = !attribute.empty() ? attribute : by.name + (column ? "" : "()");
    if (i > 0) order += ", ", values += ',';
    order += !text.empty()
                 ? text
                 : (name == "weight()" ? "@weight" : name) + (descending ? " desc" : " asc");
    const auto value = evaluate(by, last);
    const auto* real = std::get_if<double>(&value);
    std::string json;
    // All digits, so that the next page begins behind this row.
    if (real != nullptr)
      json = fmt::format("{:.17g}", *real);
    else
      append_json(json, to_value(value));
    values += fmt::format(R"({{"attr":{},"desc":{},"value":{},"type":"{}"}})", json_string(name),
                          descending, json,
                          real != nullptr         ? "float"
                          : json.starts_with('"') ? "string"
                                                  : "int");
  }
  return to_base64(
      fmt::format(R"({{"order_by_str":{},"order_by":[{}]}})", json_string(order), values));
}

/// Strings of a column are one group without regard to case; in JSON "5" and 5 are one.
struct GroupOrder {
  const std::vector<Expression>* keys;
  bool operator()(const std::vector<Literal>& a, const std::vector<Literal>& b) const {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool member = (*keys)[i].type == CellType::member;
      const auto order =
          member ? member_order(view(a[i]), view(b[i])) : compare(view(a[i]), view(b[i]));
      if (order != 0) return order < 0;
    }
    return false;
  }
};

/// The values of a key in a row. One of a list, or of a list's histogram, has several.
std::vector<Literal> values_of_key(const Expression& key, const Row& row) {
  const bool steps = key.name == "histogram" || key.name == "date_histogram";
  const auto& subject = steps ? key.arguments[0] : key;
  const bool lists = subject.kind == Expression::Kind::column &&
                     (subject.type == CellType::multi || subject.type == CellType::member);
  if (!lists) return {to_literal(to_value(evaluate(key, row)))};
  std::vector<Literal> out;
  for (const auto& value : values_of(row.index->documents()[row.hit.document], subject.column)) {
    if (!steps) out.push_back(to_literal(value));
    if (steps)
      out.push_back(to_literal(to_value(call_function(
          key.name, std::array{to_cell(value), to_cell(view(key.arguments[1].literal))}))));
  }
  if (out.empty() && subject.type == CellType::member) out.emplace_back();
  return out;
}

/// The keys of a document: one for each combination of its values.
std::vector<std::vector<Literal>> keys_of_row(const std::vector<Expression>& keys, const Row& row) {
  std::vector<std::vector<Literal>> out(1);
  for (const auto& key : keys) {
    std::vector<std::vector<Literal>> longer;
    for (const auto& begun : out)
      for (auto& value : values_of_key(key, row)) {
        longer.push_back(begun);
        longer.back().push_back(std::move(value));
      }
    out = std::move(longer);
  }
  return out;
}

/// Sorts the members of a group; a text of its key is spelled as in the best of them.
void set_best(Group& group, const Select& select, Row row) {
  if (select.within.empty()) {
    std::ranges::stable_sort(group.members, weighs_more);
  } else {
    std::vector<Row> rows(group.members.size(), row);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].hit = group.members[i];
    rows = in_order(rows, select.within, rows.size());
    std::ranges::transform(rows, group.members.begin(), &Row::hit);
  }
  row.hit = group.members[0];
  for (std::size_t i = 0; i < select.keys.size(); ++i)
    if (select.keys[i].type == CellType::text)
      group.key[i] = to_literal(to_value(evaluate(select.keys[i], row)));
}

/// The groups in the order of their keys.
std::vector<Group> groups_of(const Select& select, std::span<const Row> rows) {
  std::map<std::vector<Literal>, Group, GroupOrder> found(GroupOrder{&select.keys});
  for (const auto& row : rows)
    for (auto& key : keys_of_row(select.keys, row)) {
      auto& group = found[key];
      if (group.members.empty() || (select.first_spelling && key < group.key))
        group.key = std::move(key);
      group.members.push_back(row.hit);
    }
  std::vector<Group> out;
  for (auto& [key, group] : found) {
    group.number = number_of_keys(group.key, select.keys);
    if (!select.first_spelling) set_best(group, select, rows[0]);
    out.push_back(std::move(group));
  }
  return out;
}

/// Nothing was found: COUNT(*) answers 0, other aggregates nothing; without one there is no row.
void empty_group(const Select& select, ResultSet& out) {
  std::vector<Cell> row;
  bool counts = false;
  for (const auto& item : select.items) {
    const bool count = item.expression.name.starts_with("count") &&
                       item.expression.kind == Expression::Kind::aggregate;
    counts = counts || count;
    row.push_back(count ? Cell{std::int64_t{0}} : Cell{});
  }
  if (!counts) return;
  out.rows.push_back(std::move(row));
  out.found = 1;
}

void add_row(const Select& select, const Row& row, ResultSet& out) {
  std::vector<Cell> cells;
  for (const auto& item : select.items) cells.push_back(evaluate(item.expression, row));
  out.rows.push_back(std::move(cells));
  out.hits.push_back(row.hit);
}

/// Adds the rows of the page, of those that `max_matches` leaves.
void add_page(const Select& select, std::span<const Row> rows, ResultSet& out) {
  const auto kept = std::min(rows.size(), select.max_matches);
  if (select.outer) {
    auto page = select;
    page.outer.reset();
    page.limit = select.outer->limit;
    page.offset = select.outer->offset;
    const auto inner = rows.first(std::min(kept, select.limit));
    return add_page(page, in_order(inner, select.outer->order, inner.size()), out);
  }
  const auto begin = std::min(kept, select.offset);
  const auto end = begin + std::min(kept - begin, select.limit);
  for (auto i = begin; i < end; ++i) add_row(select, rows[i], out);
}

/// What decides between groups that are equal in the order: the key, or GROUPBY().
OrderKey tie_of_groups(const Select& select) {
  auto key = call_expression("groupby", {});
  if (select.keys.size() == 1) {
    key.literal = std::int64_t{0};
    key.type = select.keys[0].type;
  }
  return {std::move(key)};
}

void group_rows(const Select& select, std::span<const Row> rows, ResultSet& out) {
  if (rows.empty() && select.keys.empty()) {
    empty_group(select, out);
    return;
  }
  const auto groups = groups_of(select, rows);
  std::vector<Row> heads;
  for (const auto& group : groups) {
    Row head = rows[0];
    head.hit = group.members[0];
    head.group = &group;
    if (!select.having || is_true(evaluate(*select.having, head))) heads.push_back(head);
  }
  out.found = heads.size();
  auto order = select.order;
  if (!order.empty())
    order.push_back(tie_of_groups(select));
  else
    std::ranges::sort(heads, {}, [](const Row& head) { return head.hit.document; });
  std::vector<Row> all;
  for (const auto& head : in_order(heads, order, heads.size())) {
    const auto& members = head.group->members;
    for (std::size_t i = 0; i < std::min(select.per_group, members.size()); ++i) {
      all.push_back(head);
      all.back().hit = members[i];
    }
  }
  add_page(select, all, out);
}

}  // namespace

ResultSet rows_of(const Index& index, const Select& select, std::span<const Hit> hits) {
  ResultSet out;
  for (const auto& item : select.items) out.columns.push_back({item.name, item.expression.type});
  std::vector<std::string> marked;
  collect_words(select.match, marked);
  std::vector<Row> rows;
  for (const auto& hit : hits) rows.push_back({&index, hit, nullptr, &marked});
  out.matched = !rows.empty();
  if (select.groups()) {
    group_rows(select, rows, out);
    return out;
  }
  out.found = rows.size();
  if (!select.after.empty())
    std::erase_if(rows, [&](const Row& row) { return !follows(row, select); });
  const auto most = std::min(select.max_matches, rows.size());
  const auto page =
      select.outer ? most : std::min(select.offset, most) + std::min(select.limit, most);
  const auto sorted = in_order(rows, select.order, page);
  add_page(select, sorted, out);
  if (select.scrolls && !out.rows.empty())
    out.scroll = token_behind(sorted[select.offset + out.rows.size() - 1], select);
  return out;
}

ResultSet run_select(const Index& index, const Select& select) {
  if (select.table.empty()) {
    ResultSet out;
    for (const auto& item : select.items) out.columns.push_back({item.name, item.expression.type});
    add_row(select, {}, out);
    out.hits.clear();
    out.found = 1;
    return out;
  }
  bool more = false;
  auto out = rows_of(index, select, found_hits(index, select, more));
  out.more = more;
  return out;
}

std::vector<std::uint64_t> found_ids(const Index& index, const Select& select) {
  bool more = false;
  std::vector<std::uint64_t> out;
  for (const auto& hit : found_hits(index, select, more))
    out.push_back(index.documents()[hit.document].id);
  return out;
}

MetaRows meta_of(const Index& index, const Select& select, const ResultSet& result,
                 double seconds) {
  MetaRows out{{"total", fmt::to_string(result.rows.size())},
               {"total_found", fmt::to_string(result.found)},
               {"total_relation", result.more ? "gte" : "eq"},
               {"time", fmt::format("{:.3f}", seconds)}};
  std::vector<std::string> all;
  collect_words(select.match, all);
  std::vector<std::string> words;
  for (auto& word : all)
    if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto count = count_of(index, words[i]);
    out.push_back({fmt::format("keyword[{}]", i), words[i]});
    out.push_back({fmt::format("docs[{}]", i), fmt::to_string(count.documents)});
    out.push_back({fmt::format("hits[{}]", i), fmt::to_string(count.hits)});
  }
  return out;
}

void make_numbers(ResultSet& result, std::size_t column) {
  result.columns[column].type = CellType::bigint;
  for (auto& row : result.rows)
    row[column] = number_of<std::int64_t>(plain_text(row[column])).value_or(0);
}

ResultSet text_rows(std::vector<std::string> columns,
                    const std::vector<std::vector<std::string>>& rows) {
  ResultSet out;
  for (auto& column : columns) out.columns.push_back({std::move(column), CellType::text});
  for (const auto& row : rows) out.rows.emplace_back(row.begin(), row.end());
  return out;
}

}  // namespace karmad::demo
