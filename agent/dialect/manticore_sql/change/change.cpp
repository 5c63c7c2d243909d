#include "agent/dialect/manticore_sql/change/change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <vector>

#include "agent/dialect/changes/body_edit.hpp"
#include "agent/dialect/changes/change_plan.hpp"
#include "agent/dialect/manticore_sql/change/change_answer.hpp"
#include "agent/dialect/manticore_sql/table_name.hpp"

namespace karmad {

namespace {

class SqlChangePlan final : public ChangePlan {
 public:
  SqlChangePlan(std::string_view statement, ChangeStatement change, RowForm form,
                ShardLayout layout)
      : statement_(statement), change_(std::move(change)), form_(form), layout_(std::move(layout)) {
    for (auto& row : change_.rows) {
      if (!needs_made_id(row.id, layout_)) continue;
      row.made_id = layout_.make_id();
      row.id = DocumentId::of(row.made_id);
    }
    if (!by_id()) return;
    asked_.resize(layout_.shards);
    if (change_.id) asked_[change_.id->shard(layout_.shards)] = true;
    for (const auto& row : change_.rows) asked_[row.id->shard(layout_.shards)] = true;
  }

  bool asks(std::size_t shard) const override { return asked_.empty() || asked_[shard]; }

  std::string_view content_type() const override { return content_type_of(form_); }

  void write(std::size_t shard, std::span<const std::string> tables,
             std::string& body) const override {
    const auto& rows = change_.rows;
    std::string table;
    append_table_names(table, tables.first(1),
                       std::string_view(statement_)
                           .substr(change_.table_begin, change_.table_end - change_.table_begin));
    const bool adds_column = change_.columns_begin != 0 && !rows.empty() && rows[0].made_id != 0;
    std::array edits{BodyEdit{{change_.table_begin, change_.table_end}, table},
                     BodyEdit{adds_column ? ByteRange{change_.columns_begin, change_.columns_begin}
                                          : ByteRange{},
                              "id,"}};
    const auto head = rows.empty() ? statement_.size() : rows.front().begin;
    append_edited(body, statement_, {0, head}, edits);
    bool first = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!asked_.empty() && rows[i].id->shard(layout_.shards) != shard) continue;
      if (!first) body.append(statement_, rows[i - 1].end, rows[i].begin - rows[i - 1].end);
      append_row(body, rows[i]);
      first = false;
    }
    if (!rows.empty()) body.append(statement_, rows.back().end);
  }

  std::uint64_t last_insert_id() const override { return change_.last_row_id(); }

  int merge_changes(std::span<const ChangeReply> given, std::string& out) const override {
    if (const auto* refusal = common_refusal(given)) {
      out.append(refusal->body);
      return refusal->status == 200 ? 500 : refusal->status;
    }
    const auto replies =
        checked(given, [](std::string_view body) { return read_change_answer(body).has_value(); });
    ChangeCount sum;
    for (const auto& end : shard_ends(replies)) {
      if (end.answer == nullptr) continue;
      auto count = *read_change_answer(end.answer->body);
      sum.rows += count.rows;
      if (!count.warning.empty())
        sum.warning.append(sum.warning.empty() ? "" : "; ").append(count.warning);
    }
    const bool done = std::ranges::all_of(replies, &ChangeReply::done);
    append_change_answer(out, form_, sum, done ? std::string() : failures_line(replies));
    return done ? 200 : 500;
  }

 private:
  /// Whether only the shards of its documents are asked.
  bool by_id() const {
    if (layout_.by != ShardBy::id || layout_.shards == 1) return false;
    return change_.makes_documents() || change_.id;
  }

  void append_row(std::string& body, const ChangeStatement::Row& row) const {
    std::string id;
    if (row.made_id != 0) {
      id = fmt::to_string(row.made_id);
      if (row.id_place.begin == row.id_place.end) id += ',';
    }
    BodyEdit edit{id.empty() ? ByteRange{} : row.id_place, id};
    append_edited(body, statement_, {row.begin, row.end}, {&edit, 1});
  }

  std::string statement_;
  ChangeStatement change_;
  RowForm form_;
  ShardLayout layout_;
  std::vector<bool> asked_;  ///< empty: all shards
};

}  // namespace

std::expected<std::unique_ptr<FanOut>, ClientError> plan_change(std::string_view statement,
                                                                ChangeStatement change,
                                                                RowForm form, ShardLayout layout) {
  if (change.makes_documents()) {
    if (layout.shards > 1 && layout.by == ShardBy::none)
      return std::unexpected(ClientError{
          400, fmt::format("table {} has {} shards, and karmad does not know to which shard a row "
                           "belongs; set shard_by = id in the table (the shard is then a hash of "
                           "the id), or use a table of one shard",
                           change.table, layout.shards)});
    for (const auto& row : change.rows)
      if (const auto why = check_document_id(row.id, layout, row.id_place.in(statement)))
        return std::unexpected(
            ClientError{400, fmt::format("the row at offset {} {}", row.begin, *why)});
    const bool needs_ids = layout.shards > 1 || layout.copies;
    if (needs_ids && !change.trouble.empty())
      return std::unexpected(ClientError{
          400, fmt::format("{} (table {} {})", change.trouble, change.table,
                           layout.shards > 1 ? "has shard_by = id"
                                             : "has updates = all: each mirror would make ids of "
                                               "its own")});
  }
  return std::make_unique<SqlChangePlan>(statement, std::move(change), form, layout);
}

}  // namespace karmad
