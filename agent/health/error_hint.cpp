#include "agent/health/error_hint.hpp"

#include <algorithm>

#include "agent/json/json_tree.hpp"
#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/field_values.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "config/text/number_in.hpp"

namespace karmad {

namespace {

using namespace std::chrono_literals;
using Json = rapidjson::Value;
using Kind = ErrorHint::Kind;
using WallTime = std::chrono::system_clock::time_point;

constexpr std::size_t kLongestPlainText = 1024;
constexpr std::size_t kMostElements = 16;  // of a list in the body
constexpr Micros kLongestDelay = 24h;

// The sub-statuses of the SDK that the rules are modelled on (CO-032 … CO-057).
constexpr std::uint32_t kNotPrimary = 3;
constexpr std::uint32_t kRecreated = 1000;
constexpr std::uint32_t kGenerationLow = 1002;
constexpr std::uint32_t kSplitting = 1007;
constexpr std::uint32_t kMigrating = 1008;
constexpr std::uint32_t kDraining = 1008;
constexpr std::uint32_t kLostCopy = 1022;

/// A decimal number without other characters; saturates if it is too large.
std::optional<std::uint64_t> digits(std::string_view text) {
  if (text.empty() || !wire::all_in(text, wire::kDigitByte)) return std::nullopt;
  return number_in<std::uint64_t>(text).value_or(UINT64_MAX);
}

Micros bounded(std::uint64_t count, Micros unit) {
  const auto most = static_cast<std::uint64_t>(kLongestDelay / unit);
  return unit * static_cast<Micros::rep>(std::min(count, most));
}

std::optional<Micros> until(std::string_view date, WallTime now) {
  const auto then = http_date(date);
  if (!then) return std::nullopt;
  // In microseconds: a distant date would overflow the clock's nanoseconds.
  const Micros wait = *then - std::chrono::floor<Micros>(now);
  return std::clamp(wait, Micros{0}, kLongestDelay);
}

std::optional<Micros> told_delay(const Head& head, WallTime now) {
  for (const auto name : {kRetryAfterMs, kMsRetryAfterMs, kMsRetryAfter})
    if (const auto count = digits(head.find(name))) return bounded(*count, 1ms);
  const auto after = head.find(kRetryAfter);
  if (const auto count = digits(after)) return bounded(*count, 1s);
  return until(after, now);
}

std::span<const Json> some_of(const Json* array) {
  const auto all = elements_of(array);
  return all.first(std::min(all.size(), kMostElements));
}

bool says_maxed_out(std::string_view words) {
  return words.find("maxed out") != words.npos;
}

/// The hint in a body; empty if that is not a JSON object.
struct Said {
  bool overload = false;
  bool retryable = false;
  bool refused = false;  ///< in the words of a known engine
  bool generation_low = false;
  bool draining = false;
  std::optional<std::uint32_t> sub_status;
  std::optional<Micros> backoff_base;

  void label(std::string_view word) {
    if (word == "SystemOverloadedError") overload = true;
    if (word == "RetryableError") retryable = true;
  }

  /// An error, or a cause that an engine lists below it.
  void cause(const Json* object) {
    const auto type = text_of(member_of(object, "type"));
    if (type == "es_rejected_execution_exception") refused = true;
    if (type == "circuit_breaking_exception" &&
        text_of(member_of(object, "durability")) == "TRANSIENT")
      refused = true;
  }

  /// The top of the body or its `error`; earlier values are kept.
  void object(const Json* object) {
    for (const auto* list : {"labels", "errorLabels"})
      for (const auto& word : some_of(member_of(object, list))) label(text_of(&word));
    cause(object);
    cause(member_of(object, "caused_by"));
    for (const auto& each : some_of(member_of(object, "root_cause"))) cause(&each);
    const auto type = text_of(member_of(object, "type"));
    if (type == "generation_too_low") generation_low = true;
    if (type == "draining") draining = true;
    for (const auto* words : {"error", "reason", "message"})
      if (says_maxed_out(text_of(member_of(object, words)))) refused = true;
    const auto* sub = member_of(object, "subStatus");
    if (!sub_status && sub != nullptr && sub->IsUint()) sub_status = sub->GetUint();
    const auto* base = member_of(object, "baseBackoffMS");
    if (!backoff_base && base != nullptr && base->IsNumber()) backoff_base = wait(*base);
  }

