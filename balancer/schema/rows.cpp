#include "balancer/schema/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/source_text.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {
namespace {

using Expression = SchemaExpression;
using Is = Expression::Is;
using Value = SchemaValue;
using Row = std::vector<Value>;
template <class T>
using Result = SchemaResult<T>;

constexpr std::size_t kMostRows = 100'000;
constexpr std::size_t kMostColumns = 4096;
constexpr std::size_t kMostBytes = 16 << 20;  // of all results

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && lower(a) == lower(b);
}

bool is_aggregate(std::string_view function) {
  return function == "count" || function == "min" || function == "max" || function == "sum" ||
         function == "group_concat";
}

bool has_aggregate(const Expression& expression) {
  return (expression.is == Is::call && is_aggregate(expression.name)) ||
         std::ranges::any_of(expression.parts, has_aggregate);
}

/// The parts of a condition that must all hold.
void split(const Expression& condition, std::vector<const Expression*>& out) {
  if (condition.is == Is::call && condition.name == "and") {
    for (const auto& part : condition.parts) split(part, out);
  } else {
    out.push_back(&condition);
  }
}

std::string key_of(const Row& row) {
  std::string key;
  for (const auto& value : row)
    key += value.is_null() ? "-" : fmt::format("{}:{}", value.text.size(), lower(value.text));
  return key;
}

/// Where a column is: in which SELECT around the present one (0: itself), table and column.
struct Place {
  std::size_t outward = 0;
  std::size_t source = 0;
  std::size_t column = 0;
};

/// A SELECT that is being carried out: the present row of each of its tables.
struct Frame {
  const SchemaSelect* select = nullptr;
  std::vector<const SchemaTable*> tables;
  std::vector<const Row*> rows;                                 ///< null: all its values are NULL
  const std::vector<std::vector<const Row*>>* group = nullptr;  ///< of the present group
};

class Evaluator {
 public:
  Evaluator(const FindSchemaTable& find, const SchemaFacts& facts) : find_(find), facts_(facts) {}

  Result<SchemaTable> rows_of(const SchemaSelect& select) {
    auto out = whole(select);
    if (error_) return std::unexpected(*std::move(error_));
    return out;
  }

 private:
  void fail(int status, std::string reason) {
    if (!error_) error_ = ClientError{status, std::move(reason)};
  }
  bool step(std::size_t bytes = 0) {
    constexpr std::size_t kBytesOfStep = 64;
    steps_ += 1 + bytes / kBytesOfStep;
    if (steps_ > kMostSchemaSteps)
      fail(400, "the SELECT looks at too many rows of the schema; name the table in WHERE");
    return !error_;
  }

  // ---- SELECTs

  SchemaTable whole(const SchemaSelect& select) {
    auto out = one(select);
    bool keeps_equal = select.keeps_equal;
    for (const auto* next = select.next.get(); next != nullptr && !error_;
         next = next->next.get()) {
      auto rows = one(*next);
      if (rows.columns.size() != out.columns.size())
        fail(400, "the SELECTs of a UNION have different numbers of columns");
      std::ranges::move(rows.rows, std::back_inserter(out.rows));
      if (!keeps_equal) remove_equal(out.rows);
      keeps_equal = next->keeps_equal;
    }
    if (select.next != nullptr) {
      sort_whole(select, out);
      cut(select, out.rows);
    }
    return out;
  }

  static void remove_equal(std::vector<Row>& rows) {
    std::set<std::string> seen;
    std::erase_if(rows, [&](const Row& row) { return !seen.insert(key_of(row)).second; });
  }

  static void cut(const SchemaSelect& select, std::vector<Row>& rows) {
    rows.erase(rows.begin(),
               rows.begin() + static_cast<std::ptrdiff_t>(std::min(select.offset, rows.size())));
    rows.resize(std::min(select.limit, rows.size()));
  }

  /// The column that a key of ORDER BY names by its place, from 1; 0: none.
  static std::size_t place_in(const Expression& key, std::size_t columns) {
    if (key.is != Is::number) return 0;
    const auto place = whole_number<std::size_t>(key.name).value_or(0);
    return place <= columns ? place : 0;
  }

