#include "balancer/schema/schema.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "balancer/schema/translate.hpp"
#include "balancer/status/rows/like.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

constexpr std::size_t kMostSchemaRows = 100'000;
constexpr std::size_t kMostBytes = 16 << 20;  // of all results

/// A SELECT that is being carried out.
struct Run {
  std::vector<SchemaTable> tables;
  std::string schema;  ///< the one of all tables
  std::size_t steps = 0;
  std::vector<std::string> unknown;  ///< looked for
};

// ---- the tables, as SQLite reads them

struct VirtualTable : sqlite3_vtab {
  Run* run = nullptr;
  const SchemaTable* table = nullptr;
};

struct Cursor : sqlite3_vtab_cursor {
  std::size_t row = 0;
  const SchemaTable& table() const { return *static_cast<VirtualTable*>(pVtab)->table; }
};

constexpr const char* kNumber = "INT";

int connect(sqlite3* database, void* run, int, const char* const* arguments, sqlite3_vtab** out,
            char**) {
  auto made = std::make_unique<VirtualTable>();
  made->run = static_cast<Run*>(run);
  made->table = &made->run->tables[number_in<std::size_t>(arguments[3]).value_or(0)];
  std::string columns;
  for (const auto& column : made->table->columns) {
    // The value of a variable is compared as a number with a number.
    const auto* const type = column.is_number                  ? kNumber
                             : column.name == "VARIABLE_VALUE" ? "NUMERIC COLLATE NOCASE"
                                                               : "TEXT COLLATE NOCASE";
    columns += fmt::format("{}\"{}\" {}", columns.empty() ? "" : ",", column.name, type);
  }
  if (columns.empty()) columns = "\"\" HIDDEN";  // DUAL
  const int code =
      sqlite3_declare_vtab(database, fmt::format("CREATE TABLE t({})", columns).c_str());
  if (code == SQLITE_OK) *out = made.release();
  return code;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<VirtualTable*>(table);
  return SQLITE_OK;
}

/// What a condition says about the name of a table, or its schema.
struct Wanted {
  std::string_view column;
  unsigned char op;
};
constexpr std::array kWanted{Wanted{"TABLE_NAME", SQLITE_INDEX_CONSTRAINT_EQ},
                             Wanted{"TABLE_SCHEMA", SQLITE_INDEX_CONSTRAINT_EQ},
                             Wanted{"TABLE_NAME", SQLITE_INDEX_CONSTRAINT_LIKE},
                             Wanted{"TABLE_SCHEMA", SQLITE_INDEX_CONSTRAINT_LIKE}};

/// Chooses the conditions that begin_scan reads; SQLite checks all of them itself, too.
int plan_scan(sqlite3_vtab* in, sqlite3_index_info* plan) {
  const auto& table = *static_cast<VirtualTable*>(in)->table;
  plan->estimatedCost = 1e6;
  plan->estimatedRows = 1000;
  int values = 0;
  for (std::size_t w = 0; w < kWanted.size(); ++w)
    for (int i = 0; i < plan->nConstraint; ++i) {
      const auto& condition = plan->aConstraint[i];
      if (condition.usable == 0 || condition.op != kWanted[w].op || condition.iColumn < 0 ||
          table.columns.empty() ||
          table.columns[static_cast<std::size_t>(condition.iColumn)].name != kWanted[w].column)
        continue;
      plan->aConstraintUsage[i].argvIndex = ++values;
      plan->idxNum |= 1 << w;
      plan->estimatedCost /= 10;
      plan->estimatedRows = std::max<sqlite3_int64>(plan->estimatedRows / 10, 1);
      break;
    }
  return SQLITE_OK;
}

