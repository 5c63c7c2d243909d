#include "balancer/query.hpp"

#include <algorithm>
#include <charconv>

namespace karmad {
namespace {

constexpr std::size_t kQuicklyRead = 64 << 10;  // of a body; to understand a larger one takes time

/// X-Timeout-Ms may shorten what the query has; anything else in it is ignored.
Micros allowed(Micros longest, std::string_view header) {
  std::uint64_t ms = 0;
  const auto* end = header.data() + header.size();
  const auto [stop, error] = std::from_chars(header.data(), end, ms);
  if (header.empty() || error != std::errc{} || stop != end) return longest;
  if (ms >= static_cast<std::uint64_t>(longest.count()) / 1000) return longest;
  return std::chrono::milliseconds(ms);
}

std::optional<PartialResults> wanted(std::string_view header) {
  if (header == "allow") return PartialResults::allow;
  if (header == "deny") return PartialResults::deny;
  return std::nullopt;
}

}  // namespace

Query::Query(Worker& on, const Topology& with, const RequestHead& request_head,
             std::string_view request_body, std::string_view from)
    : worker(on),
      topology(&with),
      request{.method = request_head.method,
              .path = request_head.path,
              .query = request_head.query,
              .content_type = request_head.find("Content-Type"),
              .body = request_body},
      head(request_head),
      client(from),
      began(Loop::now()),
      deadline(began + allowed(topology->settings.request_timeout.value,
                               request_head.find("X-Timeout-Ms"))),
      partial_results(wanted(request_head.find("X-Partial-Results"))),
      id(on.next_query()),
      bytes_in(request_head.size + request_body.size()),
      waited(request_body.size() > kQuicklyRead) {}

}  // namespace karmad
