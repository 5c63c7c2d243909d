#include "agent/dialect/request/query_options.hpp"

#include <fmt/format.h>
#include <chrono>

namespace karmad {

std::optional<std::string> set_query_option(QueryOptions& options, std::string_view name,
                                            std::optional<std::uint64_t> value) {
  constexpr std::uint64_t kMaxRetryCount = 8;
  // A day; longer times are probably in the wrong unit.
  constexpr std::uint64_t kMaxMillis = 24ull * 60 * 60 * 1000;
  if (name == "retry_count") {
    if (!value || *value > kMaxRetryCount)
      return fmt::format("must be an integer from 0 to {}", kMaxRetryCount);
    options.retry_count = static_cast<unsigned>(*value);
    return std::nullopt;
  }
  const bool timeout = name == "agent_query_timeout";
  if (!value || *value > kMaxMillis || (timeout && *value == 0))
    return fmt::format("must be an integer from {} to {} (milliseconds)", timeout ? 1 : 0,
                       kMaxMillis);
  (timeout ? options.agent_query_timeout : options.retry_delay) = std::chrono::milliseconds(*value);
  return std::nullopt;
}

}  // namespace karmad
