#include "balancer/mysql/results.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "agent/dialect/replies/infinities.hpp"
#include "agent/json/json_cursor.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad::mysql {
namespace {

constexpr std::size_t kUnescapedAtOnce = 4096;  // bytes of a text

/// How a type of the search server is sent.
struct ColumnType {
  Type type = Type::string;
  bool is_unsigned = false;
};

/// The type of a column that the search server names so. The binary form has 32 bits as 64, since
/// some servers write negative numbers there.
ColumnType type_of_column(std::string_view name, Form form) {
  struct Named {
    std::string_view name;
    ColumnType sent;
  };
  constexpr std::array kTypes{
      Named{"long long", {Type::long64}},       Named{"long", {Type::long32, true}},
      Named{"uint", {Type::long32, true}},      Named{"bool", {Type::long32, true}},
      Named{"timestamp", {Type::long32, true}}, Named{"float", {Type::real32}},
      Named{"double", {Type::real64}},          Named{"decimal", {Type::decimal}},
  };
  const auto* const found = std::ranges::find(kTypes, name, &Named::name);
  if (found == kTypes.end()) return {};
  if (form == Form::binary && found->sent.type == Type::long32) return {Type::long64};
  return found->sent;
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

/// Size of the value as a text.
std::size_t text_size(std::string_view value) {
  const auto raw = raw_text(value);
  if (!has_escapes(value)) return raw.size();
  std::size_t size = 0;
  for (JsonText text(raw); text.next() >= 0;) ++size;
  return size;
}

/// Size of a value in the binary form; 0: it is sent as a text.
std::size_t binary_size(Type type) {
  if (type == Type::real32) return 4;
  return type == Type::long64 || type == Type::real64 ? 8 : 0;
}

/// The bits of a number in the binary form; nothing: the text is no such number. Whole numbers from
/// 2^63 on wrap, as those of the search server do.
std::optional<std::uint64_t> binary_number(std::string_view text, Type type) {
  if (type == Type::long64) {
    if (const auto number = number_in<std::int64_t>(text))
      return static_cast<std::uint64_t>(*number);
    return number_in<std::uint64_t>(text);
  }
  const auto number = number_in<double>(text);
  if (!number) return std::nullopt;
  return type == Type::real32 ? std::bit_cast<std::uint32_t>(static_cast<float>(*number))
                              : std::bit_cast<std::uint64_t>(*number);
}

}  // namespace

Results::Results(std::vector<ResultSet> sets, const Options& options)
    : options_(options), made_(std::move(sets)) {
  for (const auto& set : made_)
    if (!set.warning.empty()) warning_ = set.warning;
}

Results::Results(std::string_view json, const Options& options) : options_(options) {
  readable_ = read_.read_answer(json);
  if (auto finite = readable_ ? std::nullopt : without_infinities(json)) {
    finite_ = *std::move(finite);
    readable_ = read_.read_answer(finite_);
  }
  for (std::size_t set = 0; set < sets(); ++set)
    if (const auto warning = read_.set(0, set).warning; !warning.empty())
      warning_ = json_unescaped(warning);
}

bool Results::next(Writer& out, std::size_t enough) {
  if (sets() == 0 && !error_) fail(out, {.text = "the answer of a mirror cannot be read"});
  while (!error_ && set_ < sets()) {
    if (!write_row(out, enough) || out.out().size() >= enough) return true;
    if (interruption_) {
      fail(out, *std::move(interruption_));
      break;
    }
    if (!in_rows_ && !begin_set(out)) continue;
    switch (next_row()) {
      case RawRows::Step::row:
        begin_row(out);
        break;
      case RawRows::Step::end:
        end_set(out);
        break;
      case RawRows::Step::malformed:
        fail(out, {.text = "a row of an answer cannot be read"});
    }
  }
  return false;
}

/// Why the set is answered by an error; nothing: it is not.
std::optional<Error> Results::error_of(const RawSet& set) const {
  const auto unreadable = [](std::string why) { return Error{.text = std::move(why)}; };
  if (!set.error.empty()) return error_of_answer(500, json_unescaped(set.error));
  if (set.listed != 0 && options_.kind == ResultKind::count)
    return unreadable("the answer of a mirror to a change cannot be read: it has columns");
  if (set.listed == 0 && options_.kind == ResultKind::rows)
    return unreadable("the answer of a mirror cannot be read: it has no columns");
  if (set.listed == 0 && !set.total)
    return unreadable("the answer of a mirror cannot be read: it has neither columns nor a total");
  return std::nullopt;
}

/// Writes what precedes the rows. False: the set has no rows, and is complete.
bool Results::begin_set(Writer& out) {
  columns_.clear();
  if (readable_) {
    const auto& set = read_.set(0, set_);
    if (auto error = error_of(set)) {
      fail(out, *std::move(error));
      return false;
    }
    const auto columns = read_.all_columns_of(set);
    columns_.assign(columns.begin(), columns.end());
    rows_ = RawRowsByName(set.rows);
  } else {
    const auto& set = made_[set_];
    for (std::size_t c = 0; c < set.columns.size(); ++c)
      if (set.shows(c)) columns_.push_back(set.columns[c]);
  }
  begun_rows_ = 0;
  if (columns_.empty()) {
    auto ok = end_of_set();
    ok.affected = readable_ ? read_.set(0, set_).total.value_or(0) : 0;
    affected_ += ok.affected;
    ok.last_insert_id = options_.last_insert_id;
    write_ok(out, ok);
    ++set_;
    return false;
  }
  out.begin();
  out.length(columns_.size());
  out.end();
  types_.clear();
  for (const auto& column : columns_) {
    const auto [type, is_unsigned] = type_of_column(column.type, options_.form);
    types_.push_back(type);
    auto name = json_unescaped(column.name);
    for (const auto& spelled : options_.spelled)
      if (set_ == 0 && lower(spelled) == name) name = spelled;
    write_column(out, {.name = std::move(name),
                       .type = type,
                       .is_unsigned = is_unsigned,
                       .any_decimals = options_.form == Form::binary});
  }
  write_end_of_columns(out, options_.capabilities, {.status = options_.status});
  values_.resize(columns_.size());
  sent_.clear();
  begun_values_ = 0;
  in_rows_ = true;
  return true;
}

/// Reads the values of the next row.
RawRows::Step Results::next_row() {
  const auto number = begun_rows_++;
  if (readable_) return rows_.next(columns_, values_.data());
  const auto& set = made_[set_];
  if (number == set.count) return RawRows::Step::end;
  const auto row = set.row(number);
  values_.clear();
  for (std::size_t c = 0; c < row.size(); ++c)
    if (set.shows(c)) values_.push_back(row[c]);
  return RawRows::Step::row;
}

/// Begins the packets of the row that was read; write_row() writes its values.
void Results::begin_row(Writer& out) {
  constexpr std::size_t kFirstBit = 2;
  const bool binary = options_.form == Form::binary;
  sent_.clear();
  std::string nulls(binary ? 1 + (values_.size() + 7 + kFirstBit) / 8 : 0, '\0');
  auto size = nulls.size();
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const auto& sent = sent_.emplace_back(sent_value(values_[i], types_[i]));
    size += sent.size + sent.text_size;
    if (!binary || sent.size != 0) continue;
    const auto bit = i + kFirstBit;
    nulls[1 + bit / 8] |= static_cast<char>(1 << (bit % 8));
  }
  out.begin(size);
  out.bytes(nulls);
  begun_values_ = 0;
}

