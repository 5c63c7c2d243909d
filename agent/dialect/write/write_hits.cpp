#include "agent/dialect/write/write_hits.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "agent/dialect/rows/json_path.hpp"
#include "agent/dialect/rows/sort_value.hpp"
#include "agent/json/equals_literal.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

std::size_t column_named(const ResultSet& rows, std::string_view name) {
  for (std::size_t c = 0; c < rows.columns.size(); ++c)
    if (rows.columns[c].name == name && rows.shows(c)) return c;
  return kNone;
}

/// Writes the cells of rows as members of a search answer.
class HitValues {
 public:
  HitValues(JsonLine& out, const RowPlan& plan, const ResultSet& rows)
      : out_(out), plan_(plan), columns_(rows.columns) {}

  void add(std::span<const std::string_view> row, std::size_t column) {
    const auto cell = row[column];
    if (equals_literal(columns_[column].type, "bool") && (cell == "0" || cell == "1"))
      return out_.add(cell == "1" ? "true" : "false");
    if (!is_string(cell)) return out_.add(cell);
    for (const auto& inside : plan_.json)
      if (position(inside.column, row.size()) == column)
        if (const auto attribute = position(inside.attribute, row.size()))
          return add_inside(row[*attribute], inside.steps, cell);
    if (columns_[column].has_several_values()) {
      text_ = '[';
      text_.append(without_quotes(cell)).append("]");
      out_.add(whole_value(text_) ? std::string_view(text_) : cell);
    } else if (equals_literal(columns_[column].type, "json")) {
      // A string that says no value stays one.
      read_text(cell);
      out_.add(text_.empty() ? "null" : whole_value(text_) ? std::string_view(text_) : cell);
    } else {
      out_.add(cell);
    }
  }

 private:
  /// What a string says, into `text_`.
  void read_text(std::string_view quoted) {
    text_.clear();
    JsonText bytes(without_quotes(quoted));
    for (int c = bytes.next(); c >= 0; c = bytes.next()) text_ += static_cast<char>(c);
  }

  /// The value at `steps` of an attribute; if it has none, the cell.
  void add_inside(std::string_view attribute, const std::vector<JsonStep>& steps,
                  std::string_view cell) {
    text_.clear();
    if (is_string(attribute)) read_text(attribute);
    const auto value = whole_value(text_) ? value_at(text_, steps) : std::string_view();
    out_.add(value.empty() ? cell : value);
  }

  JsonLine& out_;
  const RowPlan& plan_;
  std::span<const RawColumn> columns_;
  std::string text_;
};

void add_hits(JsonLine& out, const RowPlan& plan, const ResultSet& rows) {
  const auto id = column_named(rows, "id");
  const auto score =
      plan.score ? position(*plan.score, rows.columns.size()).value_or(kNone) : kNone;
  std::vector<std::size_t> shown;  // columns of `_source`
  for (std::size_t c = 0; c < rows.columns.size(); ++c)
    if (rows.columns[c].name != "id" && rows.shows(c)) shown.push_back(c);
  HitValues values(out, plan, rows);
  for (std::size_t r = 0; r < rows.count; ++r) {
    const auto row = rows.row(r);
    out.add(r == 0 ? "{" : ",{");
    if (id != kNone) out.add("\"_id\":", row[id], ',');
    out.add("\"_score\":", score == kNone ? std::string_view("1") : row[score], ",\"_source\":{");
    for (const auto c : shown) {
      out.add(c == shown.front() ? "\"" : ",\"", rows.columns[c].name, "\":");
      values.add(row, c);
    }
    out.add("}}");
  }
  out.add("]}");
}

