#pragma once

#include "agent/dialect/request/sql_statement.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "balancer/core/query.hpp"

namespace karmad {

enum class StatusForm : std::uint8_t { raw, text, rows };

/// The rows as an answer of karmad; without columns: that the statement is done.
Answer rows_answer(ResultSet set, StatusForm form);

/// Answers about karmad itself. This thread reads the numbers; with many agents a helper thread
/// writes the answer.
Task<Answer> answer_agents(Query& query);
Task<Answer> answer_status(Query& query);
Task<Answer> answer_metrics(Query& query);
Task<Answer> statement_answer(Query& query, StatusStatement statement, StatusForm form);

}  // namespace karmad
