#include "demo/sql/show.hpp"

#include <chrono>

#include "demo/data/text.hpp"
#include "demo/engine/change.hpp"

namespace karmad::demo {

namespace {

class ScriptRun {
 public:
  ScriptRun(const SqlServer& server, Complaint& complaint)
      : server_(server), complaint_(complaint) {}

  void run(const Statement& statement) {
    switch (statement.kind) {
      case Statement::Kind::select:
        return select(statement);
      case Statement::Kind::show_meta:
        out_.push_back(text_rows({"Variable_name", "Value"}, meta_));
        keep_like(out_.back(), statement.like);
        return;
      case Statement::Kind::show_scroll:
        out_.push_back(text_rows({"scroll_token"}, {{scroll_}}));
        return;
      case Statement::Kind::show_warnings:
      case Statement::Kind::set:
        out_.emplace_back();
        return;
      case Statement::Kind::change:
        return change(statement);
      case Statement::Kind::call:
        out_.push_back(call(server_, statement, complaint_));
        return;
      default:
        out_.push_back(show(server_, statement));
    }
  }

  std::vector<ResultSet> results() { return std::move(out_); }

 private:
  void select(const Statement& statement) {
    if (!server_.query_table.empty() && collate(statement.select.table, server_.query_table) == 0) {
      out_.push_back(stored_queries(server_, statement.select));
      return;
    }
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto& index = server_.index_of(statement.select.table);
    auto main = run_select(index, statement.select);
    const std::chrono::duration<double> took = Clock::now() - start;
    meta_ = meta_of(index, statement.select, main, took.count());
    scroll_ = main.scroll;
    add(std::move(main), statement.select, statement);
    for (const auto& facet : statement.facets) {
      add(run_select(index, facet), facet, statement);
      out_.back().facet = facet.items.front().without_alias;
    }
  }

  void add(ResultSet result, const Select& select, const Statement& statement) {
    if (!result.matched && result.rows.empty())
      result.columns = raw_schema(select, statement.select, statement.facets);
    out_.push_back(std::move(result));
  }

  /// All rows of an INSERT or none.
  void change(const Statement& statement) {
    ResultSet result;
    Undo undo;
    for (auto row : statement.changes) {
      using Kind = RowChange::Kind;
      if (server_.changing == nullptr) {
        ++result.changed;
        continue;
      }
      if (row.kind == Kind::update || row.kind == Kind::erase)
        row.ids = found_ids(*server_.changing, statement.select);
      const auto done = change_rows(*server_.changing, row, complaint_, &undo);
      result.changed += done.rows;
      result.warning = done.warning;
    }
    if (complaint_ && server_.changing != nullptr) roll_back(*server_.changing, undo);
    out_.push_back(std::move(result));
  }

  const SqlServer& server_;
  Complaint& complaint_;
  MetaRows meta_{{"total", "0"}, {"total_found", "0"}, {"total_relation", "eq"}, {"time", "0.000"}};
  std::string scroll_;
  std::vector<ResultSet> out_;
};

}  // namespace

std::vector<ResultSet> run_script(const SqlServer& server, std::span<const Statement> statements,
                                  Complaint& complaint) {
  ScriptRun run(server, complaint);
  for (const auto& statement : statements)
    if (!complaint) run.run(statement);
  return run.results();
}

}  // namespace karmad::demo