void add_facet(JsonLine& out, const RowPlan& plan, const ResultSet& rows) {
  out.add('"', plan.facet_name, R"(":{"buckets":[)");
  auto count = column_named(rows, "count(*)");
  if (count == kNone) count = rows.columns.size() - 1;
  HitValues values(out, plan, rows);
  for (std::size_t r = 0; r < rows.count; ++r) {
    const auto row = rows.row(r);
    out.add(r == 0 ? "{\"key\":" : ",{\"key\":");
    values.add(row, 0);
    out.add(",\"doc_count\":", row[count]);
    for (const auto& folded : plan.folded) {
      const auto at = position(folded.column, row.size());
      if (folded.fold != Fold::distinct || !at || !rows.shows(*at)) continue;
      out.add(",\"", rows.columns[*at].name, "\":", row[*at]);
    }
    out.add('}');
  }
  out.add("]}");
}

}  // namespace

void add_hits_head(JsonLine& out, const HitsHead& head) {
  out.add(R"({"took":)", std::chrono::duration_cast<std::chrono::milliseconds>(head.took).count(),
          head.timed_out ? R"(,"timed_out":true)" : R"(,"timed_out":false)");
  if (!head.warning.empty()) out.add(R"(,"warning":{"reason":)", Quoted(head.warning), '}');
  out.add(R"(,"hits":{"total":)");
}

void add_total(JsonLine& out, const TotalFound& total) {
  out.add(total.count, R"(,"total_relation":")", total.is_lower_bound ? "gte" : "eq",
          R"(","hits":[)");
}

void append_hits(const HitsHead& head, const RowPlan& plan, std::span<const RowPlan> facets,
                 std::span<const ResultSet> sets, std::string& to) {
  JsonLine out(to);
  add_hits_head(out, head);
  add_total(out, head.total);
  add_hits(out, plan, sets.front());
  for (std::size_t f = 0; f < facets.size(); ++f) {
    out.add(f == 0 ? ",\"aggregations\":{" : ",");
    add_facet(out, facets[f], sets[f + 1]);
  }
  if (!facets.empty()) out.add('}');
  if (!head.scroll.empty()) out.add(",\"scroll\":", Quoted(head.scroll));
  out.add('}');
}

namespace {

void add_elastic_shards(JsonLine& line, ElasticShards shards) {
  line.add(R"("_shards":{"total":)", shards.total, R"(,"successful":)", shards.successful,
           R"(,"skipped":0,"failed":)", shards.total - shards.successful, '}');
}

/// One hit: the id as a string, the index after the score.
void add_elastic_hit(JsonLine& line, std::string_view hit, const ElasticForm& form) {
  std::string_view index = form.index;
  char before = '{';
  PassedMembers members(hit);
  while (const auto member = members.next()) {
    if (member->name == "_index") {
      index = without_quotes(member->value);
      continue;
    }
    line.add(std::exchange(before, ','));
    if (member->name == "_source") {
      line.add(R"("_index":)", Quoted(index), R"(,"_type":"doc","_version":1)");
      if (form.hides_source) continue;
      line.add(',');
    }
    if (member->name == "_id" && is_json_number(member->value))
      line.add(R"("_id":")", member->value, '"');
    else
      line.add('"', member->name, "\":", member->value);
  }
  line.add(before == '{' ? "{}" : "}");
}

void add_elastic_hits(JsonLine& line, std::string_view hits, const ElasticForm& form) {
  line.add(R"("hits":{)");
  bool scored = false;
  std::string_view before;
  PassedMembers members(hits);
  while (const auto member = members.next()) {
    line.add(std::exchange(before, ","));
    scored |= member->name == "max_score";
    if (member->name != "hits") {
      line.add('"', member->name, "\":", member->value);
      continue;
    }
    line.add(scored ? R"("hits":[)" : R"("max_score":null,"hits":[)");
    bool later = false;
    visit_elements(member->value, [&](std::string_view hit) {
      if (std::exchange(later, true)) line.add(',');
      add_elastic_hit(line, hit, form);
    });
    line.add(']');
  }
  line.add('}');
}

void append_elastic_hits(std::string& out, std::string_view answer, const ElasticForm& form,
                         ElasticShards shards) {
  JsonLine line(out);
  line.add('{');
  PassedMembers members(answer);
  while (const auto member = members.next()) {
    if (member->name == "hits") {
      add_elastic_shards(line, shards);
      line.add(',');
      add_elastic_hits(line, member->value, form);
    } else {
      line.add('"', member->name, "\":", member->value);
    }
    line.add(',');
  }
  line.add(R"("status":200})");
}

void append_elastic_count(std::string& out, std::string_view answer, ElasticShards shards) {
  const auto total = last_member(last_member(answer, "hits"), "total");
  JsonLine line(out);
  line.add(R"({"count":)", total.empty() ? "0" : total, ',');
  add_elastic_shards(line, shards);
  if (const auto warning = last_member(answer, "warning"); !warning.empty())
    line.add(R"(,"warning":)", warning);
  line.add('}');
}

using Paths = std::vector<std::string_view>;

/// What the paths name within a member: the rest of each that begins with its name, empty for the
/// whole value. Each once: with several `**` they would double at each level.
Paths paths_inside(const Paths& paths, std::string_view name) {
  Paths inside;
  const auto add = [&inside](std::string_view rest) {
    if (std::ranges::find(inside, rest) == inside.end()) inside.push_back(rest);
  };
  for (const auto path : paths) {
    auto rest = path;
    auto step = take_until(rest, '.');
    if (step == "**") {
      add(rest.empty() ? rest : path);
      step = take_until(rest, '.');
    }
    if (source_matches(step, name)) add(rest);
  }
  return inside;
}

/// Appends the parts of a value that the paths name. False: there is none, and nothing is appended.
// NOLINTNEXTLINE(misc-no-recursion): as deep as kDeepest
bool append_parts(std::string& out, std::string_view value, const Paths& paths,
                  unsigned depth = 0) {
  constexpr unsigned kDeepest = 100;
  if (std::ranges::find(paths, "") != paths.end()) return out.append(value), true;
  if (paths.empty() || depth == kDeepest || !(is_object(value) || is_array(value))) return false;
  const auto begin = out.size();
  bool any = false;
  const auto add = [&](std::string_view name, std::string_view part, const Paths& inside) {
    const auto before = out.size();
    out.append(any ? "," : "");
    if (is_object(value)) out.append("\"").append(name).append("\":");
    if (append_parts(out, part, inside, depth + 1))
      any = true;
    else
      out.resize(before);
  };
  out += value.front();
  PassedMembers members(value);
  while (const auto member = members.next())
    add(member->name, member->value, paths_inside(paths, member->name));
  if (is_array(value))
    visit_elements(value, [&](std::string_view element) { add({}, element, paths); });
  out += value.back();
  if (!any) out.resize(begin);
  return any;
}

}  // namespace

void append_filtered(std::string& to, std::string_view whole, std::string_view filter_path) {
  Paths paths;
  while (!filter_path.empty())
    if (const auto path = take_until(filter_path, ','); !path.empty()) paths.push_back(path);
  if (paths.empty())
    to += whole;
  else if (!append_parts(to, whole, paths))
    to += "{}";
}

void append_elastic(std::string& to, const ElasticForm& form, std::string_view answer,
                    ElasticShards shards) {
  std::string whole;
  auto& out = form.filter_path.empty() ? to : whole;
  if (form.only_count)
    append_elastic_count(out, answer, shards);
  else
    append_elastic_hits(out, answer, form, shards);
  if (!form.filter_path.empty()) append_filtered(to, whole, form.filter_path);
}

}  // namespace karmad