  static std::optional<Micros> wait(const Json& milliseconds) {
    constexpr auto most = static_cast<double>(kLongestDelay / 1ms);
    const auto count = std::min(milliseconds.GetDouble(), most) * 1000;
    if (!(count >= 1)) return std::nullopt;
    return Micros{static_cast<Micros::rep>(count)};
  }
};

Said said_in(const ErrorBody& body) {
  Said said;
  const auto text = body.text();
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos || text.size() > ErrorBody::kLongest) return said;
  if (text[start] != '{') {
    said.refused = says_maxed_out(text.substr(start, kLongestPlainText));
    return said;
  }
  const Json* top = body.object();
  if (top == nullptr) return said;
  said.object(member_of(top, "error"));
  said.object(top);
  return said;
}

std::optional<std::uint32_t> sub_status_in(const Head& head) {
  for (const auto name : {kSubStatus, kMsSubStatus})
    if (const auto number = digits(head.find(name)); number && *number <= UINT32_MAX)
      return static_cast<std::uint32_t>(*number);
  return std::nullopt;
}

Kind kind_of(int status, const ErrorHint& hint, const Said& said) {
  const auto sub = hint.sub_status;
  if (status == 410 && sub == 0) return Kind::moved;
  if (status == 410 && (sub == kSplitting || sub == kMigrating)) return Kind::migrating;
  if (status == 410 && sub == kRecreated) return Kind::recreated;
  if (status == 410 && sub == kLostCopy) return Kind::lost_copy;
  if (status == 449) return Kind::retry_with;
  if ((status == 404 && sub == kGenerationLow) || said.generation_low) return Kind::generation_low;
  if ((status == 403 && sub == kDraining) || said.draining) return Kind::draining;
  if (hint.delay && (status == 429 || hint.overload)) return Kind::throttled;
  return hint.overload ? Kind::overload : Kind::none;
}

}  // namespace

ErrorHint error_hint(int status, const Head& head, const ErrorBody& body, WallTime now) {
  if (status < 400) return {};
  auto said = said_in(body);
  for (const auto& field : head.all())
    if (wire::same_word(field.name, kErrorLabels))
      wire::for_each_element(field.value, [&](std::string_view word) { said.label(word); });

  ErrorHint hint{.overload = said.overload,
                 .retryable = said.retryable,
                 .sub_status = sub_status_in(head).value_or(said.sub_status.value_or(0)),
                 .delay = told_delay(head, now),
                 .backoff_base = said.backoff_base};
  // A client's mistake may quote the client's text, so only these statuses can be refusals.
  const bool may_refuse = status == 429 || status >= 500;
  const bool implied =
      status == 429 || (status == 503 && hint.delay) || (may_refuse && said.refused);
  if (implied && !said.overload && !said.retryable) hint.overload = hint.retryable = true;
  hint.not_primary = status == 403 && hint.sub_status == kNotPrimary;
  hint.kind = kind_of(status, hint, said);
  return hint;
}

const rapidjson::Value* ErrorBody::object() const {
  if (!parsed_) {
    parsed_ = true;
    const auto start = text_.find_first_not_of(" \t\r\n");
    if (start == text_.npos || text_[start] != '{' || text_.size() > kLongest) return nullptr;
    document_.emplace();
    document_->Parse<rapidjson::kParseIterativeFlag>(text_.data(), text_.size());
    if (document_->HasParseError()) document_.reset();
  }
  return document_ ? &*document_ : nullptr;
}

}  // namespace karmad
