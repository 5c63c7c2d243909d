#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>

#include "agent/dialect/fronts/sql/sql_span.hpp"

namespace karmad {

/// The OPTION clause of a SELECT as the shards get it.
struct ShardOptions {
  std::optional<std::size_t> max_matches;  ///< as the client wrote it; not in `others`
  /// The token of OPTION scroll, empty with `scroll = 1`; not in `others`.
  std::optional<std::string> scroll;
  /// Separated by commas. Without retry_count, retry_delay and agent_query_timeout, which the
  /// balancer obeys.
  std::string others;

  /// ` OPTION …`, or nothing when there is no option. `kept`: value of max_matches; 0: not sent.
  std::string write(std::size_t kept) const;
};

/// Reads the clause.
std::expected<ShardOptions, ClientError> read_options(SqlSpan tokens);

}  // namespace karmad
