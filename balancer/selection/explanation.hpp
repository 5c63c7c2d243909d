#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Starts the record of a query for explanations, if they are kept (`explain_requests`) or its
/// client asks for one. Called again for a query that is planned again: the record starts again.
void begin_explanation(Query& query, const Table& table, const Need& need);

/// The record of the query; null: there is none, or later requests have replaced it.
inline ExplainRecord* explanation(const Query& query) {
  return query.record.explained_in == nullptr
             ? nullptr
             : query.record.explained_in->at(query.record.explained_at, query.record.id);
}

/// Completes the record with the end of the query.
void end_explanation(const Query& query, int status, TimePoint now);

/// Fills an empty record with what a request to this table would see now: of each shard one choice
/// with its candidates, without the draw and without an attempt. Sends nothing and takes nothing.
/// `query` has the read preference; choices are those of its worker.
void explain_now(const Query& query, const Table& table, Operation operation,
                 ExplainRecord& record);

}  // namespace karmad
