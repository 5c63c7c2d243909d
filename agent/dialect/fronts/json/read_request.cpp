#include "agent/dialect/fronts/json/read_request.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "config/text/enum_names.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

constexpr auto kNames = []() consteval {
  auto names = enumerators<Property>().all();
  names[static_cast<std::size_t>(Property::source)] = "_source";
  return EnumNames<Property, kProperties>(names);
}
();

enum class Option : std::uint8_t {
  agent_query_timeout,
  retry_count,
  retry_delay,
  scroll,
  cutoff,
  max_matches
};
constexpr auto kOptionNames = enumerators<Option>();

/// Keys of a request whose values name tables.
constexpr std::array<std::string_view, 3> kTableKeys{"table", "index", "join"};

/// The one of kTableKeys that an engine may read this key as; empty: none.
std::string_view table_key_meant(std::string_view key) {
  const auto read = key.substr(0, key.find('\0'));
  for (const auto meant : kTableKeys)
    if (wire::same_word(read, meant)) return meant;
  return {};
}

/// Bounds the nesting of a text.
class NestingLimit : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, NestingLimit> {
 public:
  explicit NestingLimit(unsigned deepest) : left_(deepest) {}

  bool StartObject() { return StartArray(); }
  bool StartArray() { return left_-- != 0; }
  bool EndObject(rapidjson::SizeType size) { return EndArray(size); }
  bool EndArray(rapidjson::SizeType) { return ++left_ != 0; }

 private:
  unsigned left_;
};

/// Why a body is no JSON, or nests too deep; empty: it is neither.
std::string mistake_in_json(std::string_view body, unsigned deepest) {
  // Large enough for strings and nesting of ordinary requests, so that reading allocates nothing.
  alignas(16) char workspace[8192];
  rapidjson::MemoryPoolAllocator<> pool(workspace, sizeof workspace);
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::MemoryPoolAllocator<>>
      reader(&pool, 1024);
  rapidjson::MemoryStream stream(body.data(), body.size());
  NestingLimit limit(deepest);
  const auto parsed =
      reader.Parse<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseIterativeFlag |
                   rapidjson::kParseFullPrecisionFlag>(stream, limit);
  if (parsed.Code() == rapidjson::kParseErrorTermination)
    return fmt::format("nests deeper than max_json_depth = {} at offset {}", deepest,
                       parsed.Offset());
  if (parsed.IsError()) return why_not_json(body, parsed.Code(), parsed.Offset());
  if (stream.Tell() != body.size())  // the parser takes a zero byte as the end
    return fmt::format("is not JSON: a zero byte at offset {}", stream.Tell());
  return {};
}

/// Where a part of the body is in it.
ByteRange place_of(std::string_view part, std::string_view body) {
  const auto begin = static_cast<std::size_t>(part.data() - body.data());
  return {begin, begin + part.size()};
}

/// Notes karmad's members of `options`, if it is an object; returns why they are refused, or an
/// empty text.
std::string note_options(std::string_view options, std::string_view body, SearchRequest& request) {
  PassedMembers members(options);
  while (const auto member = members.next()) {
    const auto option = kOptionNames.find(json_unescaped(member->name));
    if (!option) continue;
    if (*option == Option::max_matches) {
      request.max_matches_option = place_of(member->value, body);
    } else if (*option == Option::cutoff) {
      request.cutoff_option = true;
    } else if (*option == Option::scroll) {
      if (request.scroll_option.found()) return "options.scroll is given twice";
      request.scroll_option = place_of(member->value, body);
    } else if (const auto why = set_query_option(request.options, kOptionNames[*option],
                                                 number_in<std::uint64_t>(member->value))) {
      return fmt::format("options.{} {}", kOptionNames[*option], *why);
    }
  }
  return {};
}

/// Notes a member of the request; `wrong`: why it is refused.
void note_property(Property property, std::string_view value, std::string_view body,
                   SearchRequest& request, std::string& wrong) {
  auto& place = request.properties[static_cast<std::size_t>(property)];
  if (place.found()) {
    wrong = fmt::format("\"{}\" is given twice", name(property));
    return;
  }
  place = place_of(value, body);
  if (property == Property::options) wrong = note_options(value, body, request);
  if (property != Property::table && property != Property::index) return;
  if (!is_string(value)) {
    wrong = fmt::format("\"{}\" must be a string with the name of one table", name(property));
  } else if (property == Property::table || !request[Property::table].found()) {
    request.table = without_quotes(value);
    if (request.table.contains('\\')) request.table = json_unescaped(request.table);
  }
}

