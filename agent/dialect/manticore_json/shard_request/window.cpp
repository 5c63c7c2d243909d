#include "agent/dialect/manticore_json/shard_request/window.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "agent/dialect/manticore_json/parse_part.hpp"

namespace karmad {
namespace {

/// The server stores counts in 32 bits.
constexpr std::uint64_t kLargestCount = std::numeric_limits<std::int32_t>::max();

std::expected<std::optional<std::uint64_t>, ClientError> count_in(std::string_view body,
                                                                  ByteRange span,
                                                                  std::string_view what) {
  if (!span.found()) return std::nullopt;
  const auto text = span.in(body);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > kLargestCount)
    return refused(fmt::format("{} must be an integer from 0 to {}", what, kLargestCount));
  return value;
}

std::expected<std::optional<std::uint64_t>, ClientError> count_of(std::string_view body,
                                                                  const SearchRequest& request,
                                                                  Property property) {
  return count_in(body, request[property], fmt::format("\"{}\"", name(property)));
}

/// A count with two possible names.
std::expected<std::optional<std::uint64_t>, ClientError> count_of(std::string_view body,
                                                                  const SearchRequest& request,
                                                                  Property one, Property other) {
  const auto a = count_of(body, request, one);
  if (!a) return a;
  const auto b = count_of(body, request, other);
  if (!b) return b;
  if (*a && *b && **a != **b)
    return refused(
        fmt::format("\"{}\" and \"{}\" mean the same and differ", name(one), name(other)));
  return *a ? *a : *b;
}

}  // namespace

std::expected<Window, ClientError> window_of(std::string_view body, const SearchRequest& request) {
  Window window;
  const auto limit = count_of(body, request, Property::limit, Property::size);
  if (!limit) return std::unexpected(limit.error());
  const auto offset = count_of(body, request, Property::offset, Property::from);
  if (!offset) return std::unexpected(offset.error());
  const auto max_matches = count_of(body, request, Property::max_matches);
  if (!max_matches) return std::unexpected(max_matches.error());
  const auto option = count_in(body, request.max_matches_option, "options.max_matches");
  if (!option) return std::unexpected(option.error());
  window.limit = limit->value_or(kDefaultLimit);
  window.offset = offset->value_or(0);
  window.max_matches = *option ? *option : *max_matches;  // the server reads `options` last
  return window;
}

}  // namespace karmad
