#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/client_request.hpp"

namespace karmad {

/// Most searches in one `_msearch`.
inline constexpr std::size_t kMostSearches = 100;

/// The searches of a `_msearch`: pairs of lines, a header `{"index":"a"}`, `{"index":["a","b"]}` or
/// `{}` (then the path's table, or all), and the body of a search. 400 with the line otherwise.
std::expected<std::vector<RequestPart>, ClientError> read_multi_search(
    const ClientRequest& request);

/// Appends `{"took":…,"responses":[…]}`: the searches' answers in order, each with its `status`.
void append_responses(std::string& out, std::span<const PartAnswer> answers, Micros took);

}  // namespace karmad