  /// ORDER BY of a UNION names its columns.
  void sort_whole(const SchemaSelect& select, SchemaTable& table) {
    std::vector<std::pair<std::size_t, bool>> keys;
    for (const auto& key : select.order) {
      auto column = place_in(key.value, table.columns.size());
      for (std::size_t c = 0; c < table.columns.size() && column == 0; ++c)
        if (same_name(table.columns[c].name, key.value.name)) column = c + 1;
      if (column > 0) keys.emplace_back(column - 1, key.descending);
    }
    std::ranges::stable_sort(table.rows, [&](const Row& a, const Row& b) {
      for (const auto& [column, descending] : keys)
        if (const int order = ordered(a[column], b[column]); order != 0)
          return descending ? order > 0 : order < 0;
      return false;
    });
  }

  /// NULL is first.
  static int ordered(const Value& a, const Value& b) {
    if (a.is_null() || b.is_null()) return a.is_null() == b.is_null() ? 0 : a.is_null() ? -1 : 1;
    return compare(a, b);
  }

  SchemaTable one(const SchemaSelect& select) {
    SchemaTable out;
    std::vector<SchemaTable> inner(select.sources.size());
    Frame frame{.select = &select};
    for (std::size_t s = 0; s < select.sources.size() && !error_; ++s)
      frame.tables.push_back(table_of(select.sources[s], inner[s]));
    if (error_) return out;
    frame.rows.resize(frame.tables.size());
    frames_.push_back(&frame);
    auto values = add_columns(select, frame, out);
    auto found = joined_rows(select, frame);
    std::vector<std::pair<Row, Row>> rows;  // with their sort keys
    const bool groups = !select.group.empty() ||
                        std::ranges::any_of(values, [](auto* v) { return has_aggregate(*v); }) ||
                        (select.having && has_aggregate(*select.having));
    if (groups) {
      for (const auto& group : grouped(select, frame, std::move(found))) {
        frame.group = &group;
        frame.rows = group.empty() ? std::vector<const Row*>(frame.tables.size()) : group.front();
        add_row(select, values, rows);
      }
      frame.group = nullptr;
    } else {
      for (auto& row : found) {
        frame.rows = std::move(row);
        add_row(select, values, rows);
      }
    }
    frames_.pop_back();
    if (!select.order.empty() && select.next == nullptr)
      std::ranges::stable_sort(rows, [&](const auto& a, const auto& b) {
        for (std::size_t k = 0; k < select.order.size(); ++k)
          if (const int order = ordered(a.second[k], b.second[k]); order != 0)
            return select.order[k].descending ? order > 0 : order < 0;
        return false;
      });
    for (auto& [row, keys] : rows) out.rows.push_back(std::move(row));
    if (select.distinct) remove_equal(out.rows);
    if (select.next == nullptr) cut(select, out.rows);
    return out;
  }

  const SchemaTable* table_of(const SchemaSource& source, SchemaTable& inner) {
    if (source.select != nullptr) {
      if (frames_.size() >= kDeepest) fail(400, "SELECTs are nested too deep");
      if (!error_) inner = whole(*source.select);
      return &inner;
    }
    if (const auto* const table = find_(source.schema, source.table)) return table;
    fail(404, fmt::format("unknown table '{}{}{}'", source.schema, source.schema.empty() ? "" : ".",
                          shortened_utf8(source.table)));
    return nullptr;
  }

  /// The columns of the result, and the expressions that give their values.
  std::vector<const Expression*> add_columns(const SchemaSelect& select, const Frame& frame,
                                             SchemaTable& out) {
    std::vector<const Expression*> values;
    for (const auto& item : select.items) {
      if (out.columns.size() > kMostColumns) fail(400, "the SELECT has too many columns");
      if (error_) break;
      if (!item.all_of) {
        out.columns.push_back({item.name, is_number(item.value)});
        values.push_back(&item.value);
        continue;
      }
      for (std::size_t s = 0; s < frame.tables.size(); ++s) {
        const auto& source = select.sources[s];
        if (!item.all_of->empty() && !same_name(source.alias, *item.all_of)) continue;
        for (const auto& column : frame.tables[s]->columns) {
          out.columns.push_back(column);
          values.push_back(&made_.emplace_back(
              Expression{.is = Is::column, .name = column.name, .table = source.alias}));
        }
      }
    }
    return values;
  }

