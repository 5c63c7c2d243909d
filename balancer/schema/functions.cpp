// The functions and operators of expressions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "balancer/schema/rows.hpp"
#include "balancer/status/rows/like.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

using Value = SchemaValue;
using Values = std::vector<Value>;
using Kind = Value::Kind;

constexpr std::size_t kLongestText = 64 << 10;

std::optional<std::int64_t> integer(const Value& value) {
  std::int64_t number = 0;
  const auto* const end = value.text.data() + value.text.size();
  const auto read = std::from_chars(value.text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

Value of_double(double number) {
  if (std::isfinite(number) && number == std::floor(number) && std::abs(number) < 1e15)
    return Value::of_number(static_cast<std::int64_t>(number));
  return std::isfinite(number) ? Value{Kind::number, fmt::format("{}", number)} : Value{};
}

Value truth(bool is) {
  return Value::of_number(is ? 1 : 0);
}

Value text(std::string value) {
  value.resize(std::min(value.size(), kLongestText));
  return {Kind::text, std::move(value)};
}

bool any_null(const Values& values) {
  return std::ranges::any_of(values, &Value::is_null);
}

std::size_t count(const Value& value) {
  return static_cast<std::size_t>(std::clamp(value.number(), 0.0, 1e9));
}

std::string upper(std::string text) {
  for (auto& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

/// The place of `part`, from 1; 0: nowhere.
std::int64_t place(const std::string& part, const std::string& whole) {
  const auto at = lower(whole).find(lower(part));
  return at == std::string::npos ? 0 : static_cast<std::int64_t>(at) + 1;
}

// ---- functions of values; those in the second table get no NULL

Value add(Values& v) {
  return of_double(v[0].number() + v[1].number());
}
Value subtract(Values& v) {
  return of_double(v[0].number() - v[1].number());
}
Value multiply(Values& v) {
  return of_double(v[0].number() * v[1].number());
}
Value divide(Values& v) {
  return of_double(v[0].number() / v[1].number());
}
Value modulo(Values& v) {
  return of_double(std::fmod(v[0].number(), v[1].number()));
}
Value equal(Values& v) {
  return truth(compare(v[0], v[1]) == 0);
}
Value unequal(Values& v) {
  return truth(compare(v[0], v[1]) != 0);
}
Value less(Values& v) {
  return truth(compare(v[0], v[1]) < 0);
}
Value less_or_equal(Values& v) {
  return truth(compare(v[0], v[1]) <= 0);
}
Value more(Values& v) {
  return truth(compare(v[0], v[1]) > 0);
}
Value more_or_equal(Values& v) {
  return truth(compare(v[0], v[1]) >= 0);
}
Value like(Values& v) {
  auto pattern = v[1].text;
  if (v.size() > 2 && v[2].text.size() == 1 && v[2].text != "\\")
    std::ranges::replace(pattern, v[2].text.front(), '\\');
  return truth(is_like(v[0].text, pattern));
}
Value negate(Values& v) {
  return truth(!v[0].is_true());
}
Value exclusive(Values& v) {
  return truth(v[0].is_true() != v[1].is_true());
}
Value concat(Values& v) {
  std::string all;
  for (const auto& value : v) all += value.text;
  return text(std::move(all));
}
Value to_upper(Values& v) {
  return text(upper(std::move(v[0].text)));
}
Value to_lower(Values& v) {
  return text(lower(v[0].text));
}
Value substring(Values& v) {
  const auto& whole = v[0].text;
  const auto size = static_cast<double>(whole.size());
  auto begin = v[1].number();
  if (begin < 0) begin += size + 1;
  if (begin < 1 || begin > size) return text({});
  const auto length = v.size() > 2 ? count(v[2]) : whole.size();
  return text(whole.substr(static_cast<std::size_t>(begin) - 1, length));
}
Value left(Values& v) {
  return text(v[0].text.substr(0, count(v[1])));
}
Value right(Values& v) {
  const auto size = std::min(count(v[1]), v[0].text.size());
  return text(v[0].text.substr(v[0].text.size() - size));
}
Value locate(Values& v) {
  return Value::of_number(place(v[0].text, v[1].text));
}
Value position(Values& v) {
  return Value::of_number(place(v[1].text, v[0].text));
}
Value length(Values& v) {
  return Value::of_number(static_cast<std::int64_t>(v[0].text.size()));
}
Value trim(Values& v) {
  return text(std::string(trimmed(std::string_view(v[0].text))));
}
Value replace(Values& v) {
  if (v[1].text.empty()) return v[0];
  std::string out;
  const std::string_view whole = v[0].text;
  for (std::size_t at = 0; at < whole.size() && out.size() < kLongestText;) {
    const bool found = whole.substr(at).starts_with(v[1].text);
    out += found ? std::string_view(v[2].text) : whole.substr(at, 1);
    at += found ? v[1].text.size() : 1;
  }
  return text(std::move(out));
}
Value substring_index(Values& v) {
  const std::string_view whole = v[0].text;
  const std::string_view mark = v[1].text;
  auto parts = static_cast<int>(std::clamp(v[2].number(), -1e6, 1e6));
  if (mark.empty() || parts == 0) return text({});
  std::size_t at = parts > 0 ? 0 : whole.size();
  for (; parts > 0; --parts) {
    const auto found = whole.find(mark, at);
    if (found == whole.npos) return v[0];
    at = found + mark.size();
    if (parts == 1) return text(std::string(whole.substr(0, found)));
  }
  for (; parts < 0; ++parts) {
    const auto found = at == 0 ? whole.npos : whole.rfind(mark, at - 1);
    if (found == whole.npos) return v[0];
    at = found;
  }
  return text(std::string(whole.substr(at + mark.size())));
}
Value to_integer(Values& v) {
  return of_double(std::round(v[0].number()));
}
Value floor(Values& v) {
  return of_double(std::floor(v[0].number()));
}
Value to_text(Values& v) {
  return text(std::move(v[0].text));
}
Value least(Values& v) {
  return *std::ranges::min_element(v, [](auto& a, auto& b) { return compare(a, b) < 0; });
}
Value greatest(Values& v) {
  return *std::ranges::max_element(v, [](auto& a, auto& b) { return compare(a, b) < 0; });
}
Value field(Values& v) {
  for (std::size_t i = 1; i < v.size(); ++i)
    if (compare(v[0], v[i]) == 0) return Value::of_number(static_cast<std::int64_t>(i));
  return Value::of_number(0);
}

Value is_null(Values& v) {
  return truth(v[0].is_null());
}
Value is_true(Values& v) {
  return truth(v[0].is_true());
}
Value equal_or_null(Values& v) {
  return truth(v[0].is_null() || v[1].is_null() ? v[0].is_null() == v[1].is_null()
                                                : compare(v[0], v[1]) == 0);
}
Value first_of(Values& v) {
  const auto found = std::ranges::find_if(v, [](auto& value) { return !value.is_null(); });
  return found == v.end() ? Value{} : *found;
}
Value null_if(Values& v) {
  return !v[1].is_null() && !v[0].is_null() && compare(v[0], v[1]) == 0 ? Value{} : v[0];
}
Value in(Values& v) {
  if (v[0].is_null()) return {};
  for (std::size_t i = 1; i < v.size(); ++i)
    if (!v[i].is_null() && compare(v[0], v[i]) == 0) return truth(true);
  return truth(false);
}
Value concat_with(Values& v) {
  std::string all;
  bool first = true;
  for (std::size_t i = 1; i < v.size(); ++i) {
    if (v[i].is_null()) continue;
    all.append(std::exchange(first, false) ? "" : v[0].text).append(v[i].text);
  }
  return text(std::move(all));
}
Value nothing(Values&) {
  return {};
}

struct Function {
  std::string_view name;
  Value (*call)(Values&);
  std::size_t least = 1;  ///< number of values
  std::size_t most = 1;
  bool number = false;
  bool takes_null = false;
};

constexpr std::size_t kAny = 1000;
constexpr std::array kFunctions{
    Function{"+", add, 2, 2, true},
    Function{"-", subtract, 2, 2, true},
    Function{"*", multiply, 2, 2, true},
    Function{"/", divide, 2, 2, true},
    Function{"%", modulo, 2, 2, true},
    Function{"=", equal, 2, 2, true},
    Function{"<>", unequal, 2, 2, true},
    Function{"<", less, 2, 2, true},
    Function{"<=", less_or_equal, 2, 2, true},
    Function{">", more, 2, 2, true},
    Function{">=", more_or_equal, 2, 2, true},
    Function{"like", like, 2, 3, true},
    Function{"not", negate, 1, 1, true},
    Function{"xor", exclusive, 2, 2, true},
    Function{"concat", concat, 1, kAny},
    Function{"upper", to_upper},
    Function{"ucase", to_upper},
    Function{"lower", to_lower},
    Function{"lcase", to_lower},
    Function{"substring", substring, 2, 3},
    Function{"substr", substring, 2, 3},
    Function{"mid", substring, 2, 3},
    Function{"left", left, 2, 2},
    Function{"right", right, 2, 2},
    Function{"locate", locate, 2, 2, true},
    Function{"instr", position, 2, 2, true},
    Function{"length", length, 1, 1, true},
    Function{"char_length", length, 1, 1, true},
    Function{"character_length", length, 1, 1, true},
    Function{"trim", trim},
    Function{"replace", replace, 3, 3},
    Function{"substring_index", substring_index, 3, 3},
    Function{"integer", to_integer, 1, 1, true},
    Function{"round", to_integer, 1, 2, true},
    Function{"floor", floor, 1, 1, true},
    Function{"char", to_text},
    Function{"least", least, 2, kAny},
    Function{"greatest", greatest, 2, kAny},
    Function{"field", field, 2, kAny, true},
    Function{"is null", is_null, 1, 1, true, true},
    Function{"isnull", is_null, 1, 1, true, true},
    Function{"is true", is_true, 1, 1, true, true},
    Function{"<=>", equal_or_null, 2, 2, true, true},
    Function{"ifnull", first_of, 2, 2, false, true},
    Function{"coalesce", first_of, 1, kAny, false, true},
    Function{"nullif", null_if, 2, 2, false, true},
    Function{"in", in, 1, kAny, true, true},
    Function{"concat_ws", concat_with, 2, kAny, false, true},
    // Of time zones and statistics, which are not known here.
    Function{"convert_tz", nothing, 3, 3},
    Function{"json_extract", nothing, 2, kAny},
    Function{"icu_version", nothing, 0, 0},
};

std::optional<Value> fact(std::string_view name, const SchemaFacts& facts) {
  if (name == "database" || name == "schema") return Value::of_text(facts.schema);
  if (name == "version") return Value::of_text(facts.version);
  if (name == "connection_id") return Value::of_number(facts.connection);
  if (name == "last_insert_id") return Value{Kind::number, fmt::format("{}", facts.last_insert_id)};
  if (name == "user" || name == "current_user" || name == "session_user" || name == "system_user")
    return Value::of_text(facts.user);
  if (name == "current_role") return Value::of_text("NONE");
  return std::nullopt;
}

}  // namespace

bool SchemaValue::is_true() const {
  return kind != Kind::null && number() != 0;
}

double SchemaValue::number() const {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int compare(const SchemaValue& a, const SchemaValue& b) {
  const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : x == y ? 0 : 1; };
  if (a.kind == Kind::text && b.kind == Kind::text) return order(lower(a.text), lower(b.text));
  const auto left = integer(a);
  const auto right = integer(b);
  return left && right ? order(*left, *right) : order(a.number(), b.number());
}

bool gives_number(std::string_view function) {
  constexpr std::array<std::string_view, 7> kOthers{
      "and", "or", "count", "sum", "connection_id", "last_insert_id", "avg"};
  const auto* const found = std::ranges::find(kFunctions, function, &Function::name);
  return found != kFunctions.end() ? found->number
                                   : std::ranges::find(kOthers, function) != kOthers.end();
}

bool asks_connection(const SchemaExpression& expression) {
  if (expression.is == SchemaExpression::Is::variable) return true;
  if (expression.is == SchemaExpression::Is::call && fact(expression.name, {})) return true;
  return std::ranges::any_of(expression.parts, asks_connection);
}

std::optional<SchemaValue> call_schema_function(std::string_view name, Values& values,
                                                const SchemaFacts& facts) {
  if (values.empty())
    if (auto value = fact(name, facts)) return value;
  const auto* const found = std::ranges::find(kFunctions, name, &Function::name);
  if (found == kFunctions.end() || values.size() < found->least || values.size() > found->most)
    return std::nullopt;
  if (!found->takes_null && any_null(values)) return Value{};
  return found->call(values);
}

}  // namespace karmad
