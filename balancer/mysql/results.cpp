#include "balancer/mysql/results.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

constexpr std::size_t kMostSets = 1024;
constexpr std::size_t kMostColumns = 4096;  // as in MySQL

/// Types of columns as the search server names them; any other is a text.
MysqlType type_of_column(std::string_view name, MysqlForm form) {
  constexpr std::array<std::pair<std::string_view, MysqlType>, 8> kTypes{{
      {"long long", MysqlType::long64},
      {"long", MysqlType::long32},
      {"uint", MysqlType::long32},
      {"bool", MysqlType::long32},
      {"timestamp", MysqlType::long32},
      {"float", MysqlType::real32},
      {"double", MysqlType::real64},
      {"decimal", MysqlType::decimal},
  }};
  const auto* const found = std::ranges::find(kTypes, name, &decltype(kTypes)::value_type::first);
  const auto type = found == kTypes.end() ? MysqlType::var_string : found->second;
  // 32 bits are written as 64, since some of them are unsigned.
  return type == MysqlType::long32 && form == MysqlForm::binary ? MysqlType::long64 : type;
}

template <class Number>
std::optional<Number> parsed_number(std::string_view text) {
  Number number{};
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

/// The value as a text, without the quotes of a string; `scratch` may get it.
std::string_view mysql_text(std::string_view value, std::string& scratch) {
  if (value == "true") return "1";
  if (value == "false") return "0";
  if (!is_string(value)) return value;
  const auto raw = without_quotes(value);
  if (raw.find('\\') == raw.npos) return raw;
  scratch.clear();
  JsonText bytes(raw);
  for (int c = bytes.next(); c >= 0; c = bytes.next()) scratch += static_cast<char>(c);
  return scratch;
}

bool is_sql_null(std::string_view value) {
  return value.empty() || value == "null";
}

}  // namespace

MysqlResults::MysqlResults(std::string_view json, const Options& options)
    : options_(options), readable_(read_sets(json)) {}

bool MysqlResults::read_sets(std::string_view json) {
  JsonCursor cursor(json);
  skip_space(cursor);
  if (cursor.done()) return false;
  if (*cursor.at != '[') return read_set(json);
  JsonElements elements(cursor);
  while (elements.next()) {
    const auto set = take_value(cursor);
    if (!set || sets_.size() == kMostSets || !read_set(*set)) return false;
  }
  return elements.complete() && !sets_.empty();
}

bool MysqlResults::read_set(std::string_view object) {
  Set set;
  const bool whole = visit_members(object, [&](std::string_view key, std::string_view value) {
    if (key == "columns") set.columns = value;
    if (key == "data") set.rows = value;
    if (key == "total") set.total = parsed_number<std::uint64_t>(value).value_or(0);
    if (key == "error" && is_string(value)) set.error = without_quotes(value);
    if (key == "warning" && is_string(value)) set.warning = without_quotes(value);
    return true;
  });
  sets_.push_back(set);
  return whole;
}

bool MysqlResults::next(MysqlWriter& out, std::size_t enough) {
  if (!readable_ && !failed_) fail(out, {.text = "the answer of a mirror cannot be read"});
  while (!failed_ && set_ < sets_.size()) {
    if (!in_rows_ && !begin_set(out)) continue;
    JsonCursor& json = cursor_;
    while (!failed_) {
      skip_space(json);
      if (!json.done() && *json.at == ']') break;
      if (out.out().size() >= enough) return true;
      if (!std::exchange(first_row_, false) && !take(json, ',')) {
        fail(out, {.text = "the rows of an answer cannot be read"});
        break;
      }
      const auto row = take_value(json);
      if (row && read_row(*row)) {
        write_row(out);
      } else {
        fail(out, {.text = "a row of an answer cannot be read"});
      }
    }
    if (!failed_) end_set(out);
  }
  return false;
}

/// Writes what precedes the rows. False: the set has no rows, and is complete.
bool MysqlResults::begin_set(MysqlWriter& out) {
  const auto& set = sets_[set_];
  if (!set.error.empty()) {
    fail(out, mysql_error(400, json_unescaped(set.error)));
    return false;
  }
  note_warning(set);
  if (!set.columns) {
    auto ok = end_of(set);
    ok.affected = set.total;
    ok.last_insert_id = options_.last_insert_id;
    write_mysql_ok(out, ok);
    ++set_;
    return false;
  }
  if (!read_columns(*set.columns)) {
    fail(out, {.text = "the columns of an answer cannot be read"});
    return false;
  }
  if (options_.form == MysqlForm::binary) fit_types(set.rows);
  out.begin();
  out.length(columns_.size());
  out.end();
  for (const auto& column : columns_)
    write_mysql_column(out, {column.name, column.type, column.is_unsigned});
  write_mysql_end_of_columns(out, options_.capabilities);
  in_rows_ = true;
  first_row_ = true;
  cursor_ = JsonCursor(set.rows.empty() ? "[]" : set.rows);
  if (!take(cursor_, '[')) {
    fail(out, {.text = "the rows of an answer cannot be read"});
    return false;
  }
  return true;
}

