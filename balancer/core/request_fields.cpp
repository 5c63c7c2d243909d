#include "balancer/core/request_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/json/equals_literal.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "config/settings/words.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {
namespace {

/// A header or parameter, as the manual describes it.
struct RequestField {
  std::string_view name;
  std::string_view values;         ///< its grammar
  std::string_view default_value;  ///< the value that applies to a request without it
  std::string_view help;
};
constexpr std::array kFields{
    RequestField{
        kTimeoutMs, "milliseconds", "`request_timeout`",
        "Shortens the deadline of this request. Agents get the remaining time in the same header."},
    RequestField{kReadPreference, "a read preference", "that of the table, then of the instance",
                 "Which mirrors may answer ([read-preference.md](read-preference.md)). In the URL: "
                 "`?read_preference=…`, which is removed before the request is passed on."},
    RequestField{kHedge, "a time, `p95`, `p99`, `off`", "`hedge` of the table or instance",
                 "When a second mirror is asked for this search ([overload.md](overload.md))."},
    RequestField{kMinGeneration, "a number, or `X-Generation` of an answer", "any generation",
                 "Only mirrors that have this update, as far as they report it, are asked "
                 "([overload.md](overload.md#reading-your-own-writes))."},
    RequestField{kConsistency, "`any`, `quorum`", "`consistency` of the table",
                 "Whether several mirrors of each shard must agree."},
    RequestField{kPartialResults, "`allow`, `deny`", "`partial_results` of the table or instance",
                 "Whether an answer without some shards is sent with a warning, or is an error."},
    RequestField{kPriority, "`low`", "normal",
                 "Work that can wait: it has a few tickets of its own, with `low_priority = 1` "
                 "([admission.md](admission.md))."},
    RequestField{kAppName, "a text", "`User-Agent`",
                 "Name of the client's application, for `ingress_request_exempt_apps`."},
    RequestField{kIdempotencyKey, "a text", "none", "Passed on; the update may be retried."},
    RequestField{kRequestId, "1 to 128 bytes of visible ASCII without quotes and backslash",
                 "a new id (`request_id`)",
                 "Id of the request in the logs; agents and the client get it in the same header."},
    RequestField{kTraceparent, "a trace of W3C Trace Context", "no trace",
                 "Agents get the same trace with a new parent id for each attempt, and "
                 "`tracestate` as it is."},
    RequestField{kHops, "a number up to 65535", "0",
                 "How many karmads the request has passed; more than `max_hops` are refused with "
                 "508. Agents get the number with this karmad added."},
    RequestField{kTraceField, "`1`", "no trace",
                 "The answer lists every attempt, in the same header."},
    RequestField{kExplainField, "`1`", "no explanation",
                 "The answer explains the choice of every mirror, in the same header "
                 "([status.md](status.md))."},
};

/// Unlike other fields it must not be given twice: the lower number could hide a loop.
std::optional<FieldMistake> read_hops(const Head& fields, unsigned& hops) {
  if (!fields.names.may_have(kHops)) return std::nullopt;
  bool found = false;
  for (const auto& field : fields.all()) {
    if (!wire::same_word(field.name, kHops)) continue;
    if (std::exchange(found, true))
      return FieldMistake{{}, fmt::format("{} is given twice", kHops)};
    const auto passed = number_in<std::uint16_t>(field.value);
    if (!passed)
      return FieldMistake{
          {}, fmt::format("{} is one number up to 65535, not '{}'", kHops, field.value)};
    hops = *passed;
  }
  return std::nullopt;
}

/// False: the text is neither a number nor a list `SHARD=NUMBER,…`.
bool read_generations(std::string_view text, SeenGenerations& into) {
  into.of_all = number_in<std::uint64_t>(text);
  if (into.of_all) return true;
  bool valid = true;
  wire::for_each_element(text, [&](std::string_view element) {
    const auto equals = std::min(element.find('='), element.size());
    const auto shard = number_in<std::uint64_t>(element.substr(0, equals));
    const auto generation =
        number_in<std::uint64_t>(element.substr(std::min(equals + 1, element.size())));
    if (shard > 0u && generation)
      into.of_shards.emplace_back(*shard, *generation);
    else
      valid = false;
  });
  return valid && !into.of_shards.empty();
}

std::optional<FieldMistake> read_preference(const Head& fields, std::string_view& parameters,
                                            std::string& rest, RequestFields& into) {
  const auto mistake = [](std::string reason, int code = 0) {
    return FieldMistake{"bad_read_preference", std::move(reason), code};
  };
  std::string text;
  const bool maybe_named = fields.names.may_have(kReadPreference);
  for (const auto& field : maybe_named ? fields.all() : std::span<const Field>()) {
    if (!wire::same_word(field.name, kReadPreference)) continue;
    if (!text.empty()) return mistake("two read preferences in one request");
    text = field.value;
  }
  std::string others;
  const bool maybe_there = parameters.find(kPreferenceParameter) != parameters.npos ||
                           parameters.find('%') != parameters.npos;
  bool taken = false;
  for (auto left = maybe_there ? parameters : std::string_view(); !left.empty();) {
    const auto parameter = take_until(left, '&');
    const auto name = parameter.substr(0, parameter.find('='));
    if (url_decoded(name) != kPreferenceParameter || name.size() == parameter.size()) {
      others.append(parameter).push_back('&');
      continue;
    }
    const auto value = url_decoded(parameter.substr(name.size() + 1));
    if (!text.empty() && text != value)
      return mistake("two different read preferences in one request");
    text = value;
    taken = true;
  }
  if (taken) {
    if (!others.empty()) others.pop_back();
    rest = std::move(others);
    parameters = rest;
  }
  if (text.empty()) return std::nullopt;
  auto preference = parse_read_preference(text);
  if (!preference) return mistake(std::move(preference.error().why), preference.error().code);
  into.preference = *std::move(preference);
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> SeenGenerations::at(std::size_t shard_at) const {
  auto newest = of_all;
  for (const auto& [shard, generation] : of_shards)
    if (shard == shard_at + 1) newest = std::max(newest, std::optional(generation));
  return newest;
}

std::string request_fields_reference() {
  std::string out = "| header | value | without it | |\n|---|---|---|---|\n";
  for (const auto& field : kFields)
    out += fmt::format("| `{}` | {} | {} | {} |\n", field.name, field.values, field.default_value,
                       field.help);
  return out;
}

std::optional<FieldMistake> read_request_fields(const Head& fields, std::string_view& parameters,
                                                std::string& rest, RequestFields& into) {
  const auto mistake = [](std::string reason) { return FieldMistake{{}, std::move(reason)}; };
  if (auto wrong = read_hops(fields, into.hops)) return wrong;
  if (const auto time = fields.find(kTimeoutMs); !time.empty() && !number_in<std::uint64_t>(time))
    return mistake(fmt::format("{} is a number of milliseconds, not '{}'", kTimeoutMs, time));
  if (const auto wanted = fields.find(kPartialResults); !wanted.empty()) {
    into.partial_results = kWords<PartialResults>.find(wanted);
    if (!into.partial_results)
      return mistake(fmt::format("{} is either allow or deny", kPartialResults));
  }
  if (auto wrong = read_preference(fields, parameters, rest, into)) return wrong;
  if (const auto hedge = fields.find(kHedge); !hedge.empty()) {
    const auto read = parse_hedge(hedge);
    if (!read) return mistake(fmt::format("{}: {}", kHedge, read.error()));
    into.hedge = *read;
  }
  if (const auto seen = fields.find(kMinGeneration); !seen.empty()) {
    if (!read_generations(seen, into.seen_generations))
      return mistake(
          fmt::format("{} is a number, or a list of SHARD=NUMBER, not '{}'", kMinGeneration, seen));
  }
  if (const auto consistency = fields.find(kConsistency); !consistency.empty()) {
    into.consistency = kWords<Consistency>.find(consistency);
    if (!into.consistency)
      return mistake(
          fmt::format("{} is either any or quorum, not '{}'", kConsistency, consistency));
  }
  return std::nullopt;
}

Micros time_allowed(const Head& fields, Micros longest) {
  const auto ms = number_in<std::uint64_t>(fields.find(kTimeoutMs));
  if (!ms || *ms >= static_cast<std::uint64_t>(longest.count()) / 1000) return longest;
  return std::chrono::milliseconds(*ms);
}

bool has_low_priority(const Head& fields) {
  return fields.find(kPriority) == "low";
}

bool asks_for_trace(const Head& fields) {
  return fields.find(kTraceField) == "1";
}

bool asks_for_explanation(const Head& fields) {
  return fields.find(kExplainField) == "1";
}

CorsRequest cors_request(std::string_view method, const Head& fields, const Origins& allowed) {
  constexpr std::size_t kMostHeaders = 4096;  // bytes of names that a page may ask for
  CorsRequest request;
  const auto origin = fields.find("Origin");
  if (allowed.any)
    request.origin = "*";
  else if (!origin.empty() && std::ranges::find(allowed.list, origin) != allowed.list.end())
    request.origin = origin;
  request.is_preflight = equals_literal(method, "OPTIONS") && !origin.empty() &&
                         fields.framing == Framing::none &&
                         !fields.find("Access-Control-Request-Method").empty();
  if (!request.is_preflight || request.origin.empty()) return request;
  const auto headers = fields.find("Access-Control-Request-Headers");
  if (headers.size() <= kMostHeaders) request.headers = headers;
  return request;
}

}  // namespace karmad
