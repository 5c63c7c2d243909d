#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "balancer/topology/table_tally.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Whether the queries of a table succeed, from its counts of status codes that are sampled twice a
/// second. The texts of errors do not matter, nor who made the mistake. Pure.
class TableSuccess {
 public:
  /// It is in trouble if none of at least kFew queries succeeded since the last one that did …
  static constexpr std::uint64_t kFew = 5;
  /// … or if at least this part of at least kMany queries of the last ten seconds were refused as
  /// their clients' mistakes: 4xx without 404 and 429.
  static constexpr double kMistakes = 0.9;
  static constexpr std::uint64_t kMany = 20;
  /// It is no longer in trouble after a minute without queries.
  static constexpr Micros kPast = std::chrono::minutes(1);

  void observe(const TableTotals& totals, TimePoint now);

  /// `none of the last 60 queries succeeded: 58 got 400, 2 got 502`; empty: it is well.
  std::string trouble() const;

 private:
  using Responses = decltype(TableTotals::responses);
  static constexpr std::size_t kSamples = 21;

  std::array<Responses, kSamples> samples_{};
  std::size_t sampled_ = 0;
  Responses unsuccessful_{};  ///< since the last success
  Responses lately_{};        ///< in the last ten seconds
  std::optional<TimePoint> last_;
  bool past_ = false;
};

}  // namespace karmad