  void add_row(const SchemaSelect& select, const std::vector<const Expression*>& values,
               std::vector<std::pair<Row, Row>>& rows) {
    if (!step() || (select.having && !value_of(*select.having).is_true())) return;
    if (rows.size() == kMostRows) return fail(400, "the SELECT has too many rows");
    auto& [row, keys] = rows.emplace_back();
    for (const auto* value : values) {
      row.push_back(value_of(*value));
      bytes_ += sizeof(Value) + row.back().text.size();
    }
    if (bytes_ > kMostBytes) fail(400, "the SELECT has too many rows");
    if (select.next != nullptr) return;  // the whole UNION is sorted
    for (const auto& key : select.order) {
      const auto column = place_in(key.value, row.size());
      keys.push_back(column > 0 ? row[column - 1] : value_of(key.value));
    }
  }

  std::vector<std::vector<std::vector<const Row*>>> grouped(
      const SchemaSelect& select, Frame& frame, std::vector<std::vector<const Row*>> rows) {
    std::vector<std::vector<std::vector<const Row*>>> groups;
    std::map<std::string, std::size_t> places;
    if (select.group.empty()) groups.emplace_back();
    for (auto& row : rows) {
      std::size_t place = 0;
      if (!select.group.empty()) {
        frame.rows = row;
        Row keys;
        for (const auto& key : select.group) keys.push_back(value_of(key));
        place = places.try_emplace(key_of(keys), groups.size()).first->second;
        if (place == groups.size()) groups.emplace_back();
      }
      groups[place].push_back(std::move(row));
    }
    return groups;
  }

  // ---- joins

  /// A condition, checked as soon as the rows of its tables are chosen.
  struct Condition {
    const Expression* expression;
    std::size_t last = 0;
  };

  std::vector<std::vector<const Row*>> joined_rows(const SchemaSelect& select, Frame& frame) {
    std::vector<const Expression*> parts;
    if (select.where) split(*select.where, parts);
    std::vector<Condition> conditions;
    for (const auto* part : parts) conditions.push_back({part, last_table(*part)});
    std::vector<std::vector<const Row*>> out;
    join(0, conditions, frame, out);
    return out;
  }

  /// The last table of the present SELECT that the expression reads.
  std::size_t last_table(const Expression& expression) {
    const auto count = frames_.back()->tables.size();
    const auto last_of_all = count == 0 ? 0 : count - 1;
    if (expression.select != nullptr) return last_of_all;
    if (expression.is == Is::column) {
      const auto place = place_of(expression);
      return place && place->outward == 0 ? place->source : 0;
    }
    std::size_t last = 0;
    for (const auto& part : expression.parts) last = std::max(last, last_table(part));
    return last;
  }

  bool holds(const std::vector<Condition>& conditions, std::size_t level) {
    return std::ranges::all_of(conditions, [&](const Condition& condition) {
      return condition.last != level || value_of(*condition.expression).is_true();
    });
  }

  bool joins(const SchemaSource& source, std::size_t level, const Frame& frame) {
    for (const auto& name : source.same) {
      const auto here = column_in(*frame.tables[level], name);
      for (std::size_t before = 0; here && before < level; ++before) {
        const auto there = column_in(*frame.tables[before], name);
        if (!there) continue;
        const auto* const row = frame.rows[before];
        const auto& value = (*frame.rows[level])[*here];
        if (row == nullptr || value.is_null() || (*row)[*there].is_null() ||
            compare((*row)[*there], value) != 0)
          return false;
        break;
      }
    }
    return !source.on || value_of(*source.on).is_true();
  }