Results::SentValue Results::sent_value(std::string_view value, Type type) {
  const bool binary = options_.form == Form::binary;
  const SentValue null{.size = binary ? 0U : 1U, .number = 0xfb};
  if (value.empty() || value == "null" || is_infinity(value)) return null;
  if (const auto fixed = binary ? binary_size(type) : 0; fixed != 0) {
    const auto raw = raw_text(value);
    const auto number =
        has_escapes(value) ? binary_number(json_unescaped(raw), type) : binary_number(raw, type);
    return number ? SentValue{.size = fixed, .number = *number} : null;
  }
  const auto size = text_size(value);
  return {.size = length_size(size), .text_size = size, .is_text = true};
}

/// False: `out` has enough before the row has ended.
bool Results::write_row(Writer& out, std::size_t enough) {
  while (write_text(out, enough)) {
    if (begun_values_ == sent_.size()) return true;
    begin_value(out);
  }
  return false;
}

/// Writes the next value; of a text only the length, write_text() writes the rest.
void Results::begin_value(Writer& out) {
  const auto value = values_[begun_values_];
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
bool Results::write_text(Writer& out, std::size_t enough) {
  for (;;) {
    if (plain_.empty()) {
      scratch_.clear();
      for (int c = 0; scratch_.size() < kUnescapedAtOnce && (c = escaped_.next()) >= 0;)
        scratch_ += static_cast<char>(c);
      plain_ = scratch_;
    }
    if (plain_.empty()) return true;
    if (out.out().size() >= enough) return false;
    const auto piece = plain_.substr(0, enough - out.out().size());
    out.bytes(piece);
    plain_.remove_prefix(piece.size());
  }
}

void Results::end_set(Writer& out) {
  write_end(out, options_.capabilities, end_of_set());
  in_rows_ = false;
  ++set_;
}

void Results::fail(Writer& out, Error error) {
  write_error(out, error_.emplace(std::move(error)));
}

/// All sets answer one statement: each has its number of warnings.
Ok Results::end_of_set() const {
  const bool last = set_ + 1 == sets();
  const auto more = last && !options_.has_more ? std::uint16_t{} : status_flag::kMoreResults;
  return {.status = static_cast<std::uint16_t>(options_.status | more),
          .warnings = warning_.empty() ? options_.warnings : std::uint16_t{1}};
}

}  // namespace karmad::mysql
