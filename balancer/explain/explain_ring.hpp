#pragma once

#include <string_view>
#include <vector>

#include "balancer/explain/explain_record.hpp"

namespace karmad {

/// The records of the last requests of one worker; a new one replaces the oldest. Its worker only.
class ExplainRing {
 public:
  /// Keeps that many records, which are empty first; 0: none.
  void keep(std::size_t records);
  bool enabled() const { return !records_.empty(); }

  /// Starts the record of a request, and returns its place. Only if enabled.
  std::size_t begin(std::uint64_t query);
  /// The record of a request; null if another one has taken its place.
  ExplainRecord* at(std::size_t place, std::uint64_t query) {
    return place < records_.size() && records_[place].query == query ? &records_[place] : nullptr;
  }

  /// The newest record of the request with this X-Request-Id, or with this number in the process;
  /// null: there is none.
  const ExplainRecord* find(std::string_view request_id) const;

  /// Takes the topology of the next records. It and the one before are kept alive; records of older
  /// ones are emptied, so that a reload frees their memory.
  void adopt(std::shared_ptr<const Topology> next);
  /// Whether a record may refer to this topology.
  bool keeps(const Topology* topology) const {
    return topology == kept_[0].get() || topology == kept_[1].get();
  }

 private:
  std::vector<ExplainRecord> records_;
  std::size_t next_ = 0;
  std::array<std::shared_ptr<const Topology>, 2> kept_;  ///< the newest one first
};

}  // namespace karmad