  void join(std::size_t level, const std::vector<Condition>& conditions, Frame& frame,
            std::vector<std::vector<const Row*>>& out) {
    if (error_) return;
    if (level == frame.tables.size()) {
      if (level == 0 && !holds(conditions, 0)) return;
      if (out.size() == kMostRows) return fail(400, "the SELECT has too many rows");
      out.push_back(frame.rows);
      return;
    }
    const auto& source = frame.select->sources[level];
    bool joined = false;
    for (const auto& row : frame.tables[level]->rows) {
      if (!step()) return;
      frame.rows[level] = &row;
      if (!joins(source, level, frame)) continue;
      joined = true;
      if (holds(conditions, level)) join(level + 1, conditions, frame, out);
    }
    frame.rows[level] = nullptr;
    if (source.left && !joined && holds(conditions, level)) join(level + 1, conditions, frame, out);
    frame.rows[level] = nullptr;
  }

  // ---- columns

  static std::optional<std::size_t> column_in(const SchemaTable& table, std::string_view name) {
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (same_name(table.columns[c].name, name)) return c;
    return std::nullopt;
  }

  std::optional<Place> place_of(const Expression& column) {
    const auto known = places_.find(&column);
    if (known != places_.end()) return known->second;
    for (std::size_t outward = 0; outward < frames_.size(); ++outward) {
      const auto& frame = *frames_[frames_.size() - 1 - outward];
      for (std::size_t s = 0; s < frame.tables.size(); ++s) {
        if (!column.table.empty() && !same_name(frame.select->sources[s].alias, column.table))
          continue;
        const auto found = column_in(*frame.tables[s], column.name);
        if (found) return places_[&column] = Place{outward, s, *found};
      }
    }
    return std::nullopt;
  }

  Value value_of_column(const Expression& column) {
    const auto place = place_of(column);
    if (!place) {
      fail(400, fmt::format("Unknown column '{}{}{}'", column.table,
                            column.table.empty() ? "" : ".", shortened_utf8(column.name)));
      return {};
    }
    const auto* const row = frames_[frames_.size() - 1 - place->outward]->rows[place->source];
    return row == nullptr ? Value{} : (*row)[place->column];
  }

  bool is_number(const Expression& expression) {
    switch (expression.is) {
      case Is::number:
      case Is::exists:
      case Is::in:
        return true;
      case Is::column: {
        const auto place = place_of(expression);
        if (!place) return false;
        const auto& frame = *frames_[frames_.size() - 1 - place->outward];
        return frame.tables[place->source]->columns[place->column].is_number;
      }
      case Is::variable:
        return is_numeric(expression.name, facts_.variable
                                               ? facts_.variable(expression.name).value_or("")
                                               : std::string());
      case Is::call:
        break;
      default:
        return false;
    }
    const auto& [name, parts] = std::tie(expression.name, expression.parts);
    const auto is = [&](std::size_t part) {
      return parts[part].is == Is::null || is_number(parts[part]);
    };
    if (name == "case") {
      bool all = !parts.empty();
      for (std::size_t i = 1; i < parts.size(); i += 2) all = all && is(i);
      return all && (parts.size() % 2 == 0 || is(parts.size() - 1));
    }
    if (name == "if") return parts.size() == 3 && is(1) && is(2);
    for (const std::string_view same : {"min", "max", "least", "greatest", "ifnull", "coalesce"})
      if (name == same) return !parts.empty() && is(0);
    return gives_number(name);
  }

  // ---- values

  Value value_of(const Expression& expression) {
    if (!step()) return {};
    switch (expression.is) {
      case Is::null:
        return {};
      case Is::text:
        return Value::of_text(expression.name);
      case Is::number:
        return {Value::Kind::number, expression.name};
      case Is::column:
        return value_of_column(expression);
      case Is::variable:
        return value_of_variable(expression.name);
      case Is::exists:
        return Value::of_number(inner(expression).rows.empty() ? 0 : 1);
      case Is::value: {
        const auto rows = inner(expression).rows;
        return rows.empty() || rows[0].empty() ? Value{} : rows[0][0];
      }
      case Is::in: {
        const auto wanted = value_of(expression.parts[0]);
        if (wanted.is_null()) return {};
        for (const auto& row : inner(expression).rows)
          if (!row.empty() && !row[0].is_null() && compare(row[0], wanted) == 0)
            return Value::of_number(1);
        return Value::of_number(0);
      }
      case Is::call:
        break;
    }
    return value_of_call(expression);
  }

