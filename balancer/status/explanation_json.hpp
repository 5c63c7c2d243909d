#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "balancer/explain/explain_record.hpp"

namespace karmad {

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