/// Begins at the first row, and notes the tables whose rows are missing and could be wanted.
int begin_scan(sqlite3_vtab_cursor* in, int plan, const char*, int, sqlite3_value** values) {
  auto& cursor = *static_cast<Cursor*>(in);
  cursor.row = 0;
  auto& run = *static_cast<VirtualTable*>(cursor.pVtab)->run;
  const auto fits = [&](const std::string& name) {
    int next = 0;
    for (std::size_t w = 0; w < kWanted.size(); ++w) {
      if ((plan & (1 << w)) == 0) continue;
      const auto* const bytes = sqlite3_value_text(values[next++]);
      if (bytes == nullptr) return false;
      const std::string_view wanted(reinterpret_cast<const char*>(bytes));
      const auto& has = kWanted[w].column == "TABLE_NAME" ? name : run.schema;
      if (kWanted[w].op == SQLITE_INDEX_CONSTRAINT_EQ ? lower(has) != lower(wanted)
                                                      : !is_like(has, wanted))
        return false;
    }
    return true;
  };
  for (const auto& name : cursor.table().unknown)
    if (std::ranges::find(run.unknown, name) == run.unknown.end() && fits(name))
      run.unknown.push_back(name);
  return SQLITE_OK;
}

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** out) {
  *out = new Cursor;
  return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int next_row(sqlite3_vtab_cursor* cursor) {
  ++static_cast<Cursor*>(cursor)->row;
  return SQLITE_OK;
}

int is_behind(sqlite3_vtab_cursor* in) {
  const auto& cursor = *static_cast<Cursor*>(in);
  return cursor.row >= cursor.table().rows.size() ? 1 : 0;
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->row);
  return SQLITE_OK;
}

int give_value(sqlite3_vtab_cursor* in, sqlite3_context* out, int column) {
  const auto& cursor = *static_cast<Cursor*>(in);
  const auto c = static_cast<std::size_t>(column);
  const auto& columns = cursor.table().columns;
  if (c >= columns.size()) return SQLITE_OK;
  const auto& value = cursor.table().rows[cursor.row][c];
  if (value.is_null()) return SQLITE_OK;
  const bool may_be_number = columns[c].is_number || columns[c].name == "VARIABLE_VALUE";
  const auto number =
      may_be_number ? number_in<std::int64_t>(value.text) : std::optional<std::int64_t>();
  if (number && std::to_string(*number) == value.text)
    sqlite3_result_int64(out, *number);
  else
    sqlite3_result_text(out, value.text.data(), static_cast<int>(value.text.size()), SQLITE_STATIC);
  return SQLITE_OK;
}

constexpr sqlite3_module kModule{.iVersion = 0,
                                 .xCreate = connect,
                                 .xConnect = connect,
                                 .xBestIndex = plan_scan,
                                 .xDisconnect = disconnect,
                                 .xDestroy = disconnect,
                                 .xOpen = open_cursor,
                                 .xClose = close_cursor,
                                 .xFilter = begin_scan,
                                 .xNext = next_row,
                                 .xEof = is_behind,
                                 .xColumn = give_value,
                                 .xRowid = row_id};

// ---- the database

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using PreparedStatement = std::unique_ptr<sqlite3_stmt, Close>;

