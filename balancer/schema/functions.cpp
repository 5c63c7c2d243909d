#include "balancer/schema/translate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <variant>

#include "balancer/status/rows/like.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

constexpr std::size_t kLongestResult = 64 << 10;
constexpr std::size_t kLongestPattern = 1 << 10;

using Result = std::variant<std::monostate, std::int64_t, std::string>;

class Arguments {
 public:
  explicit Arguments(std::span<sqlite3_value*> values) : values_(values) {}

  std::size_t size() const { return values_.size(); }
  bool is_null(std::size_t i) const { return sqlite3_value_type(values_[i]) == SQLITE_NULL; }
  std::string_view text(std::size_t i) const {
    const auto* const text = sqlite3_value_text(values_[i]);
    if (text == nullptr) return {};
    return {reinterpret_cast<const char*>(text),
            static_cast<std::size_t>(sqlite3_value_bytes(values_[i]))};
  }
  double number(std::size_t i) const { return sqlite3_value_double(values_[i]); }
  std::size_t count(std::size_t i) const {
    return static_cast<std::size_t>(std::clamp(number(i), 0.0, 1e9));
  }

 private:
  std::span<sqlite3_value*> values_;
};

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

std::int64_t characters(std::string_view text) {
  return std::ranges::count_if(text, begins_character);
}

/// The bytes of the first characters.
std::size_t bytes_of(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  while (at < text.size() && (characters > 0 || !begins_character(text[at])))
    characters -= begins_character(text[at++]) ? 1 : 0;
  return at;
}

/// The place of `part`, from 1; 0: nowhere.
std::int64_t place(std::string_view part, std::string_view whole) {
  const auto at = lower(whole).find(lower(part));
  return at == std::string::npos ? 0 : characters(whole.substr(0, at)) + 1;
}

Result like(const Arguments& v) {
  std::string pattern(v.text(0).substr(0, kLongestPattern));
  if (v.size() > 2 && v.text(2).size() == 1 && v.text(2) != "\\")
    std::ranges::replace(pattern, v.text(2).front(), '\\');
  return std::int64_t{is_like(v.text(1), pattern)};
}

/// The texts from that one, without NULL.
std::string joined(const Arguments& v, std::size_t from, std::string_view between) {
  std::string all;
  bool first = true;
  for (auto i = from; i < v.size(); ++i) {
    if (v.is_null(i)) continue;
    all.append(std::exchange(first, false) ? "" : between).append(v.text(i));
  }
  return all;
}

Result substring_index(const Arguments& v) {
  const auto whole = v.text(0);
  const auto mark = v.text(1);
  auto parts = static_cast<int>(std::clamp(v.number(2), -1e6, 1e6));
  if (mark.empty() || parts == 0) return std::string();
  std::size_t at = parts > 0 ? 0 : whole.size();
  for (; parts > 0; --parts) {
    const auto found = whole.find(mark, at);
    if (found == whole.npos) return std::string(whole);
    at = found + mark.size();
    if (parts == 1) return std::string(whole.substr(0, found));
  }
  for (; parts < 0; ++parts) {
    const auto found = at == 0 ? whole.npos : whole.rfind(mark, at - 1);
    if (found == whole.npos) return std::string(whole);
    at = found;
  }
  return std::string(whole.substr(at + mark.size()));
}

Result field(const Arguments& v) {
  for (std::size_t i = 1; i < v.size(); ++i)
    if (lower(v.text(i)) == lower(v.text(0))) return static_cast<std::int64_t>(i);
  return std::int64_t{0};
}

Result nothing(const Arguments&) {
  return {};
}

struct Function {
  const char* name;
  int values;  ///< -1: any number
  Result (*call)(const Arguments&);
  bool takes_null = false;
};

/// Names with `_` stand for those of MySQL that SQLite cannot call so.
constexpr Function kFunctions[]{
    {"like", 2, like},
    {"like", 3, like},
    {"concat", -1, [](const Arguments& v) -> Result { return joined(v, 0, ""); }},
    {"concat_ws", -1,
     [](const Arguments& v) -> Result {
       if (v.size() == 0 || v.is_null(0)) return {};
       return joined(v, 1, v.text(0));
     },
     true},
    {"left_", 2,
     [](const Arguments& v) -> Result {
       return std::string(v.text(0).substr(0, bytes_of(v.text(0), v.count(1))));
     }},
    {"right_", 2,
     [](const Arguments& v) -> Result {
       const auto text = v.text(0);
       const auto all = static_cast<std::size_t>(characters(text));
       return std::string(text.substr(bytes_of(text, all - std::min(v.count(1), all))));
     }},
    {"length_", 1,
     [](const Arguments& v) -> Result { return static_cast<std::int64_t>(v.text(0).size()); }},
    {"locate", 2, [](const Arguments& v) -> Result { return place(v.text(0), v.text(1)); }},
    {"instr", 2, [](const Arguments& v) -> Result { return place(v.text(1), v.text(0)); }},
    {"floor", 1,
     [](const Arguments& v) -> Result {
       return static_cast<std::int64_t>(std::clamp(std::floor(v.number(0)), -9e18, 9e18));
     }},
    {"field", -1, field},
    {"substring_index", 3, substring_index},
    {"isnull_", 1, [](const Arguments& v) -> Result { return std::int64_t{v.is_null(0)}; }, true},
    // Of time zones and statistics, which are not known here.
    {"convert_tz", 3, nothing},
    {"json_extract", -1, nothing},
    {"icu_version", 0, nothing},
};

