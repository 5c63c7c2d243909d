#include "agent/dialect/write/write_hits.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "agent/json/equals_literal.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

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
      : out_(out), columns_(rows.columns), paths_(columns_.size()) {
    for (const auto& json : plan.json) {
      const auto column = position(json.column, columns_.size());
      const auto attribute = position(json.attribute, columns_.size());
      if (column && attribute) paths_[*column] = {&json.steps, *attribute};
    }
  }

  void add(std::span<const std::string_view> row, std::size_t column) {
    const auto cell = row[column];
    const std::string_view type = columns_[column].type;
    if (!is_string(cell)) {
      out_.add(cell);
    } else if (paths_[column].steps != nullptr) {
      add_inside(row[paths_[column].attribute], *paths_[column].steps, cell);
    } else if (columns_[column].has_several_values()) {
      add_array(without_quotes(cell));
      if (!whole_value(text_)) text_ = cell;
      out_.add(text_);
    } else if (equals_literal(type, "json")) {
      add_json(cell);
    } else {
      out_.add(cell);
    }
  }

 private:
  struct Path {
    const std::vector<JsonStep>* steps = nullptr;  // null: it is no value inside JSON
    std::size_t attribute = 0;
  };

  /// What a string says, into `text_`.
  void read_text(std::string_view quoted) {
    text_.clear();
    JsonText bytes(without_quotes(quoted));
    for (int c = bytes.next(); c >= 0; c = bytes.next()) text_ += static_cast<char>(c);
  }

  /// `1,2,3`
  void add_array(std::string_view values) { text_.assign("[").append(values).append("]"); }

  /// The value that the string says; a string that says none stays one.
  void add_json(std::string_view cell) {
    read_text(cell);
    out_.add(text_.empty() ? "null" : whole_value(text_) ? std::string_view(text_) : cell);
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
  std::span<const RawColumn> columns_;
  std::vector<Path> paths_;  // by column
  std::string text_;
};

void add_head(JsonLine& out, const HitsHead& head) {
  out.add(R"({"took":)");
  out.add_number(std::chrono::duration_cast<std::chrono::milliseconds>(head.took).count());
  out.add(head.timed_out ? R"(,"timed_out":true)" : R"(,"timed_out":false)");
  if (!head.warning.empty()) {
    out.add(R"(,"warning":{"reason":)");
    out.add_quoted(head.warning);
    out.add('}');
  }
  out.add(R"(,"hits":{"total":)");
  out.add_number(head.total.count);
  out.add(R"(,"total_relation":")");
  out.add(head.total.is_lower_bound ? "gte" : "eq");
  out.add(R"(","hits":[)");
}

void add_hits(JsonLine& out, const RowPlan& plan, const ResultSet& rows) {
  const auto id = column_named(rows, "id");
  const auto score =
      plan.score ? position(*plan.score, rows.columns.size()).value_or(kNone) : kNone;
  HitValues values(out, plan, rows);
  for (std::size_t r = 0; r < rows.count; ++r) {
    const auto row = rows.row(r);
    out.add(r == 0 ? "{" : ",{");
    if (id != kNone) {
      out.add("\"_id\":");
      out.add(row[id]);
      out.add(',');
    }
    out.add("\"_score\":");
    out.add(score == kNone ? std::string_view("1") : row[score]);
    out.add(",\"_source\":{");
    bool first = true;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (rows.columns[c].name == "id" || !rows.shows(c)) continue;
      out.add(first ? "\"" : ",\"");
      first = false;
      out.add(rows.columns[c].name);
      out.add("\":");
      values.add(row, c);
    }
    out.add("}}");
  }
  out.add("]}");
}

void add_facet(JsonLine& out, const RowPlan& plan, const ResultSet& rows) {
  out.add('"');
  out.add(rows.count == 0 ? std::string_view(plan.facet_name) : rows.columns.front().name);
  out.add("\":{\"buckets\":[");
  auto count = column_named(rows, "count(*)");
  if (count == kNone) count = rows.columns.size() - 1;
  HitValues values(out, plan, rows);
  for (std::size_t r = 0; r < rows.count; ++r) {
    const auto row = rows.row(r);
    out.add(r == 0 ? "{\"key\":" : ",{\"key\":");
    values.add(row, 0);
    out.add(",\"doc_count\":");
    out.add(row[count]);
    for (const auto& folded : plan.folded) {
      const auto at = position(folded.column, row.size());
      if (folded.fold != Fold::distinct || !at || !rows.shows(*at)) continue;
      out.add(",\"");
      out.add(rows.columns[*at].name);
      out.add("\":");
      out.add(row[*at]);
    }
    out.add('}');
  }
  out.add("]}");
}

}  // namespace

void append_hits(const HitsHead& head, const RowPlan& plan, std::span<const RowPlan> facets,
                 std::span<const ResultSet> sets, std::string& to) {
  JsonLine out(to);
  add_head(out, head);
  add_hits(out, plan, sets.front());
  for (std::size_t f = 0; f < facets.size(); ++f) {
    out.add(f == 0 ? ",\"aggregations\":{" : ",");
    add_facet(out, facets[f], sets[f + 1]);
  }
  if (!facets.empty()) out.add('}');
  if (!head.scroll.empty()) {
    out.add(",\"scroll\":");
    out.add_quoted(head.scroll);
  }
  out.add('}');
}

}  // namespace karmad