  SchemaTable inner(const Expression& expression) {
    if (!step()) return {};
    if (frames_.size() >= kDeepest) fail(400, "SELECTs are nested too deep");
    return error_ ? SchemaTable{} : whole(*expression.select);
  }

  /// Whether a variable of the server has a number, as drivers that ask for its truth expect.
  static bool is_numeric(std::string_view name, std::string_view value) {
    return name.starts_with("@@") && !value.empty() &&
           value.find_first_not_of("0123456789") == value.npos;
  }

  Value value_of_variable(const std::string& name) {
    auto value = facts_.variable ? facts_.variable(name) : std::nullopt;
    if (!value && name.starts_with("@@"))
      fail(400, fmt::format("Unknown system variable '{}'", shortened_utf8(name.substr(2))));
    if (!value) return {};
    return {is_numeric(name, *value) ? Value::Kind::number : Value::Kind::text, *std::move(value)};
  }

  Value value_of_call(const Expression& call) {
    const auto& parts = call.parts;
    if (call.name == "and" || call.name == "or") {
      const bool ends = call.name == "or";
      bool null = false;
      for (const auto& part : parts) {
        const auto value = value_of(part);
        if (value.is_null())
          null = true;
        else if (value.is_true() == ends)
          return Value::of_number(ends ? 1 : 0);
      }
      return null ? Value{} : Value::of_number(ends ? 0 : 1);
    }
    if (call.name == "if" && parts.size() == 3)
      return value_of(parts[value_of(parts[0]).is_true() ? 1 : 2]);
    if (call.name == "case") {
      for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
        if (value_of(parts[i]).is_true()) return value_of(parts[i + 1]);
      return parts.size() % 2 == 1 ? value_of(parts.back()) : Value{};
    }
    if (is_aggregate(call.name) && parts.size() == 1) return aggregate(call);
    std::vector<Value> values;
    std::size_t bytes = 0;
    for (const auto& part : parts) bytes += values.emplace_back(value_of(part)).text.size();
    if (!step(bytes)) return {};
    if (auto value = call_schema_function(call.name, values, facts_)) return *std::move(value);
    fail(400, fmt::format("the function {} with {} arguments is not known here",
                          shortened_utf8(call.name), parts.size()));
    return {};
  }

  Value aggregate(const Expression& call) {
    auto& frame = *frames_.back();
    if (frame.group == nullptr) {
      fail(400, fmt::format("{}() cannot stand there", call.name));
      return {};
    }
    const auto first = frame.rows;
    const auto& group = *std::exchange(frame.group, nullptr);
    std::vector<Value> values;
    for (const auto& row : group) {
      if (!step()) break;
      frame.rows = row;
      auto value = value_of(call.parts[0]);
      if (!value.is_null()) values.push_back(std::move(value));
    }
    frame.rows = first;
    frame.group = &group;
    if (call.distinct) {
      std::set<std::string> seen;
      std::erase_if(values, [&](const Value& v) { return !seen.insert(key_of({v})).second; });
    }
    if (call.name == "count") return Value::of_number(static_cast<std::int64_t>(values.size()));
    if (values.empty()) return {};
    if (call.name == "group_concat") {
      std::string all;
      constexpr std::size_t kLongest = 64 << 10;
      for (const auto& value : values)
        if (all.size() < kLongest) all.append(all.empty() ? "" : call.table).append(value.text);
      return Value::of_text(all);
    }
    if (call.name == "sum") {
      double sum = 0;
      for (const auto& value : values) sum += value.number();
      return {Value::Kind::number, fmt::format("{}", sum)};
    }
    const auto before = [](const Value& a, const Value& b) { return compare(a, b) < 0; };
    return call.name == "min" ? *std::ranges::min_element(values, before)
                              : *std::ranges::max_element(values, before);
  }

  static constexpr std::size_t kDeepest = 32;
  const FindSchemaTable& find_;
  const SchemaFacts& facts_;
  std::vector<Frame*> frames_;
  std::map<const Expression*, Place> places_;
  std::list<Expression> made_;
  std::size_t steps_ = 0;
  std::size_t bytes_ = 0;
  std::optional<ClientError> error_;
};