/// Whether a body may have a number that is too large, though it has no exponent: of more than 300
/// digits a whole block are digits.
bool may_have_huge_number(std::string_view body) {
  constexpr std::size_t kBlock = 128;
  for (std::size_t at = 0; at + kBlock <= body.size(); at += kBlock)
    if (std::ranges::all_of(body.substr(at, kBlock), is_digit)) return true;
  return false;
}

/// Reads any body; returns why it is refused, or an empty text. Of nearly all bodies the cursor
/// reads the whole; those that it does not, or where JSON has further limits, RapidJSON judges.
std::string read(std::string_view body, unsigned max_depth, SearchRequest& request) {
  const auto deepest = std::min(max_depth, kDeepestRequest);
  JsonCursor json(body);
  JsonMembers members(json);
  bool plain = true;
  std::string wrong;
  while (auto key = members.next(R"("table":)", R"("query":)", R"("limit":)")) {
    const auto* const begin = json.at;
    auto value = take_value(json, {.deepest = deepest - 1, .plain = true});
    if (!value) {
      plain = false;
      json.at = begin;
      value = take_value(json);
    }
    if (!value) break;
    auto property = property_named(*key);
    std::string unescaped;
    if (!property && key->contains('\\')) {
      plain = false;
      key = unescaped = json_unescaped(*key);
      property = property_named(*key);
    }
    if (property)
      note_property(*property, *value, body, request, wrong);
    else if (may_name_property(*key) && may_name_table(*key))
      wrong = "the request " + why_key_is_refused(*key);
    else if (may_name_property(*key))
      request.odd_key = true;
    if (!wrong.empty()) break;
  }
  request.closing_brace = static_cast<std::size_t>(json.at - body.data()) - 1;
  skip_space(json);
  const bool whole = members.complete() && json.done();
  if (whole && plain && !may_have_huge_number(body)) return {};
  if (const auto mistake = mistake_in_json(body, deepest); !mistake.empty())
    return "the request " + mistake;
  return whole || !wrong.empty() ? wrong : "the request must be a JSON object";
}

/// Whether servers, which show such a name as it is, make a malformed answer of it.
bool breaks_answers(std::string_view raw) {
  if (!raw.contains('\\')) return false;
  return std::ranges::any_of(json_unescaped(raw),
                             [](char c) { return c == '"' || c == '\\' || (c >= 0 && c < ' '); });
}

/// The name of an aggregation, or of one of its sources, that breaks_answers().
std::optional<std::string_view> breaking_name(const PassedMembers::Member& aggregation) {
  if (breaks_answers(aggregation.name)) return aggregation.name;
  const auto sources = last_member(last_member(aggregation.value, "composite"), "sources");
  JsonCursor json(sources);
  JsonElements elements(json);
  while (elements.next()) {
    const auto source = PassedMembers(take_value(json).value_or("")).next();
    if (source && breaks_answers(source->name)) return source->name;
  }
  return std::nullopt;
}

/// Why a server does not answer, or not with JSON; empty: it does.
std::string mistake_in_aggregations(std::string_view aggregations) {
  PassedMembers members(aggregations);
  while (const auto member = members.next()) {
    if (is_object(member->value) && !PassedMembers(member->value).next())  // this ends a server
      return fmt::format("aggregation \"{}\" has no kind", json_unescaped(member->name));
    if (const auto name = breaking_name(*member))
      return fmt::format(
          "the name \"{}\" in \"aggs\" has a quote, a backslash or a control character, which "
          "search servers do not escape in their answers",
          json_unescaped(*name));
  }
  return {};
}

/// Reads a search into `parsed`; returns why it is refused, or an empty text.
std::string mistake_in_search(std::string_view body, unsigned max_depth, Parsed& parsed) {
  auto& request = parsed.what.emplace<SearchRequest>();
  if (auto wrong = read(body, max_depth, request); !wrong.empty()) return wrong;
  std::tie(parsed.table_place, parsed.other_place) = request.table_places();
  if (!parsed.table_place.found()) return "\"table\" is missing";
  if (request.table.empty()) return "\"table\" is empty";
  if (const auto join = request[Property::join]; join.found() && !is_off(join.in(body)))
    return fmt::format(
        R"("join" at offset {} names another table; a search reads only the table in "table")",
        join.begin);
  parsed.table = request.table;
  parsed.options = request.options;
  return mistake_in_aggregations(request[Property::aggs].in(body));
}

}  // namespace

