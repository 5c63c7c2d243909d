#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/stats/stats_writer.hpp"

namespace karmad {

/// Where rows go: a key, its value as it is shown, and whether that is a number in JSON, too.
using RowSink = std::function<void(std::string key, std::string value, bool is_number)>;

/// Numbers as rows of two columns, whose keys share a beginning. The value of a label comes before
/// the key of its number: `access_log_written`.
class Rows final : public StatsWriter {
 public:
  /// The sink must outlive this and all that is under it.
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
