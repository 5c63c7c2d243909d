#include "demo/sql/functions.hpp"

#include <fmt/chrono.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <iterator>
#include <numbers>
#include <sstream>

#include "demo/data/text.hpp"
#include "demo/language/dates.hpp"
#include "demo/sql/cell_text.hpp"

namespace karmad::demo {

namespace {

using Cells = std::span<const Cell>;

std::int64_t whole_of_cell(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  return static_cast<std::int64_t>(number_of_cell(cell));
}

/// A text as a number.
Cell read_number(const Cell& cell) {
  return to_cell(numeric(to_value(cell)));
}

Cell keep_whole(const Cell& cell, double (*real)(double)) {
  if (std::holds_alternative<std::int64_t>(cell)) return cell;
  return static_cast<std::int64_t>(real(number_of_cell(cell)));
}

Cell extreme(Cells all, bool largest) {
  if (all.size() == 1) {
    const auto* tags = std::get_if<Tags>(&all[0]);
    if (tags == nullptr || tags->empty()) return tags == nullptr ? all[0] : Cell{};
    return largest ? *std::ranges::max_element(*tags) : *std::ranges::min_element(*tags);
  }
  const auto less = [](const Cell& a, const Cell& b) {
    return number_of_cell(a) < number_of_cell(b);
  };
  return largest ? *std::ranges::max_element(all, less) : *std::ranges::min_element(all, less);
}

Cell interval_of(Cells all) {
  const auto x = number_of_cell(all[0]);
  const auto above = std::ranges::count_if(
      all.subspan(1), [&](const Cell& bound) { return x >= number_of_cell(bound); });
  return static_cast<std::int64_t>(above);
}

Cell is_one_of(Cells all) {
  const auto fits = [&](const Cell& wanted) {
    if (const auto* tags = std::get_if<Tags>(&all[0]))
      return std::ranges::find(*tags, whole_of_cell(wanted)) != tags->end();
    return compare(to_value(all[0]), to_value(wanted)) == 0;
  };
  return std::int64_t{std::ranges::any_of(all.subspan(1), fits)};
}

std::uint32_t crc32_of(std::string_view text) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0);
  }
  return ~crc;
}

double units_of(std::string_view out) {
  if (out == "km" || out == "kilometers") return 1000;
  if (out == "feet" || out == "ft") return 0.3048;
  if (out == "miles" || out == "mi") return 1609.344;
  return 1;
}

/// geodist(lat, lon, lat, lon [, in, out]): the options are added by the reader as texts.
Cell geodist(Cells all) {
  std::array<double, 4> angles{};
  const auto text = [&](std::size_t i) {
    const auto* found = all.size() > i ? std::get_if<std::string>(&all[i]) : nullptr;
    return found == nullptr ? std::string_view{} : std::string_view(*found);
  };
  const bool degrees = text(4).starts_with("deg");
  for (std::size_t i = 0; i < 4; ++i)
    angles[i] = number_of_cell(all[i]) * (degrees ? std::numbers::pi / 180 : 1);
  return metres_between(angles[0], angles[1], angles[2], angles[3]) / units_of(text(5));
}

Cell part_of_time(const Cell& cell, std::size_t begin, std::size_t size) {
  // 2023-11-14T22:13:20…
  const auto text = date_text(whole_of_cell(cell));
  return number_of<std::int64_t>(std::string_view(text).substr(begin, size)).value_or(0);
}

std::string formatted(const Cell& cell, const std::string& format) {
  try {
    return fmt::format(fmt::runtime(format),
                       fmt::gmtime(static_cast<std::time_t>(whole_of_cell(cell))));
  } catch (const fmt::format_error&) {
    return {};
  }
}

Cell formatted_number(const Cell& cell, const std::string& format) {
  return number_of<std::int64_t>(formatted(cell, format)).value_or(0);
}

/// The sum of the arguments behind the first whose bit is set in it.
Cell bits_of(Cells all) {
  std::int64_t out = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    if ((whole_of_cell(all[0]) >> (i - 1) & 1) != 0) out += whole_of_cell(all[i]);
  return out;
}