/// A SELECT reads the tables of the run and calls known functions; everything else is denied.
int allows(void* in, int action, const char* subject, const char* function, const char*,
           const char*) {
  const auto& run = *static_cast<Run*>(in);
  switch (action) {
    case SQLITE_SELECT:
      return SQLITE_OK;
    case SQLITE_READ:
      return std::ranges::any_of(run.tables,
                                 [&](const SchemaTable& table) {
                                   return subject != nullptr && lower(table.name) == lower(subject);
                                 })
                 ? SQLITE_OK
                 : SQLITE_DENY;
    case SQLITE_FUNCTION:
      return is_schema_function(function) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

void set_bounds(sqlite3* database, Run& run) {
  // Of the process, and of all SELECTs of the schema at one time.
  static const auto heap = sqlite3_hard_heap_limit64(64 << 20);
  static_cast<void>(heap);
  constexpr std::array<std::pair<int, int>, 6> kLimits{{{SQLITE_LIMIT_LENGTH, 1 << 20},
                                                        {SQLITE_LIMIT_SQL_LENGTH, 1 << 19},
                                                        {SQLITE_LIMIT_COMPOUND_SELECT, 64},
                                                        {SQLITE_LIMIT_VDBE_OP, 200'000},
                                                        {SQLITE_LIMIT_ATTACHED, 2},
                                                        {SQLITE_LIMIT_VARIABLE_NUMBER, 0}}};
  for (const auto& [limit, most] : kLimits) sqlite3_limit(database, limit, most);
  constexpr int kBetweenChecks = 1000;
  sqlite3_progress_handler(
      database, kBetweenChecks,
      [](void* in) {
        auto& steps = static_cast<Run*>(in)->steps;
        steps += kBetweenChecks;
        return steps > kMostSchemaSteps ? 1 : 0;
      },
      &run);
  sqlite3_set_authorizer(database, allows, &run);
}

Database make_database(Run& run) {
  sqlite3* opened = nullptr;
  sqlite3_open_v2(":memory:", &opened,
                  SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(opened);
  if (database == nullptr) return database;
  const auto carry_out = [&](const std::string& text) {
    return sqlite3_exec(opened, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  add_schema_functions(opened, run.steps);
  // A collation of MySQL: without case, as all.
  sqlite3_collation_needed(opened, nullptr, [](void*, sqlite3* in, int, const char* name) {
    sqlite3_create_collation(
        in, name, SQLITE_UTF8, nullptr, [](void*, int a, const void* x, int b, const void* y) {
          const auto text = [](const void* bytes, int size) {
            return lower({static_cast<const char*>(bytes), static_cast<std::size_t>(size)});
          };
          return text(x, a).compare(text(y, b));
        });
  });
  sqlite3_create_module(opened, "rows", &kModule, &run);
  bool made = carry_out(
      "PRAGMA temp_store=MEMORY; PRAGMA short_column_names=0;"
      "ATTACH ':memory:' AS information_schema; ATTACH ':memory:' AS performance_schema");
  for (std::size_t t = 0; t < run.tables.size(); ++t)
    made = made && carry_out(fmt::format("CREATE VIRTUAL TABLE {}.\"{}\" USING rows({})",
                                         run.tables[t].schema, run.tables[t].name, t));
  if (!made) return nullptr;
  set_bounds(opened, run);
  return database;
}

/// What SQLite says of a statement, in the words of MySQL where clients look for them.
ClientError client_error(sqlite3* database, int code) {
  const std::string_view message = sqlite3_errmsg(database);
  const auto behind = [&](std::string_view begin) {
    return shortened_utf8(message.substr(begin.size()));
  };
  const auto quoted = [&] {  // near "x": syntax error
    const auto begin = message.find('"') + 1;
    return shortened_utf8(message.substr(begin, message.rfind('"') - begin));
  };
  constexpr std::string_view kPlace = " in a SELECT that karmad answers itself";
  if (code == SQLITE_INTERRUPT)
    return {400, "the SELECT looks at too many rows of the schema; name the table in WHERE"};
  if (code == SQLITE_NOMEM) return {400, "the SELECT needs too much memory"};
  if (message.starts_with("no such column: "))
    return {400, fmt::format("Unknown column '{}'", behind("no such column: "))};
  if (message.starts_with("no such table: "))
    return {404, fmt::format("unknown table '{}'", behind("no such table: "))};
  if (message.starts_with("access to "))  // … is prohibited
    return {404, fmt::format("unknown table '{}'",
                             behind("access to ").substr(0, behind("access to ").find(' ')))};
  for (const std::string_view begin : {"no such function: ", "not authorized to use function: "})
    if (message.starts_with(begin))
      return {400, fmt::format("the function {} is not known here", behind(begin))};
  if (message.starts_with("near \""))
    return {400, fmt::format("syntax error near '{}'{}", quoted(), kPlace)};
  if (message == "incomplete input")
    return {400, fmt::format("syntax error: the statement has no end{}", kPlace)};
  if (message.starts_with("SELECTs to the left"))
    return {400, "the SELECTs of a UNION have different numbers of columns"};
  std::string words(shortened_utf8(message, 256));
  if (const auto at = words.find("_()"); at != words.npos) words.erase(at, 1);  // left_()
  return {400, words.append(kPlace)};
}

SchemaValue value_in(sqlite3_stmt* statement, int column) {
  const auto type = sqlite3_column_type(statement, column);
  if (type == SQLITE_NULL) return {};
  if (type == SQLITE_INTEGER)
    return SchemaValue::of_number(sqlite3_column_int64(statement, column));
  if (type == SQLITE_FLOAT) {
    const auto number = sqlite3_column_double(statement, column);
    if (!std::isfinite(number)) return {};
    if (number == std::floor(number) && std::abs(number) < 1e15)
      return SchemaValue::of_number(static_cast<std::int64_t>(number));
    return {SchemaValue::Kind::number, fmt::format("{}", number)};
  }
  const auto* const text = sqlite3_column_text(statement, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
  return SchemaValue::of_text(text == nullptr
                                  ? std::string_view()
                                  : std::string_view(reinterpret_cast<const char*>(text), size));
}

/// Whether a column has numbers: by its values, and without any by its declaration.
bool has_numbers(const char* declared, const SchemaTable& table, std::size_t column) {
  bool is = declared != nullptr && std::string_view(declared) == kNumber;
  for (const auto& row : table.rows) {
    if (row[column].kind == SchemaValue::Kind::text) return false;
    is |= declared == nullptr && !row[column].is_null();
  }
  return is;
}

}  // namespace

OrError<SchemaTable> rows_of(std::string_view select, std::vector<SchemaTable> tables,
                             const SchemaFacts& facts) {
  auto translated = TranslatedSelect::of(select, facts);
  if (!translated) return std::unexpected(std::move(translated.error()));
  Run run{.tables = std::move(tables), .schema = facts.schema};
  const auto database = make_database(run);
  if (database == nullptr) return refused("the SELECT needs too much memory");
  sqlite3_stmt* prepared = nullptr;
  const char* rest = nullptr;
  int code = sqlite3_prepare_v2(database.get(), translated->text().c_str(), -1, &prepared, &rest);
  const PreparedStatement statement(prepared);
  if (code != SQLITE_OK) return std::unexpected(client_error(database.get(), code));
  if (prepared == nullptr || *rest != '\0') return refused("syntax error: expected a SELECT");
  SchemaTable out;
  const int count = sqlite3_column_count(prepared);
  std::size_t bytes = 0;
  while ((code = sqlite3_step(prepared)) == SQLITE_ROW) {
    auto& row = out.rows.emplace_back();
    for (int c = 0; c < count; ++c)
      bytes += sizeof(SchemaValue) + row.emplace_back(value_in(prepared, c)).text.size();
    if (out.rows.size() > kMostSchemaRows || bytes > kMostBytes)
      return refused("the SELECT has too many rows");
  }
  if (code != SQLITE_DONE) return std::unexpected(client_error(database.get(), code));
  for (int c = 0; c < count; ++c)
    out.columns.push_back(
        {translated->next_column_name(sqlite3_column_name(prepared, c)),
         has_numbers(sqlite3_column_decltype(prepared, c), out, static_cast<std::size_t>(c))});
  out.unknown = std::move(run.unknown);
  return out;
}

ResultSet result_set_of(const SchemaTable& table) {
  ResultSet set;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool whole = std::ranges::all_of(table.rows, [&](const auto& row) {
      return row[c].is_null() || number_in<std::int64_t>(row[c].text);
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
      else if (table.columns[c].is_number)
        cell = row[c].text;
      else
        JsonLine(cell).add_quoted(row[c].text);
      set.cells.push_back(cell);
    }
    ++set.count;
  }
  return set;
}

}  // namespace karmad
