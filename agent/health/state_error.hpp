#pragma once

#include <optional>

#include "agent/health/error_hint.hpp"
#include "agent/health/state.hpp"

namespace karmad {

/// The state of the mirror that an error body reports (SD-023): a numeric `code` (10107, 13435,
/// 10058: not primary; 11602, 13436, 189: recovering; 11600, 91: shutting down), or a `type` of
/// `not_primary`, `recovering`, `shutting_down`; at the top, in `error` or in `writeConcernError`.
/// A known code has precedence. A version mark `{"version": {"process_id": …, "counter": …}}`
/// beside it or at the top is read too. `refused_as_replica`: the answer says by its sub-status
/// that the mirror is not the primary (CO-032), which counts where the body tells no state. Nothing
/// for other bodies and for those of more than 64 KB.
///
/// `nothing_done` is set for refusals before any work: the codes of "not primary", 13436, and the
/// type `not_primary`, and the sub-status. Not for the others, which may interrupt work, nor for a
/// `writeConcernError`, nor if the body lists or counts completed parts of a batch.
std::optional<UseError> state_error(const ErrorBody& body, bool refused_as_replica = false);

}  // namespace karmad
