#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "agent/dialect/manticore_json/request.hpp"

namespace karmad {

// Defaults of the search server.
inline constexpr std::uint64_t kDefaultLimit = 20;
inline constexpr std::uint64_t kDefaultMaxMatches = 1000;

/// Which hits of all found ones a client wants.
struct Window {
  std::uint64_t offset = 0;
  std::uint64_t limit = kDefaultLimit;
  std::optional<std::uint64_t> max_matches;
};

/// Refuses (400) counts that are no counts, and two names of one count that differ.
std::expected<Window, ClientError> window_of(std::string_view body, const SearchRequest& request);

}  // namespace karmad
