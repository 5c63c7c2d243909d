#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// What the answer to a change says.
struct ChangeCount {
  std::uint64_t rows = 0;
  std::string warning;
};

/// Reads an answer, `[{"total":1,"error":"","warning":""}]` or the text of /cli,
/// `Query OK, 1 row affected (0.000 sec)`; nothing if it is malformed.
std::optional<ChangeCount> read_change_answer(std::string_view body);

/// Appends an answer, as a text for RowForm::text; `error` empty: none.
void append_change_answer(std::string& out, RowForm form, const ChangeCount& count,
                          std::string_view error);

/// The rows that the shards changed are added.
struct SqlCounts {
  RowForm form = RowForm::raw;
};

/// As merge_changes().
int merge_sql_changes(const SqlCounts& how, std::span<const ChangeReply> replies, std::string& out);

}  // namespace karmad
