#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Sends a copy of the query to the table's blackhole agents, without awaiting it: answers are read
/// and dropped, on separate connections. If too many copies are in progress (kBlackholes per
/// worker, or kBlackholeBytes), further ones are dropped and counted.
void send_to_blackholes(Query& query, const Table& table, const Dialect& dialect,
                        const Parsed& parsed);

inline constexpr std::size_t kBlackholes = 256;
inline constexpr std::size_t kBlackholeBytes = 64 << 20;

}  // namespace karmad