Cell length_of(Cells all) {
  if (const auto* tags = std::get_if<Tags>(&all[0])) return static_cast<std::int64_t>(tags->size());
  if (const auto* text = std::get_if<std::string>(&all[0]))
    return static_cast<std::int64_t>(text->size());
  if (const auto* json = std::get_if<JsonText>(&all[0])) {
    rapidjson::Document read;
    read.Parse<rapidjson::kParseIterativeFlag>(json->text.c_str());
    return std::int64_t{read.IsArray() ? read.Size() : read.IsObject() ? read.MemberCount() : 0};
  }
  return std::int64_t{0};
}

Cell joined_numbers(Cells all) {
  std::string out;
  for (const auto& cell : all) out += fmt::format("{} ", number_of_cell(cell));
  return out;
}

/// Whether a point is in a polygon, a text of the numbers of its corners: it is, where a ray from
/// it crosses the sides an odd number of times.
Cell contains(Cells all) {
  std::istringstream text(plain_text(all[0]));
  const std::vector<double> at{std::istream_iterator<double>(text), {}};
  const auto x = number_of_cell(all[1]);
  const auto y = number_of_cell(all[2]);
  bool inside = false;
  for (std::size_t i = 0, last = at.size() - 2; i + 1 < at.size(); last = i, i += 2)
    if ((at[i + 1] > y) != (at[last + 1] > y) &&
        x < (at[last] - at[i]) * (y - at[i + 1]) / (at[last + 1] - at[i + 1]) + at[i])
      inside = !inside;
  return std::int64_t{inside};
}

/// An option of ";name=value;name=value"; empty: it has none.
std::string_view option_of(const Cell& options, std::string_view name) {
  const auto* text = std::get_if<std::string>(&options);
  const auto key = fmt::format(";{}=", name);
  const auto at = text == nullptr ? std::string::npos : text->find(key);
  if (at == std::string::npos) return {};
  const auto rest = std::string_view(*text).substr(at + key.size());
  return rest.substr(0, rest.find(';'));
}

/// The number of the first range that holds the value; behind the last one without.
Cell range_of(Cells all) {
  const auto x = number_of_cell(all[0]);
  const auto out = std::ranges::find_if(all.subspan(1), [&](const Cell& range) {
    const auto from = number_of<double>(option_of(range, "range_from"));
    const auto to = number_of<double>(option_of(range, "range_to"));
    return (!from || x >= *from) && (!to || x < *to);
  });
  return std::int64_t{out - all.begin() - 1};
}

bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

