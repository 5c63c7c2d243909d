#include "agent/dialect/manticore_sql/select/select_fan_out.hpp"

#include "agent/dialect/manticore_json/reply.hpp"
#include "agent/dialect/manticore_sql/rows/merge_select.hpp"
#include "agent/dialect/manticore_sql/select/plan_select.hpp"

namespace karmad {

namespace {

class SelectFanOut final : public FanOut {
 public:
  explicit SelectFanOut(ShardSelect select) : select_(std::move(select)) {}

  void write(std::size_t, std::span<const std::string> tables, std::string& body) const override {
    append_statements(body, select_, tables);
  }

  bool prefers(std::size_t shard, std::string_view mirror) const override {
    const auto& scroll = select_.plan.scroll;
    return scroll && scroll->prefers(shard, mirror);
  }

  std::string_view content_type() const override { return content_type_of(select_.plan.form); }

  /// At `/sql` errors of the parser have status 400, at `/sql?mode=raw` 500.
  int refusal_status(int status, std::string_view body) const override {
    const bool hits = select_.plan.form == RowForm::hits;
    return hits && status == 500 && agent_error_text(body).starts_with("P01:") ? 400 : status;
  }

  unsigned merge_weight() const override { return karmad::merge_weight(select_.plan); }

  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes& notes,
                                std::string& out) const override {
    return merge_select(select_.plan, replies, notes, out);
  }

 private:
  ShardSelect select_;
};

}  // namespace

std::expected<std::unique_ptr<FanOut>, ClientError> make_select_fan_out(std::string_view statement,
                                                                        RowForm form,
                                                                        Collation collation,
                                                                        const ScrollPlace& place) {
  auto select = plan_select(statement, form, collation, place);
  if (!select) return std::unexpected(std::move(select.error()));
  return std::make_unique<SelectFanOut>(std::move(*select));
}

}  // namespace karmad