std::string why_not_json(std::string_view text, rapidjson::ParseErrorCode found, std::size_t at) {
  std::string_view what = rapidjson::GetParseError_En(found);
  const auto begin = text.substr(0, 2);
  if (begin == "\xFF\xFE" || begin == "\xFE\xFF" || begin.contains('\0'))
    what = "It looks like UTF-16, and JSON is UTF-8.";
  else if (found == rapidjson::kParseErrorStringEscapeInvalid && at < text.size() &&
           static_cast<unsigned char>(text[at]) < ' ')
    what = "A control character in a string needs an escape, such as \\n or \\u0001.";
  return fmt::format("is not JSON: {} At offset {}.", what, at);
}

std::string_view name(Property property) {
  return kNames[property];
}

std::optional<Property> property_named(std::string_view key) {
  std::optional<Property> found;
  const auto is = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
    constexpr auto known = kNames.all()[i];  // of a size known here, which makes comparing cheap
    if (key.size() != known.size() || std::memcmp(key.data(), known.data(), known.size()) != 0)
      return false;
    found = static_cast<Property>(i);
    return true;
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (void)(is(std::integral_constant<std::size_t, i>{}) || ...);
  }
  (std::make_index_sequence<kProperties>{});
  return found;
}

bool may_name_table(std::string_view key) {
  const auto meant = table_key_meant(key);
  return !meant.empty() && meant != key;
}

bool may_name_property(std::string_view key) {
  const auto unusual = [](char c) { return c == '\0' || (c >= 'A' && c <= 'Z'); };
  // Nearly all keys are of small letters and `_`, which are above `Z`.
  char lowest = '_';
  for (const char c : key) lowest = std::min(lowest, c);
  if (lowest > 'Z' || std::ranges::none_of(key, unusual)) return false;
  const auto read = key.substr(0, key.find('\0'));
  return std::ranges::any_of(kNames.all(),
                             [read](std::string_view name) { return wire::same_word(read, name); });
}

std::string why_key_is_refused(std::string_view key) {
  const auto meant = table_key_meant(key);
  const auto shown = key.size() == meant.size()
                         ? fmt::format("the key \"{}\"", key)
                         : fmt::format("a key that begins with \"{}\" and a zero byte",
                                       key.substr(0, meant.size()));
  return fmt::format(
      "has {}, which some search servers read as \"{}\" and others do not; name the table with "
      "\"table\"",
      shown, meant);
}

bool is_off(std::string_view value) {
  return value == "false" || value == "null" || value == "0" || value == "\"\"";
}

OrError<Parsed> read_search(std::string_view body, unsigned max_depth) {
  OrError<Parsed> parsed;  // the only one, constructed in place
  if (auto wrong = mistake_in_search(body, max_depth, *parsed); !wrong.empty())
    parsed = refused(std::move(wrong));
  return parsed;
}

OrError<Parsed> read_completion(std::string_view body, unsigned max_depth) {
  auto parsed = read_search(body, max_depth);
  if (!parsed) return parsed;
  // The search server reads no other name of it here; without it a mirror would count as broken.
  if (!std::get<SearchRequest>(parsed->what)[Property::table].found())
    return refused("\"table\" is missing");
  parsed->what = Completion();
  return parsed;
}

OrError<Parsed> read_percolation(std::string_view table, std::string_view body,
                                 unsigned max_depth) {
  if (!is_object(trimmed(body, kJsonSpace))) return refused("the request must be a JSON object");
  if (const auto mistake = mistake_in_json(body, std::min(max_depth, kDeepestRequest));
      !mistake.empty())
    return refused("the request {}", mistake);
  int queries = 0;
  PassedMembers members(trimmed(body, kJsonSpace));
  while (const auto member = members.next()) {
    const auto key = json_unescaped(member->name);
    if (key == "query" && ++queries > 1) return refused("the request gives \"query\" twice");
    if (!table_key_meant(key).empty())
      return refused("the table is named in the path; leave \"{}\" out of the request", key);
  }
  return Parsed{.table = std::string(table), .planned = true, .options = {}, .what = Percolation()};
}

}  // namespace karmad
