#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "demo/sql/run.hpp"

namespace karmad {

/// The layout of `/sql?mode=raw` and `/cli_json`: a list of result sets.
std::string write_raw(std::span<const ResultSet> results);

/// The layout of plain `/sql`: hits, and facets as aggregations.
std::string write_sql_hits(const Index& index, std::span<const ResultSet> results,
                           std::int64_t took_ms);

/// The layout of `/cli`: tables of text.
std::string write_text(std::span<const ResultSet> results, double seconds);

}  // namespace karmad