/// With a whole step a number of 32 bits without a sign.
Cell histogram_of(Cells all) {
  if (!is_number(all[0])) return {};
  const auto step = number_of<double>(option_of(all[1], "hist_interval")).value_or(1);
  const auto offset = number_of<double>(option_of(all[1], "hist_offset")).value_or(0);
  const auto key = std::floor((number_of_cell(all[0]) - offset) / step) * step + offset;
  if (step != std::floor(step) || offset != std::floor(offset)) return key;
  if (std::abs(key) >= 0x1p31) return std::int64_t{0x8000'0000};
  return std::int64_t{static_cast<std::uint32_t>(static_cast<std::int64_t>(key))};
}

Cell date_histogram_of(Cells all) {
  if (!is_number(all[0])) return {};
  const auto step = read_step(option_of(all[1], "calendar_interval"));
  if (step.seconds <= 0) return start_of(step.calendar, whole_of_cell(all[0]));
  return static_cast<std::int64_t>(std::floor(number_of_cell(all[0]) / step.seconds) *
                                   step.seconds);
}

enum class Gives : std::uint8_t { whole, bigint, real, exact, text, widest, integral };

struct SqlFunction {
  std::string_view name;
  std::size_t least, most;  ///< number of arguments
  Gives gives;
  Cell (*call)(Cells);
};

constexpr std::size_t kMany = 1000;

const SqlFunction kFunctions[] = {
    {"weight", 0, 0, Gives::bigint, nullptr},
    {"knn_dist", 0, 0, Gives::real, nullptr},
    {"hybrid_score", 0, 0, Gives::exact, nullptr},
    {"rand", 0, 0, Gives::bigint, nullptr},
    {"scattered", 0, 0, Gives::bigint, nullptr},
    {"groupby", 0, 0, Gives::bigint, nullptr},
    {"highlight", 0, 3, Gives::text, nullptr},
    {"snippet", 2, 9, Gives::text, nullptr},
    {"any", 1, 1, Gives::whole, nullptr},
    {"any for", 2, 2, Gives::whole, nullptr},
    {"all for", 2, 2, Gives::whole, nullptr},
    {"indexof for", 2, 2, Gives::bigint, nullptr},
    {"geopoly2d", 6, kMany, Gives::text, joined_numbers},
    {"contains", 3, 3, Gives::whole, contains},
    {"range", 2, kMany, Gives::whole, range_of},
    {"histogram", 2, 2, Gives::whole, histogram_of},
    {"date_histogram", 2, 2, Gives::whole, date_histogram_of},
    {"all", 1, 1, Gives::whole, nullptr},
    {"regex", 2, 2, Gives::whole, nullptr},
    {"abs", 1, 1, Gives::widest,
     [](Cells all) -> Cell {
       if (const auto* whole = std::get_if<std::int64_t>(all.data())) return std::abs(*whole);
       return std::abs(number_of_cell(all[0]));
     }},
    {"ceil", 1, 1, Gives::integral, [](Cells all) { return keep_whole(all[0], std::ceil); }},
    {"floor", 1, 1, Gives::integral, [](Cells all) { return keep_whole(all[0], std::floor); }},
    {"sqrt", 1, 1, Gives::real,
     [](Cells all) -> Cell { return std::sqrt(std::max(0.0, number_of_cell(all[0]))); }},
    {"ln", 1, 1, Gives::real,
     [](Cells all) -> Cell {
       const auto x = number_of_cell(all[0]);
       return x <= 0 ? 0.0 : std::log(x);
     }},
    {"pow", 2, 2, Gives::real,
     [](Cells all) -> Cell { return std::pow(number_of_cell(all[0]), number_of_cell(all[1])); }},
    {"idiv", 2, 2, Gives::integral,
     [](Cells all) -> Cell {
       const auto by = whole_of_cell(all[1]);
       return by == 0 ? std::int64_t{0} : whole_of_cell(all[0]) / by;
     }},
    {"if", 3, 3, Gives::widest, [](Cells all) { return is_true(all[0]) ? all[1] : all[2]; }},
    {"in", 2, kMany, Gives::whole, is_one_of},
    {"interval", 2, kMany, Gives::whole, interval_of},
    {"least", 1, kMany, Gives::widest, [](Cells all) { return extreme(all, false); }},
    {"greatest", 1, kMany, Gives::widest, [](Cells all) { return extreme(all, true); }},
    {"geodist", 4, 6, Gives::real, geodist},
    {"length", 1, 1, Gives::whole, length_of},
    {"bigint", 1, 1, Gives::bigint,
     [](Cells all) -> Cell { return whole_of_cell(read_number(all[0])); }},
    {"integer", 1, 1, Gives::bigint,
     [](Cells all) -> Cell { return whole_of_cell(read_number(all[0])); }},
    {"sint", 1, 1, Gives::bigint,
     [](Cells all) -> Cell {
       return std::int64_t{static_cast<std::int32_t>(whole_of_cell(all[0]))};
     }},
    {"uint", 1, 1, Gives::whole,
     [](Cells all) -> Cell {
       return std::int64_t{static_cast<std::uint32_t>(whole_of_cell(all[0]))};
     }},
    {"double", 1, 1, Gives::real,
     [](Cells all) -> Cell { return number_of_cell(read_number(all[0])); }},
    {"float", 1, 1, Gives::real, [](Cells all) -> Cell { return number_of_cell(all[0]); }},
    {"to_string", 1, 1, Gives::text, [](Cells all) -> Cell { return plain_text(all[0]); }},
    {"concat", 1, kMany, Gives::text,
     [](Cells all) -> Cell {
       std::string out;
       for (const auto& cell : all) out += plain_text(cell);
       return out;
     }},
    {"lower", 1, 1, Gives::text,
     [](Cells all) -> Cell { return folded(plain_text(all[0]), false); }},
    {"upper", 1, 1, Gives::text,
     [](Cells all) -> Cell { return folded(plain_text(all[0]), true); }},
    {"levenshtein", 2, 3, Gives::whole,
     [](Cells all) -> Cell {
       return static_cast<std::int64_t>(edit_distance(plain_text(all[0]), plain_text(all[1])));
     }},
    {"zonespanlist", 0, 0, Gives::text, [](Cells) -> Cell { return std::string(); }},
    {"bm25f", 2, 3, Gives::real, [](Cells) -> Cell { return 0.0; }},
    {"bitdot", 2, kMany, Gives::bigint, bits_of},
    {"crc32", 1, 1, Gives::whole,
     [](Cells all) -> Cell { return std::int64_t{crc32_of(plain_text(all[0]))}; }},
    {"year", 1, 1, Gives::whole, [](Cells all) { return part_of_time(all[0], 0, 4); }},
    {"month", 1, 1, Gives::whole, [](Cells all) { return part_of_time(all[0], 5, 2); }},
    {"day", 1, 1, Gives::whole, [](Cells all) { return part_of_time(all[0], 8, 2); }},
    {"hour", 1, 1, Gives::whole, [](Cells all) { return part_of_time(all[0], 11, 2); }},
    {"minute", 1, 1, Gives::whole, [](Cells all) { return part_of_time(all[0], 14, 2); }},
    {"second", 1, 1, Gives::whole, [](Cells all) { return part_of_time(all[0], 17, 2); }},
    {"yearmonth", 1, 1, Gives::whole,
     [](Cells all) -> Cell {
       return 100 * std::get<std::int64_t>(part_of_time(all[0], 0, 4)) +
              std::get<std::int64_t>(part_of_time(all[0], 5, 2));
     }},
    {"quarter", 1, 1, Gives::whole,
     [](Cells all) -> Cell {
       return (std::get<std::int64_t>(part_of_time(all[0], 5, 2)) + 2) / 3;
     }},
    {"week", 1, 2, Gives::whole, [](Cells all) { return formatted_number(all[0], "{:%U}"); }},
    {"date_format", 2, 2, Gives::text,
     [](Cells all) -> Cell { return formatted(all[0], "{:" + plain_text(all[1]) + "}"); }},
    {"date_add", 2, 3, Gives::bigint,
     [](Cells all) -> Cell { return whole_of_cell(all[0]) + whole_of_cell(all[1]); }},
    {"now", 0, 0, Gives::whole,
     [](Cells) -> Cell { return static_cast<std::int64_t>(std::time(nullptr)); }},
    {"version", 0, 0, Gives::text, [](Cells) -> Cell { return std::string(KARMAD_VERSION); }},
    {"database", 0, 0, Gives::text, [](Cells) -> Cell { return std::string("Manticore"); }},
    {"connection_id", 0, 0, Gives::bigint, [](Cells) -> Cell { return std::int64_t{1}; }},
};

const SqlFunction* find_function(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &SqlFunction::name);
  return found == std::end(kFunctions) ? nullptr : found;
}

