#include "agent/dialect/request/client_request.hpp"

#include <fmt/format.h>
#include <chrono>

#include "agent/transport/http/url_encoding.hpp"

namespace karmad {

void append_path(std::string& out, const ClientRequest& request,
                 std::span<const std::string> tables) {
  if (tables.empty() || request.path_table.empty()) {
    out.append(request.path);
    return;
  }
  const auto begin = static_cast<std::size_t>(request.path_table_raw.data() - request.path.data());
  out.append(request.path.substr(0, begin));
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_url_encoded(out, tables[i]);
  }
  out.append(request.path.substr(begin + request.path_table_raw.size()));
}

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
