#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/stats/stats_writer.hpp"

namespace karmad {

/// Receives rows: a key, its value as text, and whether JSON writes the value as a number.
using RowSink = std::function<void(std::string key, std::string value, bool is_number)>;

/// Writes numbers as rows of key and value, with a common prefix of the keys. A label's value is
/// put before the key: `access_log_written`.
class Rows final : public StatsWriter {
 public:
  /// The sink must outlive this object and all objects below it.
  explicit Rows(const RowSink& sink, std::string prefix = {})
      : sink_(sink), prefix_(std::move(prefix)) {}

  Rows under(std::string_view more) const { return Rows(sink_, prefix_ + std::string(more)); }
  void text(std::string_view key, std::string value) const {
    sink_(prefix_ + std::string(key), std::move(value), false);
  }
  void count(std::string_view key, std::uint64_t value) const;

 private:
  void put(const Stat& stat, const StatValue& value, std::span<const Label> labels) override;

  const RowSink& sink_;
  std::string prefix_;
};

}  // namespace karmad