/// Functions that SQLite has.
constexpr std::array<std::string_view, 18> kOfSqlite{
    "count",  "sum",   "min",   "max",    "avg",    "group_concat", "iif",     "coalesce", "ifnull",
    "nullif", "upper", "lower", "substr", "length", "trim",         "replace", "round",    "abs"};

void call(sqlite3_context* context, int size, sqlite3_value** values) {
  const auto& [function, steps] =
      *static_cast<std::pair<const Function*, std::size_t*>*>(sqlite3_user_data(context));
  const Arguments arguments({values, static_cast<std::size_t>(size)});
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!function->takes_null && arguments.is_null(i)) return;
    bytes += arguments.text(i).size();
  }
  if (function->call == like)
    *steps += arguments.text(0).size() * arguments.text(1).size() / 8;
  else
    *steps += bytes / 64;
  if (*steps > kMostSchemaSteps) return sqlite3_interrupt(sqlite3_context_db_handle(context));
  const auto result = function->call(arguments);
  if (const auto* const number = std::get_if<std::int64_t>(&result))
    sqlite3_result_int64(context, *number);
  else if (const auto* const text = std::get_if<std::string>(&result))
    sqlite3_result_text(context, text->data(),
                        static_cast<int>(std::min(text->size(), kLongestResult)), SQLITE_TRANSIENT);
}

// GROUP_CONCAT(DISTINCT value SEPARATOR text): with DISTINCT, that of SQLite has no separator.
constexpr const char* kConcatDistinct = "group_concat_distinct_";

struct DistinctTexts {
  std::string joined;
  std::set<std::string> seen;  ///< without case
};

/// A pointer of the group, null at first; null itself without memory.
DistinctTexts** distinct_texts(sqlite3_context* context) {
  return static_cast<DistinctTexts**>(sqlite3_aggregate_context(context, sizeof(DistinctTexts*)));
}

void add_distinct(sqlite3_context* context, int size, sqlite3_value** values) {
  const Arguments arguments({values, static_cast<std::size_t>(size)});
  auto** const texts = distinct_texts(context);
  if (texts == nullptr || size == 0 || arguments.is_null(0)) return;
  const bool is_first = *texts == nullptr;
  if (is_first) *texts = new DistinctTexts;
  auto& [joined, seen] = **texts;
  if (joined.size() >= kLongestResult || !seen.insert(lower(arguments.text(0))).second) return;
  if (!is_first) joined.append(size > 1 ? arguments.text(1) : ",");
  joined.append(arguments.text(0));
}

void end_distinct(sqlite3_context* context) {
  auto** const kept = distinct_texts(context);
  if (kept == nullptr || *kept == nullptr) return;
  const std::unique_ptr<DistinctTexts> texts(*kept);
  sqlite3_result_text(context, texts->joined.data(),
                      static_cast<int>(std::min(texts->joined.size(), kLongestResult)),
                      SQLITE_TRANSIENT);
}

}  // namespace

void add_schema_functions(sqlite3* database, std::size_t& steps) {
  using Bound = std::pair<const Function*, std::size_t*>;
  for (const auto& function : kFunctions)
    sqlite3_create_function_v2(database, function.name, function.values,
                               SQLITE_UTF8 | SQLITE_DETERMINISTIC, new Bound(&function, &steps),
                               call, nullptr, nullptr,
                               [](void* bound) { delete static_cast<Bound*>(bound); });
  sqlite3_create_function_v2(database, kConcatDistinct, -1, SQLITE_UTF8, nullptr, nullptr,
                             add_distinct, end_distinct, nullptr);
}

bool is_schema_function(std::string_view name) {
  const auto wanted = lower(name);
  return std::ranges::find(kOfSqlite, wanted) != kOfSqlite.end() || wanted == kConcatDistinct ||
         std::ranges::any_of(kFunctions, [&](const Function& each) { return wanted == each.name; });
}

}  // namespace karmad
