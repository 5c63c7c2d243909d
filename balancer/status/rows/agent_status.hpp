#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/dialect/request/sql_statement.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "agent/stats/stats_writer.hpp"
#include "balancer/status/snapshot.hpp"

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

/// Answers a statement from the snapshot; docs/status.md describes every key. An unknown name after
/// SHOW AGENT gives a row `status_error`, as in the search server; only DESC of an unknown table is
/// an error.
std::expected<ResultSet, std::string> answer(const sql::StatusStatement& statement,
                                             const Snapshot& snapshot);

/// The rows of SHOW STATUS: the process, then every mirror since the start. Blackholes have none,
/// as their answers are dropped. Keys may repeat, as tables may have any name.
void status_rows(const Snapshot& snapshot, const RowSink& sink);

/// Appends the document of `GET /status`: the rows of SHOW STATUS as one object, with numbers as
/// JSON numbers.
void append_status_json(std::string& out, const Snapshot& snapshot);

}  // namespace karmad
