#include "balancer/topology/table_tally.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad {

void TableTally::responded(unsigned worker, int code, Micros took) noexcept {
  auto& cell = cells_[worker];
  const auto* const counted = std::ranges::find(kCountedCodes, code);
  cell.responses[static_cast<std::size_t>(counted - kCountedCodes.begin())].add(1);
  cell.requests.add(took);
}

TableTotals TableTally::totals() const {
  TableTotals totals;
  for (const auto& cell : cells_) {
    for (std::size_t i = 0; i < totals.responses.size(); ++i)
      totals.responses[i] += cell.responses[i].get();
    cell.requests.add_to(totals.requests);
    cell.attempts.add_to(totals.attempts);
  }
  return totals;
}

void write(StatsWriter& out, const TableTotals& totals) {
  static constexpr Stat kResponses{.name = "responses",
                                   .help = "queries answered, by status; 499: the client left",
                                   .row = kHidden,
                                   .member = kHidden};
  for (std::size_t i = 0; i < totals.responses.size(); ++i) {
    const auto code =
        i < kCountedCodes.size() ? fmt::format("{}", kCountedCodes[i]) : std::string("other");
    if (totals.responses[i] != 0 || code == "200")
      out.add(kResponses, totals.responses[i], {{"code", code}});
  }
  out.add({.name = "request_duration",
           .help = "time of queries, from the complete request to the answer",
           .unit = Unit::microseconds},
          totals.requests);
  out.add({.name = "attempt_duration",
           .help = "time of attempts that an agent or a timeout ended",
           .unit = Unit::microseconds},
          totals.attempts);
}

}  // namespace karmad