/// The value of an expression that reads a table's schema and name only; nothing: it reads more.
bool reads_only_names(const Expression& expression, const SchemaSource& source) {
  if (expression.select != nullptr) return false;
  if (expression.is == Is::column) {
    const bool here = expression.table.empty() || same_name(expression.table, source.alias);
    return here &&
           (same_name(expression.name, "table_name") || same_name(expression.name, "table_schema"));
  }
  return std::ranges::all_of(expression.parts,
                             [&](const auto& part) { return reads_only_names(part, source); });
}

void visit_all(const Expression& expression, const std::function<void(const Expression&)>& visit) {
  visit(expression);
  for (const auto& part : expression.parts) visit_all(part, visit);
}

}  // namespace

SchemaResult<SchemaTable> rows_of(const SchemaSelect& select, const FindSchemaTable& find,
                                  const SchemaFacts& facts) {
  return Evaluator(find, facts).rows_of(select);
}

void for_each_expression(const SchemaSelect& select,
                         const std::function<void(const SchemaExpression&)>& visit) {
  for_each_select(select, [&](const SchemaSelect& each) {
    for (const auto& item : each.items) visit_all(item.value, visit);
    for (const auto& source : each.sources)
      if (source.on) visit_all(*source.on, visit);
    if (each.where) visit_all(*each.where, visit);
    for (const auto& key : each.group) visit_all(key, visit);
    if (each.having) visit_all(*each.having, visit);
    for (const auto& key : each.order) visit_all(key.value, visit);
  });
}

void for_each_select(const SchemaSelect& select,
                     const std::function<void(const SchemaSelect&)>& visit) {
  visit(select);
  const auto inner = [&](const Expression& expression) {
    if (expression.select != nullptr) for_each_select(*expression.select, visit);
  };
  for (const auto& item : select.items) visit_all(item.value, inner);
  for (const auto& source : select.sources) {
    if (source.select != nullptr) for_each_select(*source.select, visit);
    if (source.on) visit_all(*source.on, inner);
  }
  if (select.where) visit_all(*select.where, inner);
  for (const auto& key : select.group) visit_all(key, inner);
  if (select.having) visit_all(*select.having, inner);
  if (select.next != nullptr) for_each_select(*select.next, visit);
}

ResultSet result_set_of(const SchemaTable& table) {
  ResultSet set;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool whole = std::ranges::all_of(table.rows, [&](const Row& row) {
      return row[c].is_null() || whole_number<std::int64_t>(row[c].text);
    });
    set.add_column(table.columns[c].name, !table.columns[c].is_number ? "string"
                                          : whole                     ? "long long"
                                                                      : "double");
  }
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      auto& cell = set.made.emplace_front();
      if (row[c].is_null())
        cell = "null";
      else if (set.columns[c].type == "long long")
        cell = row[c].text;
      else if (set.columns[c].type == "double")
        cell = fmt::format("{}", row[c].number());
      else
        JsonLine(cell).add_quoted(row[c].text);
      set.cells.push_back(cell);
    }
    ++set.count;
  }
  return set;
}

bool may_have_table(const SchemaSelect& select, std::size_t source, const SchemaFacts& facts,
                    std::string_view table) {
  if (!select.where || select.sources[source].left) return true;
  std::vector<const Expression*> parts;
  split(*select.where, parts);
  const auto& from = select.sources[source];
  SchemaSelect test{.sources = {from}};
  test.sources[0].on.reset();
  test.sources[0].same.clear();
  for (const auto* part : parts)
    if (reads_only_names(*part, from))
      test.where = test.where ? Expression::call("and", {*test.where, *part}) : *part;
  if (!test.where) return true;
  test.items.push_back({.value = {.is = Is::number, .name = "1"}, .name = "1"});
  const SchemaTable names{.columns = {{"TABLE_SCHEMA"}, {"TABLE_NAME"}},
                          .rows = {{Value::of_text(facts.schema), Value::of_text(table)}}};
  const auto rows = rows_of(
      test, [&](auto, auto) { return &names; }, facts);
  return !rows || !rows->rows.empty();
}

}  // namespace karmad
