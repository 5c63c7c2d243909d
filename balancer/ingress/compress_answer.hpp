#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Compresses the body of an answer, or the beginning of one with a `rest`, where `compress` says
/// so, the client takes it and the worker has time for it. Then `answer.coding` is set, and with a
/// `rest` `answer.compressor`. Not what an agent has compressed or forbids to change (RFC 9110
/// section 7.7). `memory`: of the request. The arguments must outlive the task.
Task<void> compress_answer(Query& query, Answer& answer, MemoryHolder* memory);

/// Replaces a piece of the `rest` by its compressed form, which may be empty. Call after the piece
/// was read.
Task<void> compress_piece(Worker& worker, Answer& answer, std::string& piece);

}  // namespace karmad