bool MysqlResults::read_columns(std::string_view columns) {
  columns_.clear();
  JsonCursor cursor(columns);
  JsonElements elements(cursor);
  while (elements.next()) {
    if (columns_.size() == kMostColumns) return false;
    Column column;
    const bool whole = visit_members(cursor, [&](std::string_view key, std::string_view value) {
      column.key = key;
      column.name = json_unescaped(key);
      visit_members(value, [&](std::string_view property, std::string_view type) {
        if (property == "type" && is_string(type))
          column.type = type_of_column(without_quotes(type), options_.form);
        return true;
      });
      return true;
    });
    if (!whole) return false;
    columns_.push_back(std::move(column));
  }
  return elements.complete() && !columns_.empty();
}

/// The binary form has no place for a value that is not of its column's type. Such a column becomes
/// a text.
void MysqlResults::fit_types(std::string_view rows) {
  JsonCursor cursor(rows);
  JsonElements elements(cursor);
  std::vector<bool> has_negative(columns_.size());
  while (elements.next()) {
    const auto row = take_value(cursor);
    if (!row || !read_row(*row)) return;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      auto& column = columns_[i];
      if (is_sql_null(values_[i])) continue;
      const auto text = mysql_text(values_[i], scratch_);
      if (column.type == MysqlType::long64) {
        has_negative[i] = has_negative[i] || text.starts_with('-');
        if (parsed_number<std::int64_t>(text)) continue;
        column.is_unsigned = parsed_number<std::uint64_t>(text).has_value();
        if (!column.is_unsigned) column.type = MysqlType::var_string;
      } else if (column.type == MysqlType::real32 || column.type == MysqlType::real64) {
        if (!parsed_number<double>(text)) column.type = MysqlType::var_string;
      }
    }
  }
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].is_unsigned && has_negative[i])
      columns_[i] = {columns_[i].key, columns_[i].name};
}

/// Sets `values_`. A column that the row lacks is NULL.
bool MysqlResults::read_row(std::string_view row) {
  values_.assign(columns_.size(), {});
  std::size_t at = 0;
  return visit_members(row, [&](std::string_view key, std::string_view value) {
    if (at >= columns_.size() || columns_[at].key != key) {
      const auto found = std::ranges::find(columns_, key, &Column::key);
      if (found == columns_.end()) return true;
      at = static_cast<std::size_t>(found - columns_.begin());
    }
    values_[at++] = value;
    return true;
  });
}

void MysqlResults::write_row(MysqlWriter& out) {
  out.begin();
  if (options_.form == MysqlForm::text) {
    write_text_row(out);
  } else {
    write_binary_row(out);
  }
  out.end();
}

void MysqlResults::write_text_row(MysqlWriter& out) {
  for (const auto value : values_) {
    if (is_sql_null(value)) {
      out.integer(0xfb, 1);
    } else {
      out.text(mysql_text(value, scratch_));
    }
  }
}

void MysqlResults::write_binary_row(MysqlWriter& out) {
  constexpr std::size_t kFirstBit = 2;
  out.integer(0, 1);
  const auto nulls = out.zeros((columns_.size() + 7 + kFirstBit) / 8);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (is_sql_null(values_[i])) {
      const auto bit = i + kFirstBit;
      auto& byte = out.out()[nulls + bit / 8];
      byte = static_cast<char>(byte | (1 << (bit % 8)));
      continue;
    }
    const auto text = mysql_text(values_[i], scratch_);
    switch (columns_[i].type) {
      case MysqlType::long64:
        if (columns_[i].is_unsigned) {
          out.integer(parsed_number<std::uint64_t>(text).value_or(0), 8);
        } else {
          out.integer(static_cast<std::uint64_t>(parsed_number<std::int64_t>(text).value_or(0)), 8);
        }
        break;
      case MysqlType::real32:
        out.integer(std::bit_cast<std::uint32_t>(
                        static_cast<float>(parsed_number<double>(text).value_or(0))),
                    4);
        break;
      case MysqlType::real64:
        out.integer(std::bit_cast<std::uint64_t>(parsed_number<double>(text).value_or(0)), 8);
        break;
      default:
        out.text(text);
    }
  }
}

void MysqlResults::end_set(MysqlWriter& out) {
  write_mysql_end(out, options_.capabilities, end_of(sets_[set_]));
  in_rows_ = false;
  ++set_;
}

void MysqlResults::fail(MysqlWriter& out, MysqlError error) {
  failed_ = true;
  write_mysql_error(out, error);
}

void MysqlResults::note_warning(const Set& set) {
  if (!set.warning.empty()) warning_ = json_unescaped(set.warning);
}

MysqlOk MysqlResults::end_of(const Set& set) const {
  const bool last = set_ + 1 == sets_.size();
  return {.more = last ? options_.more : MysqlMore::yes,
          .warnings = static_cast<std::uint16_t>(set.warning.empty() ? 0 : 1)};
}

}  // namespace karmad
