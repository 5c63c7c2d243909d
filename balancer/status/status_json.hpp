#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/stats/stats_writer.hpp"
#include "balancer/core/worker.hpp"
#include "balancer/explain/explain_record.hpp"
#include "balancer/status/snapshot.hpp"

namespace karmad {

/// What the system says of the process; empty: it does not say.
struct ProcessNumbers {
  Micros cpu{};  ///< of all threads, since the start
  std::optional<std::uint64_t> resident_memory;
  std::optional<std::uint64_t> virtual_memory;
  std::optional<std::uint64_t> open_fds;
  std::optional<std::uint64_t> max_fds;
};

/// Reads the numbers. Takes about a microsecond for each open descriptor.
ProcessNumbers process_numbers();

/// With the names that all Prometheus clients use, behind `process_`.
void write(StatsWriter& out, const ProcessNumbers& process);

/// The media type of the Prometheus text format.
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

/// Appends every number of the snapshot in the Prometheus text format, sorted by name. Names start
/// with `karmad_`, those of `system` with `process_`; times are in seconds, counters end in
/// `_total`. Values not measured are omitted; a limit that is not set is `+Inf`.
void append_metrics(std::string& out, const Snapshot& snapshot, const ProcessNumbers& system);

/// Appends the document of `GET /admission`: every gate in the order of the pipeline with settings
/// and statistics (AC-015), the probing with its last decision (AC-027), the counters.
/// docs/admission.md describes every name.
void append_admission_json(std::string& out, const Worker& worker);

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

/// Whether queries can be answered, as seen by `worker`: no `draining`, and every shard of `only`,
/// or of every table that is required, has a live mirror; if mirrors have roles or tags, one that
/// suits a search without a read preference. The body names what is missing, of `only` or of all
/// tables.
std::pair<bool, std::string> readiness(const Topology& topology, bool draining, unsigned worker,
                                       const Table* only = nullptr);

/// What an operator has to know of the certificates for clients: their files as they are now cannot
/// be used, or, in the last two weeks, one expires; changes once a day then. Empty: nothing.
std::string certificate_warning(const TlsServer& certificates,
                                std::chrono::system_clock::time_point now);

}  // namespace karmad
