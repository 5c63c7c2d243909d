#include "config/settings/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "config/text/source_text.hpp"

namespace karmad {

namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};

// Micros per unit, in ascending order.
constexpr std::array<Unit, 7> kTimes{{{"us", 1},
                                      {"ms", 1'000},
                                      {"s", 1'000'000},
                                      {"m", 60'000'000},
                                      {"h", 3'600'000'000},
                                      {"d", 86'400'000'000},
                                      {"w", 604'800'000'000}}};

constexpr std::array<Unit, 8> kSizes{{{"k", 1ULL << 10},
                                      {"m", 1ULL << 20},
                                      {"g", 1ULL << 30},
                                      {"t", 1ULL << 40},
                                      {"kib", 1ULL << 10},
                                      {"mib", 1ULL << 20},
                                      {"gib", 1ULL << 30},
                                      {"tib", 1ULL << 40}}};

struct Number {
  std::uint64_t value;
  std::size_t end;  // offset of what follows the digits
};

std::expected<Number, Unfit> parse_digits(std::string_view text) {
  if (text.empty()) return unfit(0, "a value is missing");
  if (text[0] == '-') return unfit(text, "must not be negative");
  Number number{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  number.end = static_cast<std::size_t>(stop - text.data());
  if (error == std::errc::result_out_of_range) return unfit(text, "is too large");
  if (error != std::errc{}) return unfit(text, "does not begin with a whole number");
  return number;
}

/// The number multiplied by the factor of its suffix, at most `largest`.
template <std::size_t n>
std::expected<std::uint64_t, Unfit> parse_with_unit(std::string_view text,
                                                    const std::array<Unit, n>& units,
                                                    std::string_view unit_words, std::uint64_t bare,
                                                    std::uint64_t largest) {
  const auto number = parse_digits(text);
  if (!number) return std::unexpected(number.error());
  const auto suffix = text.substr(number->end);
  const auto factor_of = [&units](std::string_view word) {
    const auto unit = std::ranges::find(units, lower(word), &Unit::suffix);
    return unit == units.end() ? std::uint64_t{0} : unit->factor;
  };
  const auto factor = suffix.empty() ? bare : factor_of(suffix);
  if (factor == 0) {
    if (suffix[0] == '.' || suffix[0] == ',')
      return unfit(number->end, fmt::format("{} has a fraction; write a whole number of a smaller "
                                            "unit",
                                            in_quotes(text)));
    if (factor_of(trimmed(suffix)) != 0)
      return unfit(number->end, fmt::format("{} has a blank between number and unit; write '{}{}'",
                                            in_quotes(text), number->value, trimmed(suffix)));
    return unfit(number->end,
                 fmt::format("{} has an unknown unit; known are {}", in_quotes(text), unit_words));
  }
  if (number->value > largest / factor) return unfit(text, "is too large");
  return number->value * factor;
}

/// Items separated by commas and white space; at least one and at most `most`.
template <class Item, class Parse>
std::expected<std::vector<Item>, Unfit> parse_list(std::string_view text, std::size_t most,
                                                   std::string_view what, Parse parse) {
  std::vector<Item> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto item = trimmed(text.substr(begin, end - begin));
    const auto offset = item.empty() ? begin : static_cast<std::size_t>(item.data() - text.data());
    if (items.size() == most)
      return unfit(offset, fmt::format("more than {} {} are given", most, what));
    auto read = parse(item);
    if (!read) return unfit(offset + read.error().offset, read.error().why);
    items.push_back(*std::move(read));
    begin = end + 1;
  }
  return items;
}

constexpr std::uint64_t kMostPerTime = (std::uint64_t{1} << 31) - 1;  // AC-041, AC-052

}  // namespace

std::expected<Micros, Unfit> parse_time(std::string_view text, Micros bare_unit) {
  const auto micros = parse_with_unit(text, kTimes, "us, ms, s, m, h, d, w",
                                      static_cast<std::uint64_t>(bare_unit.count()),
                                      std::numeric_limits<Micros::rep>::max());
  if (!micros) return std::unexpected(micros.error());
  return Micros{static_cast<Micros::rep>(*micros)};
}

std::expected<std::vector<Micros>, Unfit> parse_times(std::string_view text, Micros bare_unit) {
  return parse_list<Micros>(text, kMostTimes, "times",
                            [=](std::string_view item) { return parse_time(item, bare_unit); });
}

std::expected<Rate, Unfit> parse_rate(std::string_view text) {
  if (lower(text) == "unlimited") return Rate{};
  const auto number = parse_digits(text);
  if (!number) return std::unexpected(number.error());
  if (number->value == 0) return unfit(0, "a rate is at least 1; write unlimited for no limit");
  if (number->value > kMostPerTime) return unfit(text, "is too large");
  Rate rate{.count = static_cast<unsigned>(number->value)};
  const auto suffix = text.substr(number->end);
  if (suffix.empty()) return rate;
  for (const auto& [time, factor] : kTimes)
    if (suffix.starts_with('/') && factor >= 1'000'000 && lower(suffix.substr(1)) == time &&
        time != "w") {
      rate.per = Micros(static_cast<Micros::rep>(factor));
      return rate;
    }
  return unfit(number->end, fmt::format("{} is not a rate; write it as in 100/s, with /s, /m, /h "
                                        "or /d",
                                        in_quotes(text)));
}

namespace {

std::expected<AddressRange, Unfit> parse_range(std::string_view text) {
  const auto slash = std::min(text.find('/'), text.size());
  const auto spelt = text.substr(0, slash);
  const auto address = parse_address(spelt);
  if (!address)
    return unfit(text, "is neither an address nor a range as in 10.0.0.0/8 or fe80::/10");
  AddressRange range{.first = *address};
  const unsigned most = spelt.find(':') == spelt.npos ? 32 : 128;
  if (slash == text.size()) return range;
  const auto length = parse_count(text.substr(slash + 1));
  if (!length || *length > most)
    return unfit(slash + 1, fmt::format("{}: the length of the prefix is a number from 0 to {}",
                                        in_quotes(text), most));
  range.bits = static_cast<unsigned>(*length) + 128 - most;
  const AddressRange whole{
      {range.first.high & range.high_mask(), range.first.low & range.low_mask()}, range.bits};
  if (whole != range)
    return unfit(0, fmt::format("{} has bits set after its prefix; write {}", in_quotes(text),
                                karmad::text(whole)));
  return range;
}

}  // namespace

std::expected<AddressRanges, Unfit> parse_ranges(std::string_view text) {
  return parse_list<AddressRange>(text, kMostRanges, "ranges", parse_range);
}

std::expected<AppNames, Unfit> parse_app_names(std::string_view text) {
  return parse_list<std::string>(
      text, kMostAppNames, "names", [](std::string_view item) -> std::expected<std::string, Unfit> {
        if (item.empty()) return unfit(0, "a name is missing");
        if (item.size() > kLongestAppName)
          return unfit(0,
                       fmt::format("{} is longer than {} bytes", in_quotes(item), kLongestAppName));
        return std::string(item);
      });
}

namespace {

/// `https://app.example.org:8443`, as a browser writes it (RFC 6454 section 6.2).
std::expected<std::string, Unfit> parse_origin(std::string_view text) {
  constexpr std::string_view kRight = "write it as browsers do, as in https://app.example.org";
  const auto scheme = text.find("://");
  if (scheme == 0 || scheme == text.npos)
    return unfit(0, fmt::format("{} is no origin: {}", in_quotes(text), kRight));
  const auto host = text.substr(scheme + 3);
  if (host.empty() || host.find_first_of("/?#@* ") != host.npos)
    return unfit(scheme + 3,
                 fmt::format("{} is more than scheme, host and port: {}", in_quotes(text), kRight));
  const bool is_usual = (text.starts_with("https:") && host.ends_with(":443")) ||
                        (text.starts_with("http:") && host.ends_with(":80"));
  if (is_usual || lower(text) != text)
    return unfit(0, fmt::format("{} is never sent by a browser: {}, in lower case and without the "
                                "usual port",
                                in_quotes(text), kRight));
  return std::string(text);
}

}  // namespace

std::expected<Origins, Unfit> parse_origins(std::string_view text) {
  if (text == "*") return Origins{.any = true};
  auto list = parse_list<std::string>(text, kMostOrigins, "origins", parse_origin);
  if (!list) return std::unexpected(std::move(list).error());
  return Origins{.list = *std::move(list)};
}

std::string text(const Rate& rate) {
  if (!rate.limits()) return "unlimited";
  return fmt::format("{}/{}", rate.count, time_text(rate.per).substr(1));
}

std::expected<std::uint64_t, Unfit> parse_size(std::string_view text) {
  return parse_with_unit(text, kSizes, "k, m, g, t (powers of 1024)", 1,
                         std::numeric_limits<std::int64_t>::max());
}

std::expected<std::uint64_t, Unfit> parse_count(std::string_view text) {
  const auto number = parse_digits(text);
  if (!number) return std::unexpected(number.error());
  if (number->end != text.size())
    return unfit(number->end, fmt::format("{} is not a whole number", in_quotes(text)));
  return number->value;
}

std::expected<bool, Unfit> parse_switch(std::string_view text) {
  const auto word = lower(text);
  if (word == "1" || word == "yes") return true;
  if (word == "0" || word == "no") return false;
  return unfit(text, "is neither 0 nor 1");
}

std::expected<FileMode, Unfit> parse_mode(std::string_view text) {
  const auto digits = text.size() == 4 && text[0] == '0' ? text.substr(1) : text;
  const auto wrong = digits.find_first_not_of("01234567");
  if (digits.size() != 3 || wrong != digits.npos)
    return unfit(text, "is not a mode: write three octal digits, as in 0660");
  FileMode mode;
  for (const char digit : digits) mode.bits = mode.bits * 8 + static_cast<unsigned>(digit - '0');
  return mode;
}

std::string text(FileMode mode) {
  return fmt::format("{:04o}", mode.bits);
}

std::expected<double, Unfit> parse_real(std::string_view text) {
  double number = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const bool starts = !text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
  if (!starts || error != std::errc{} || stop != end)
    return unfit(text, "is not a number such as 0.5");
  return number;
}

std::expected<TicketCount, Unfit> parse_tickets(std::string_view text) {
  const auto word = lower(text);
  if (word == "auto") return TicketCount{TicketCount::Kind::automatic};
  if (word == "unlimited") return TicketCount{TicketCount::Kind::unlimited};
  const auto count = parse_count(text);
  if (!count || *count > std::numeric_limits<unsigned>::max())
    return unfit(text, "is neither auto, unlimited nor a number of tickets");
  return TicketCount{TicketCount::Kind::fixed, static_cast<unsigned>(*count)};
}

std::string text(TicketCount tickets) {
  if (tickets.kind == TicketCount::Kind::fixed) return fmt::format("{}", tickets.count);
  return tickets.kind == TicketCount::Kind::automatic ? "auto" : "unlimited";
}

std::expected<MemorySize, Unfit> parse_memory(std::string_view text) {
  if (lower(text) == "auto") return MemorySize{};
  const auto size = parse_size(text);
  if (size) return MemorySize{.automatic = false, .bytes = *size};
  auto error = size.error();
  error.why += "; or auto";
  return std::unexpected(std::move(error));
}

std::string text(MemorySize memory) {
  return memory.automatic ? "auto" : size_text(memory.bytes);
}

std::string time_text(Micros time) {
  const auto micros = static_cast<std::uint64_t>(time.count());
  if (micros == 0) return "0";
  const Unit* longest = &kTimes.front();
  for (const auto& unit : kTimes)
    if (micros % unit.factor == 0) longest = &unit;
  return fmt::format("{}{}", micros / longest->factor, longest->suffix);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "0";
  const Unit* largest = nullptr;
  for (std::size_t i = 0; i < 4; ++i)
    if (bytes % kSizes[i].factor == 0) largest = &kSizes[i];
  return largest == nullptr ? fmt::format("{}", bytes)
                            : fmt::format("{}{}", bytes / largest->factor, largest->suffix);
}

std::expected<ClientAuth, Unfit> parse_client_auth(std::string_view text) {
  const auto blank = std::min(text.find_first_of(" \t"), text.size());
  const auto kind = lower(text.substr(0, blank));
  const auto file = trimmed(text.substr(blank));
  if (kind != "basic" && kind != "bearer") return unfit(kind, "is neither basic nor bearer");
  if (!file.starts_with('/'))
    return unfit(blank, fmt::format("expected the path of a file, from the root: {} /PATH", kind));
  return ClientAuth{kind == "basic" ? ClientAuth::Kind::basic : ClientAuth::Kind::bearer,
                    std::string(file)};
}

std::string text(const ClientAuth& auth) {
  return fmt::format("{} {}", auth.kind == ClientAuth::Kind::basic ? "basic" : "bearer", auth.file);
}

}  // namespace karmad