CellType scalar_type(CellType type) {
  return type == CellType::multi || type == CellType::member ? CellType::whole : type;
}

}  // namespace

CellType common_type(std::span<const Expression> arguments) {
  auto out = CellType::whole;
  for (const auto& argument : arguments) {
    const bool wide =
        argument.kind == Expression::Kind::column && argument.column.type == Type::multi64;
    out = std::max(out, wide ? CellType::bigint : scalar_type(argument.type));
  }
  return out;
}

std::optional<CellType> function_type(std::string_view name,
                                      std::span<const Expression> arguments) {
  const auto* function = find_function(name);
  if ((name == "min" || name == "max") && arguments.size() > 1) return common_type(arguments);
  if (function == nullptr || arguments.size() < function->least ||
      arguments.size() > function->most)
    return std::nullopt;
  switch (function->gives) {
    case Gives::whole:
      return CellType::whole;
    case Gives::bigint:
      return CellType::bigint;
    case Gives::real:
      return CellType::real;
    case Gives::exact:
      return CellType::exact;
    case Gives::text:
      return CellType::text;
    case Gives::widest:
      return common_type(name == "if" ? arguments.subspan(1) : arguments);
    case Gives::integral:
      return common_type(arguments) == CellType::whole ? CellType::whole : CellType::bigint;
  }
  return std::nullopt;
}

Cell call_function(std::string_view name, std::span<const Cell> arguments) {
  if (name == "min" || name == "max") return extreme(arguments, name == "max");
  const auto* function = find_function(name);
  if (function == nullptr || function->call == nullptr) return {};
  return function->call(arguments);
}

}  // namespace karmad::demo
