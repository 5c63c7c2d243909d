#include "agent/dialect/manticore_json/blame.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace karmad {
namespace {

/// Lower-case phrases for trouble of a server, or of one behind it. Checked first, so that in a
/// joined message for several tables trouble outweighs a mistake in the query.
constexpr std::string_view kTrouble[] = {
    "unknown local table",  // karmad chose that name
    "no such table",        // the same in other releases
    "unknown table",
    "no enabled tables",
    "table not found",
    "timed out",  // query or connect, to a server behind it
    "retries limit exceeded",
    "connection refused",
    "receiving failure",
    "sending failure",
    "failed to read",
    "failed to receive http request",  // it shuts down while the request arrives, and sends 400
    "got sigterm",
    "out of memory",
    "too many requests",
    "maxed out",
    "server shutdown",
    "internal error",
};

/// Lower-case phrases for mistakes in the query.
constexpr std::string_view kMistakes[] = {
    "syntax error",    // P01: SQL, P08: full-text
    "query error",     // full-text: operators, length, wildcards
    "unknown column",  // filter, sort or select
    "unknown option",
    "unknown sort",
    "unknown ranker",
    "unknown function",
    "unknown field",
    "no such filter attribute",
    "sort-by attribute",  // … not found
    "sort-by:",
    "group-by attribute",
    "group by attribute",
    "order by mva is undefined",
    "can not aggregate non-scalar attribute",
    "ambiguous attribute type",
    "must be unique",  // alias '…' …
    "re2: error parsing",
    "requested knn search attribute",  // … not found
    "requires a vector of",            // KNN index 'x' … 4 entries
    "no field",                        // … found in schema
    "no such field",
    "not found in schema",
    "is not supported",
    "not supported",
    "unsupported",
    "only select queries",
    "property missing",
    "property value should be",
    "property should be",
    "unable to parse",
    "parse error",
    "invalid",
    "out of bounds",
    "must be greater than",
    "cannot be used",
    "query is too complex",
    "query missing",
    "without buddy",  // 501: /cli, and the mirror has no helper process for it
};

/// Bytes of an error that are searched; errors are short.
constexpr std::size_t kLongestError = 16 << 10;
/// Bytes of a request that are searched, so that many phrases take less than some ms.
constexpr std::size_t kLongestRequest = 32 << 10;

constexpr char folded(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<unsigned> hex(std::string_view digits) {
  unsigned value = 0;
  for (const char digit : digits) {
    const auto c = folded(digit);
    if (is_digit(c)) {
      value = value * 16 + static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<unsigned>(c - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

/// The byte encoded at the beginning of `text`, and the length of its escape: of a URL (`%20`, `+`)
/// or of JSON (a backslash, or `u0020` after one). Non-ASCII becomes 0.
struct Unescaped {
  char byte;
  std::size_t length;
};
Unescaped unescaped(std::string_view text) {
  const auto code = [&](std::size_t from, std::size_t digits) -> std::optional<Unescaped> {
    if (text.size() < from + digits) return std::nullopt;
    const auto value = hex(text.substr(from, digits));
    if (!value) return std::nullopt;
    return Unescaped{*value < 0x80 ? static_cast<char>(*value) : '\0', from + digits};
  };
  if (text[0] == '+') return {' ', 1};
  if (text[0] == '%') return code(1, 2).value_or(Unescaped{'%', 1});
  if (text[0] != '\\' || text.size() < 2) return {text[0], 1};
  if (text[1] == 'u') return code(2, 4).value_or(Unescaped{'u', 2});
  const bool space = text[1] == 'n' || text[1] == 't' || text[1] == 'r';
  return {space ? ' ' : text[1], 2};
}

bool contains_unescaped(std::string_view text, std::string_view lower_case) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const auto next = unescaped(text);
    plain.push_back(next.byte);
    text.remove_prefix(next.length);
  }
  return contains_folded(plain, lower_case);
}

/// Whether the request contains this phrase; `if_long` if it is too long to search.
bool wrote(const ClientRequest* request, std::string_view phrase, bool if_long) {
  if (request == nullptr) return false;
  if (request->body.size() + request->query.size() + request->path.size() > kLongestRequest)
    return if_long;
  const std::array parts{request->body, request->query, request->path};
  return std::ranges::any_of(parts, [&](std::string_view part) {
    return contains_folded(part, phrase) || contains_unescaped(part, phrase);
  });
}

/// A prefix such as `P01:`, by which the server's parsers number messages. Empty: there is none.
std::string parser_number(std::string_view error) {
  for (std::size_t i = 0; i + 3 < error.size(); ++i)
    if (error[i] == 'P' && is_digit(error[i + 1]) && is_digit(error[i + 2]) && error[i + 3] == ':')
      return {'p', error[i + 1], error[i + 2], ':'};
  return {};
}

}  // namespace

bool contains_folded(std::string_view text, std::string_view lower_case) {
  const auto same = [](char a, char b) { return folded(a) == b; };
  return !std::ranges::search(text, lower_case, same).empty();
}

Blame blame_of(std::string_view error, const ClientRequest* request) {
  error = error.substr(0, kLongestError);
  // In a long request quotations cannot be found: a phrase alone does not blame its mirrors.
  for (const auto phrase : kTrouble)
    if (contains_folded(error, phrase) && !wrote(request, phrase, /*if_long=*/true))
      return Blame::agent;
  const auto number = parser_number(error);
  if (!number.empty() && !wrote(request, number, /*if_long=*/false)) return Blame::client;
  for (const auto phrase : kMistakes)
    if (contains_folded(error, phrase) && !wrote(request, phrase, /*if_long=*/false))
      return Blame::client;
  return Blame::unclear;
}

}  // namespace karmad
