#include "balancer/mysql/session_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "balancer/schema/translate.hpp"
#include "config/text/source_text.hpp"

namespace karmad::mysql {
namespace {

using BoundText = std::expected<std::string, std::string>;  // or why it is refused

constexpr std::uint16_t kUnsignedType = 0x8000;

BoundText quoted_literal(std::string_view text) {
  if (text.contains('\0')) return std::unexpected("it holds a zero byte");
  if (sql::first_wrong_bytes(text) != text.npos) return std::unexpected("it is not valid UTF-8");
  return sql_literal(text);
}

BoundText real_literal(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!std::isfinite(value)) return std::unexpected("it is not a finite number");
  // Clients send whole numbers as doubles too; LIMIT takes no others.
  if (std::trunc(value) == value && std::abs(value) <= kExact)
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

/// Clients send decimals as texts. The search server compares numbers only with numbers.
BoundText decimal_literal(std::string_view text) {
  const auto digits = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  const auto dots = static_cast<std::size_t>(std::ranges::count(digits, '.'));
  const bool is_number =
      digits.find_first_not_of("0123456789.") == digits.npos && dots <= 1 && digits.size() > dots;
  if (!is_number) return std::unexpected("it is not a decimal number");
  return std::string(text.starts_with('+') ? digits : text);
}

std::string whole_literal(std::uint64_t value, std::size_t bytes, bool is_unsigned) {
  if (is_unsigned) return fmt::format("{}", value);
  const auto unused = static_cast<int>(64 - 8 * bytes);
  return fmt::format("{}", static_cast<std::int64_t>(value << unused) >> unused);
}

/// Year, month, day; hour, minute, second; microseconds: as many as their length says.
BoundText time_literal(Fields& fields) {
  const auto length = fields.integer(1);
  if (length != 0 && length != 4 && length != 7 && length != 11)
    return std::unexpected("its date has an unknown length");
  if (length == 0) return "'0000-00-00 00:00:00'";
  const auto year = fields.integer(2);
  const auto month = fields.integer(1);
  const auto day = fields.integer(1);
  if (length == 4) return fmt::format("'{:04}-{:02}-{:02}'", year, month, day);
  const auto hour = fields.integer(1);
  const auto minute = fields.integer(1);
  const auto second = fields.integer(1);
  auto text =
      fmt::format("'{:04}-{:02}-{:02} {:02}:{:02}:{:02}", year, month, day, hour, minute, second);
  if (length == 11) text += fmt::format(".{:06}", fields.integer(4));
  return text + "'";
}

BoundText literal_of(std::uint16_t type, Fields& fields) {
  const auto whole = [&](std::size_t bytes) {
    return whole_literal(fields.integer(bytes), bytes, (type & kUnsignedType) != 0);
  };
  const auto kind = static_cast<Type>(type & 0xff);
  switch (kind) {
    case Type::null:
      return "NULL";
    case Type::tiny:
      return whole(1);
    case Type::small:
    case Type::year:
      return whole(2);
    case Type::long32:
    case Type::int24:
      return whole(4);
    case Type::long64:
      return whole(8);
    case Type::real32:
      return real_literal(std::bit_cast<float>(static_cast<std::uint32_t>(fields.integer(4))));
    case Type::real64:
      return real_literal(std::bit_cast<double>(fields.integer(8)));
    case Type::date:
    case Type::datetime:
    case Type::timestamp:
      return time_literal(fields);
    case Type::old_decimal:
    case Type::decimal:
      return decimal_literal(fields.text());
    default:
      if (kind == Type::varchar || kind == Type::json ||
          (kind >= Type::text_first && kind <= Type::text_last))
        return quoted_literal(fields.text());
      return std::unexpected(fmt::format("its type {} is not supported", type & 0xff));
  }
}

/// Whether a parameter behind this text is a number of rows: `LIMIT ?, ?`, `OFFSET ?`.
bool counts_rows(std::string_view before) {
  before = before.substr(0, before.find_last_not_of(" \t\r\n?,0123456789") + 1);
  return lower(before.substr(before.size() - std::min<std::size_t>(before.size(), 5))) == "limit" ||
         lower(before.substr(before.size() - std::min<std::size_t>(before.size(), 6))) == "offset";
}

/// A literal, for the place behind `before`: many clients send all values as texts, and a number of
/// rows in quotes is none.
std::string_view literal_at(std::string_view literal, std::string_view before) {
  if (literal.size() < 3 || literal.front() != '\'') return literal;
  const auto inner = literal.substr(1, literal.size() - 2);
  const bool is_number = inner.find_first_not_of("0123456789") == inner.npos;
  return is_number && counts_rows(before) ? inner : literal;
}

}  // namespace

std::expected<PreparedStatement, Error> prepare_statement(std::string_view statement) {
  using Kind = sql::Token::Kind;
  if (const auto wrong = sql::first_wrong_bytes(statement); wrong != statement.npos)
    return std::unexpected(
        Error{1300, "HY000", fmt::format("at offset {}: the statement is not valid UTF-8", wrong)});
  statement = sql::without_empty_statements(statement);
  PreparedStatement prepared{.text = std::string(statement)};
  sql::Tokens tokens(statement);
  bool ended = false;
  bool empty = true;
  for (auto token = tokens.next(); token.kind != Kind::end; token = tokens.next()) {
    if (token.kind == Kind::unfinished || token.kind == Kind::ambiguous)
      return std::unexpected(Error{
          1064, "42000",
          fmt::format("cannot prepare the statement: at byte {} is {}", token.at,
                      token.kind == Kind::unfinished ? "a text without its end" : token.why)});
    if (ended) return std::unexpected(Error{1295, "HY000", "only one statement can be prepared"});
    empty = false;
    if (token.is_sign(';')) {
      ended = true;
      prepared.text.resize(token.at);
    }
    if (!token.is_sign('?')) continue;
    if (prepared.places.size() == kMostParameters)
      return std::unexpected(
          Error{1390, "HY000", fmt::format("more than {} parameters", kMostParameters)});
    prepared.places.push_back(token.at);
  }
  if (empty) return std::unexpected(Error{1065, "42000", "Query was empty"});
  prepared.text.shrink_to_fit();
  prepared.places.shrink_to_fit();
  return prepared;
}

std::expected<std::string, Error> bind_values(PreparedStatement& prepared, std::string_view payload,
                                              std::size_t most) {
  const auto refuse = [](std::string text) {
    return std::unexpected(Error{1210, "HY000", std::move(text)});
  };
  if (std::exchange(prepared.got_long_data, false))  // it counts for one execution
    return refuse("COM_STMT_SEND_LONG_DATA is not supported; send the value with the execution");
  Fields fields(payload);
  fields.bytes(1 + 4);  // flags of cursors, number of executions
  const auto count = prepared.places.size();
  const auto nulls = count == 0 ? std::string_view() : fields.bytes((count + 7) / 8);
  if (count != 0 && fields.integer(1) == 1) {
    prepared.types.resize(count);
    for (auto& type : prepared.types) type = static_cast<std::uint16_t>(fields.integer(2));
  }
  if (!fields.ok() || prepared.types.size() != count)
    return refuse("the parameters cannot be read: their types are missing");
  std::string bound;
  std::size_t from = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool null = (static_cast<unsigned char>(nulls[i / 8]) >> (i % 8) & 1) != 0;
    auto literal = null ? BoundText("NULL") : literal_of(prepared.types[i], fields);
    if (!fields.ok()) return refuse(fmt::format("parameter {} cannot be read", i + 1));
    if (!literal) return refuse(fmt::format("parameter {}: {}", i + 1, literal.error()));
    // With spaces around it a value joins neither a quote nor a minus before it.
    bound.append(prepared.text, from, prepared.places[i] - from);
    const auto before = std::string_view(prepared.text).substr(0, prepared.places[i]);
    bound.append(1, ' ').append(literal_at(*literal, before)).append(1, ' ');
    from = prepared.places[i] + 1;
    if (bound.size() > most)
      return refuse("with its parameters the statement is longer than max_packet_size");
  }
  bound.append(prepared.text, from);
  return bound;
}

}  // namespace karmad::mysql
