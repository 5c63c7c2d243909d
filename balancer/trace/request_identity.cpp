#include "balancer/trace/request_identity.hpp"

#include <algorithm>
#include <cassert>

#include "agent/transport/http/http_syntax.hpp"

namespace karmad {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// The fields of version 00: `00-<trace id>-<parent id>-<flags>`.
constexpr std::size_t kTraceIdAt = 3;
constexpr std::size_t kTraceIdSize = 32;
constexpr std::size_t kParentIdAt = kTraceIdAt + kTraceIdSize + 1;
constexpr std::size_t kParentIdSize = 16;
constexpr std::size_t kFlagsAt = kParentIdAt + kParentIdSize + 1;
constexpr std::size_t kSize = kFlagsAt + 2;
static_assert(kSize == std::tuple_size_v<Traceparent>);

bool is_hex(std::string_view text) {
  return text.find_first_not_of(kHexDigits) == text.npos;
}

bool is_id(std::string_view text) {
  return is_hex(text) && text.find_first_not_of('0') != text.npos;
}

}  // namespace

bool is_valid_request_id(std::string_view id) {
  return !id.empty() && id.size() <= RequestId::kLongest && std::ranges::all_of(id, [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\'' && c != '\\';
  });
}

std::array<char, 16> hex_digits(std::uint64_t id) {
  std::array<char, 16> digits;
  for (std::size_t i = 0; i < digits.size(); ++i) digits[i] = kHexDigits[id >> (60 - 4 * i) & 0xf];
  return digits;
}

RequestId request_id(std::string_view wanted, RequestIds setting, RandomSource& random) {
  if (is_valid_request_id(wanted)) return RequestId(wanted);
  return setting == RequestIds::make ? RequestId(random_id(random)) : RequestId();
}

TraceContext parse_traceparent(std::string_view value) {
  if (value.size() < kSize) return {};
  const auto version = value.substr(0, 2);
  const auto flags = value.substr(kFlagsAt, 2);
  const bool known = version == "00";
  const bool ends = value.size() == kSize || (!known && value[kSize] == '-');
  if (!ends || !is_hex(version) || version == "ff" || !is_hex(flags)) return {};
  for (const auto at : {kTraceIdAt, kParentIdAt, kFlagsAt})
    if (value[at - 1] != '-') return {};
  const auto trace_id = value.substr(kTraceIdAt, kTraceIdSize);
  if (!is_id(trace_id) || !is_id(value.substr(kParentIdAt, kParentIdSize))) return {};
  if (known) return {.trace_id = trace_id, .flags = flags, .state = {}};
  const bool sampled = kHexDigits.find(flags[1]) % 2 != 0;
  return {.trace_id = trace_id, .flags = sampled ? "01" : "00", .state = {}};
}

TraceContext read_trace_context(const Head& head) {
  std::string_view parent;
  std::string state;
  for (const auto& field : head.all()) {
    if (wire::same_word(field.name, kTraceparent)) {
      if (!parent.empty()) return {};
      parent = field.value;
    } else if (wire::same_word(field.name, kTracestate) && !field.value.empty()) {
      if (!state.empty()) state.push_back(',');
      state.append(field.value);
    }
  }
  auto context = parse_traceparent(parent);
  if (!context.empty()) context.state = std::move(state);
  return context;
}

Traceparent traceparent(const TraceContext& context, std::uint64_t span) {
  assert(context.trace_id.size() == kTraceIdSize && context.flags.size() == 2);
  Traceparent value;
  value.fill('-');
  value[0] = value[1] = '0';
  context.trace_id.copy(value.data() + kTraceIdAt, kTraceIdSize);
  std::ranges::copy(hex_digits(span), value.begin() + kParentIdAt);
  context.flags.copy(value.data() + kFlagsAt, 2);
  return value;
}

}  // namespace karmad
