#include "balancer/mysql/results.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>

#include "agent/dialect/merge/infinities.hpp"

namespace karmad {
namespace {

constexpr std::size_t kMostSets = 1024;
constexpr std::size_t kMostColumns = 4096;           // as in MySQL
constexpr std::size_t kMostColumnsOfAll = 64 << 10;  // of all result sets
constexpr std::size_t kUnescapedAtOnce = 4096;       // bytes of a text

/// How a type of the search server is sent.
struct MysqlColumnType {
  MysqlType type = MysqlType::string;
  bool is_unsigned = false;
};

/// The type of a column that the search server names so. The binary form has 32 bits as 64, since
/// some servers write negative numbers there.
MysqlColumnType type_of_column(std::string_view name, MysqlForm form) {
  struct Named {
    std::string_view name;
    MysqlColumnType sent;
  };
  constexpr std::array kTypes{
      Named{"long long", {MysqlType::long64}},       Named{"long", {MysqlType::long32, true}},
      Named{"uint", {MysqlType::long32, true}},      Named{"bool", {MysqlType::long32, true}},
      Named{"timestamp", {MysqlType::long32, true}}, Named{"float", {MysqlType::real32}},
      Named{"double", {MysqlType::real64}},          Named{"decimal", {MysqlType::decimal}},
  };
  const auto* const found = std::ranges::find(kTypes, name, &Named::name);
  if (found == kTypes.end()) return {};
  if (form == MysqlForm::binary && found->sent.type == MysqlType::long32)
    return {MysqlType::long64};
  return found->sent;
}

template <class Number>
std::optional<Number> parsed_number(std::string_view text) {
  Number number{};
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

/// The value as a text, without the quotes of a string; its escapes are not resolved.
std::string_view raw_text(std::string_view value) {
  if (value == "true") return "1";
  if (value == "false") return "0";
  return is_string(value) ? without_quotes(value) : value;
}

bool has_escapes(std::string_view value) {
  return is_string(value) && value.contains('\\');
}

/// Appends the next bytes of `text`, until `out` has `enough`.
void append_text(JsonText& text, std::string& out, std::size_t enough) {
  while (out.size() < enough) {
    const int c = text.next();
    if (c < 0) return;
    out += static_cast<char>(c);
  }
}

/// Size of the value as a text.
std::size_t text_size(std::string_view value) {
  const auto raw = raw_text(value);
  if (!has_escapes(value)) return raw.size();
  std::size_t size = 0;
  for (JsonText text(raw); text.next() >= 0;) ++size;
  return size;
}

/// The value as a text; `scratch` may get it. For short ones.
std::string_view mysql_text(std::string_view value, std::string& scratch) {
  const auto raw = raw_text(value);
  if (!has_escapes(value)) return raw;
  scratch.clear();
  JsonText text(raw);
  append_text(text, scratch, scratch.max_size());
  return scratch;
}

bool is_sql_null(std::string_view value) {
  return value.empty() || value == "null";
}

/// Size of a value in the binary form; 0: it is sent as a text.
std::size_t binary_size(MysqlType type) {
  if (type == MysqlType::real32) return 4;
  return type == MysqlType::long64 || type == MysqlType::real64 ? 8 : 0;
}

/// The bits of a number in the binary form; nothing: the text is no such number. Whole numbers from
/// 2^63 on wrap, as those of the search server do.
std::optional<std::uint64_t> binary_number(std::string_view text, MysqlType type) {
  if (type == MysqlType::long64) {
    if (const auto number = parsed_number<std::int64_t>(text))
      return static_cast<std::uint64_t>(*number);
    return parsed_number<std::uint64_t>(text);
  }
  const auto number = parsed_number<double>(text);
  if (!number) return std::nullopt;
  return type == MysqlType::real32 ? std::bit_cast<std::uint32_t>(static_cast<float>(*number))
                                   : std::bit_cast<std::uint64_t>(*number);
}

}  // namespace

MysqlResults::MysqlResults(std::string_view json, const Options& options)
    : options_(options), columns_left_(kMostColumnsOfAll) {
  readable_ = read_sets(json);
  auto finite = readable_ ? std::nullopt : without_infinities(json);
  if (!finite) return;
  finite_ = *std::move(finite);
  end_infinities(finite_, 0);
  sets_.clear();
  columns_left_ = kMostColumnsOfAll;
  warning_.clear();
  readable_ = read_sets(finite_);
}

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
  auto& set = sets_.emplace_back();
  bool has_wrong_columns = false;
  const bool whole = visit_members(object, [&](std::string_view key, std::string_view value) {
    if (key == "columns") {
      set.columns = read_columns(value);
      has_wrong_columns = !set.columns;
    }
    if (key == "data") set.rows = value;
    if (key == "total") set.total = parsed_number<std::uint64_t>(value);
    if (key == "error" && is_string(value)) set.error = without_quotes(value);
    if (key == "warning" && is_string(value)) set.warning = without_quotes(value);
    return true;
  });
  if (!whole) return false;
  set.unread = why_unreadable(set, has_wrong_columns);
  if (!set.warning.empty()) warning_ = json_unescaped(set.warning);
  return true;
}

std::string_view MysqlResults::why_unreadable(const Set& set, bool has_wrong_columns) const {
  if (has_wrong_columns) return "the columns of an answer cannot be read";
  if (set.columns)
    return options_.kind == MysqlResultKind::count
               ? "the answer of a mirror to a change cannot be read: it has columns"
               : std::string_view();
  if (options_.kind == MysqlResultKind::rows)
    return "the answer of a mirror cannot be read: it has no columns";
  return set.total ? std::string_view()
                   : "the answer of a mirror cannot be read: it has neither columns nor a total";
}

std::optional<std::vector<MysqlResults::Column>> MysqlResults::read_columns(
    std::string_view columns) {
  std::vector<Column> read;
  JsonCursor cursor(columns);
  JsonElements elements(cursor);
  while (elements.next()) {
    if (read.size() == kMostColumns || columns_left_ == 0) return std::nullopt;
    --columns_left_;
    Column column;
    const bool whole = visit_members(cursor, [&](std::string_view key, std::string_view value) {
      column.key = key;
      column.name = json_unescaped(key);
      visit_members(value, [&](std::string_view property, std::string_view type) {
        if (property == "type" && is_string(type)) column.type = without_quotes(type);
        return true;
      });
      return true;
    });
    if (!whole) return std::nullopt;
    read.push_back(std::move(column));
  }
  if (!elements.complete() || read.empty()) return std::nullopt;
  return read;
}

bool MysqlResults::Row::read(std::string_view row) {
  values_.assign(columns_.size(), {});
  std::size_t at = 0;
  return visit_members(row, [&](std::string_view key, std::string_view value) {
    if (at >= columns_.size() || columns_[at].key != key) {
      const auto place = place_of(key);
      if (place == columns_.size()) return true;
      at = place;
    }
    values_[at++] = value;
    return true;
  });
}

/// The number of columns, if none has that key.
std::size_t MysqlResults::Row::place_of(std::string_view key) {
  if (places_.empty())
    for (std::size_t i = 0; i < columns_.size(); ++i) places_.try_emplace(columns_[i].key, i);
  const auto found = places_.find(key);
  return found == places_.end() ? columns_.size() : found->second;
}

bool MysqlResults::next(MysqlWriter& out, std::size_t enough) {
  if (!readable_ && !failed_) fail(out, {.text = "the answer of a mirror cannot be read"});
  while (!failed_ && set_ < sets_.size()) {
    if (!row_ && !begin_set(out)) continue;
    while (!failed_) {
      if (!write_row(out, enough)) return true;
      skip_space(cursor_);
      if (!cursor_.done() && *cursor_.at == ']') break;
      if (out.out().size() >= enough) return true;
      if (!std::exchange(first_row_, false) && !take(cursor_, ',')) {
        fail(out, {.text = "the rows of an answer cannot be read"});
        break;
      }
      const auto row = take_value(cursor_);
      if (row && row_->read(*row)) {
        begin_row(out);
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
    fail(out, mysql_error(500, json_unescaped(set.error)));
    return false;
  }
  if (!set.unread.empty()) {
    fail(out, {.text = std::string(set.unread)});
    return false;
  }
  if (!set.columns) {
    auto ok = end_of_set();
    ok.affected = set.total.value_or(0);
    ok.last_insert_id = options_.last_insert_id;
    write_mysql_ok(out, ok);
    ++set_;
    return false;
  }
  out.begin();
  out.length(set.columns->size());
  out.end();
  types_.clear();
  for (const auto& column : *set.columns) {
    const auto [type, is_unsigned] = type_of_column(column.type, options_.form);
    types_.push_back(type);
    write_mysql_column(out, {.name = column.name,
                             .type = type,
                             .is_unsigned = is_unsigned,
                             .any_decimals = options_.form == MysqlForm::binary});
  }
  write_mysql_end_of_columns(out, options_.capabilities);
  row_.emplace(*set.columns);
  first_row_ = true;
  cursor_ = JsonCursor(set.rows.empty() ? "[]" : set.rows);
  if (!take(cursor_, '[')) {
    fail(out, {.text = "the rows of an answer cannot be read"});
    return false;
  }
  return true;
}

/// Begins the packets of the row that was read; write_row() writes its values.
void MysqlResults::begin_row(MysqlWriter& out) {
  constexpr std::size_t kFirstBit = 2;
  const auto& values = row_->values();
  const bool binary = options_.form == MysqlForm::binary;
  sent_.clear();
  std::string nulls(binary ? 1 + (values.size() + 7 + kFirstBit) / 8 : 0, '\0');
  auto size = nulls.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& sent = sent_.emplace_back(sent_value(values[i], types_[i]));
    size += sent.size + sent.text_size;
    if (!binary || sent.size != 0) continue;
    const auto bit = i + kFirstBit;
    nulls[1 + bit / 8] |= static_cast<char>(1 << (bit % 8));
  }
  out.begin(size);
  out.bytes(nulls);
  begun_values_ = 0;
}

MysqlResults::SentValue MysqlResults::sent_value(std::string_view value, MysqlType type) {
  const bool binary = options_.form == MysqlForm::binary;
  const SentValue null{.size = binary ? 0U : 1U, .number = 0xfb};
  if (is_sql_null(value)) return null;
  if (const auto fixed = binary ? binary_size(type) : 0; fixed != 0) {
    const auto number = binary_number(mysql_text(value, scratch_), type);
    return number ? SentValue{.size = fixed, .number = *number} : null;
  }
  const auto size = text_size(value);
  return {.size = mysql_length_size(size), .text_size = size, .is_text = true};
}

/// False: `out` has enough before the row has ended.
bool MysqlResults::write_row(MysqlWriter& out, std::size_t enough) {
  while (write_text(out, enough)) {
    if (begun_values_ == sent_.size()) return true;
    begin_value(out);
  }
  return false;
}

/// Writes the next value; of a text only the length, write_text() writes the rest.
void MysqlResults::begin_value(MysqlWriter& out) {
  const auto value = row_->values()[begun_values_];
  const auto& sent = sent_[begun_values_++];
  if (!sent.is_text) return out.integer(sent.number, sent.size);
  out.length(sent.text_size);
  if (has_escapes(value)) {
    escaped_ = JsonText(raw_text(value));
  } else {
    plain_ = raw_text(value);
  }
}

/// Writes the text of the current value, if it has one. False: `out` has enough before its end.
bool MysqlResults::write_text(MysqlWriter& out, std::size_t enough) {
  for (;;) {
    if (plain_.empty()) {
      scratch_.clear();
      append_text(escaped_, scratch_, kUnescapedAtOnce);
      plain_ = scratch_;
    }
    if (plain_.empty()) return true;
    if (out.out().size() >= enough) return false;
    const auto piece = plain_.substr(0, enough - out.out().size());
    out.bytes(piece);
    plain_.remove_prefix(piece.size());
  }
}

void MysqlResults::end_set(MysqlWriter& out) {
  write_mysql_end(out, options_.capabilities, end_of_set());
  row_.reset();
  ++set_;
}

void MysqlResults::fail(MysqlWriter& out, MysqlError error) {
  failed_ = true;
  write_mysql_error(out, error);
}

/// All sets answer one statement: each has its number of warnings.
MysqlOk MysqlResults::end_of_set() const {
  const bool last = set_ + 1 == sets_.size();
  return {.more = last ? options_.more : MysqlMore::yes,
          .warnings = static_cast<std::uint16_t>(warning_.empty() ? 0 : 1)};
}

}  // namespace karmad
