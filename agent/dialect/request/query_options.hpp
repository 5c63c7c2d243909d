#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/request/client_request.hpp"

namespace karmad {

/// Sets an option that a request gives its query, by its name: `retry_count` (0 to 8, the search
/// server's limit), `agent_query_timeout` (1 ms to a day), `retry_delay` (0 to a day). Returns why
/// the value is refused, to follow the name; nothing: it is set. `value`: nothing if it is no whole
/// number. Not for other names.
std::optional<std::string> set_query_option(QueryOptions& options, std::string_view name,
                                            std::optional<std::uint64_t> value);

}  // namespace karmad
