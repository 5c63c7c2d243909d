#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/core/worker.hpp"
#include "balancer/explain/explain_record.hpp"
#include "balancer/status/snapshot.hpp"

namespace karmad {

/// A gate with its own JSON format: its name and object.
struct GateText {
  std::string_view name;
  std::string json;
};

/// Appends the document of `GET /admission`: every gate in the order of the pipeline with settings
/// and statistics (AC-015), the probing with its last decision (AC-027), the counters. `in_front`:
/// the gates before the tickets. docs/admission.md describes every name.
void append_admission_json(std::string& out, const Worker& worker,
                           std::span<const GateText> in_front = {});

/// Statistics of the rate limiters for `GET /admission`, with the names of AC-044 and AC-055:
/// `queues`, `connections`, `metrics` and `network`.
std::vector<GateText> rate_texts(const Worker& worker);

/// The mirrors of a shard, counted by what they can do.
SetCount count_of(const ShardStatus& shard);

/// How a shard is: the number of its ready mirrors and the diagnosis of the worst one.
std::string diagnosis(const Snapshot& snapshot, const ShardStatus& shard);

/// How the whole process is, in one line: `all well`, or the worst shard or mirror and the number
/// of others in trouble. A shard without a mirror that can be asked is worst.
std::string verdict(const Snapshot& snapshot);

/// Appends the document of `GET /agents`: the state of each mirror, by table and shard; null for
/// values not measured. docs/status.md describes every name.
void append_agents_json(std::string& out, const Snapshot& snapshot);

inline constexpr std::string_view kExplainPath = "/explain";

/// The rule by which this mirror was not a candidate of the choice; empty: it was one. From the
/// recorded numbers only.
std::string removed_by(const ExplainRecord& record, const ExplainedChoice& choice,
                       std::size_t mirror);

/// Appends what karmad decided about a request as a JSON document: of each shard its choices, of
/// each choice every mirror as the choice saw it, the draw, the result and the attempt.
/// `now`, `wall`: the same moment on two clocks.
void append_explanation(std::string& out, const ExplainRecord& record, TimePoint now,
                        std::chrono::system_clock::time_point wall);

/// The same as the value of a header; if that would be longer than 4 KiB or not printable ASCII,
/// only its id and the path where it can be read.
std::string explanation_field(const ExplainRecord& record, TimePoint now,
                              std::chrono::system_clock::time_point wall);

}  // namespace karmad
