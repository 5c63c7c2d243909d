#pragma once

#include <optional>

#include "agent/mirrors/error_body.hpp"
#include "agent/mirrors/state.hpp"

namespace karmad {

/// What the body of an error answer says about the mirror's state (SD-023): a numeric `code`
/// (10107, 13435, 10058: not primary; 11602, 13436, 189: recovering; 11600, 91: shutting down), or
/// a `type` of `not_primary`, `recovering`, `shutting_down`; either at the top, in `error` or in
/// `writeConcernError`. The code decides where there is one. With the version mark
/// `{"version": {"process_id": …, "counter": …}}`, beside what decided or at the top, when it has
/// one. Nothing for other bodies, nor for one of more than 64 KB.
///
/// `nothing_done` for a refusal before anything was begun: the numbers of "not primary", 13436, and
/// the type `not_primary`. Not for the others, which may break off what was begun, nor for a
/// `writeConcernError`, nor where the body lists or counts what was done of a batch.
std::optional<UseError> state_error(const ErrorBody& body);

}  // namespace karmad
