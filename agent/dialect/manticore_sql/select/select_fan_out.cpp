#include "agent/dialect/manticore_sql/select/select_fan_out.hpp"

#include "agent/dialect/manticore_json/reply.hpp"
#include "agent/dialect/manticore_json/vectors/nearest_to_document.hpp"
#include "agent/dialect/manticore_sql/rows/merge_select.hpp"
#include "agent/dialect/manticore_sql/rows/raw_replies.hpp"
#include "agent/dialect/manticore_sql/select/plan_select.hpp"
#include "agent/dialect/manticore_sql/table_name.hpp"
#include "agent/dialect/merge/infinities.hpp"

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
  /// As SearchPlan.
  bool may_be_partial() const override { return !select_.plan.scroll; }

  std::string_view content_type() const override { return content_type_of(select_.plan.form); }

  /// At `/sql` errors of the parser have status 400, at `/sql?mode=raw` 500.
  int refusal_status(int status, std::string_view body) const override {
    const bool hits = select_.plan.form == RowForm::hits;
    return hits && status == 500 && agent_error_text(body).starts_with("P01:") ? 400 : status;
  }

  unsigned merge_weight() const override { return karmad::merge_weight(select_.plan); }

  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes& notes,
                                std::string& out) const override {
    const bool is_table = select_.plan.form == RowForm::text;
    return merge_with_infinities(replies, out, is_table, [&](std::span<const ShardReply> readable) {
      return merge_select(select_.plan, readable, notes, out);
    });
  }

 private:
  ShardSelect select_;
};

/// KNN() by the id of a document.
class SelectNearDocument final : public NearestToDocument {
 public:
  SelectNearDocument(ShardSelect select, ShardSelect::Document document, const SqlSelect& given,
                     RowForm form, Collation collation, ShardLayout layout)
      : NearestToDocument(std::make_unique<SelectFanOut>(std::move(select)),
                          std::move(document.attribute), std::move(document.id), layout),
        given_(given),
        form_(form),
        collation_(collation) {}

 private:
  void write_look_up(std::span<const std::string> tables, std::string& body) const override {
    body.append("SELECT ").append(attribute()).append(" FROM ");
    append_table_names(body, tables);
    body.append(" WHERE id=").append(id()).append(" LIMIT 1");
  }

  std::expected<std::optional<std::string_view>, std::string> vector_in(
      std::string_view reply) const override {
    RawReplies replies;
    const ShardReply only{reply};
    if (auto bad = replies.read({&only, 1}, 1, LastSet::whole))
      return std::unexpected(std::move(bad->reason));
    const auto& set = replies.set(0, 0);
    if (set.columns == 0) return std::nullopt;
    std::vector<std::string_view> cells(set.columns);
    switch (RawRows(set.rows).next(replies.columns_of(set), cells.data())) {
      case RawRows::Step::row:
        return cells.front();
      case RawRows::Step::end:
        return std::nullopt;
      case RawRows::Step::malformed:
        break;
    }
    return std::unexpected("a row is malformed");
  }

  std::expected<std::unique_ptr<FanOut>, ClientError> search_by(
      std::string_view vector) const override {
    auto select = plan_select(given_, form_, collation_, {}, vector);
    if (!select) return std::unexpected(std::move(select.error()));
    return std::make_unique<SelectFanOut>(*std::move(select));
  }

  const SqlSelect& given_;
  const RowForm form_;
  const Collation collation_;
};

}  // namespace

std::expected<std::unique_ptr<FanOut>, ClientError> make_select_fan_out(const SqlSelect& given,
                                                                        RowForm form,
                                                                        Collation collation,
                                                                        const ScrollPlace& place,
                                                                        ShardLayout layout) {
  auto select = plan_select(given, form, collation, place);
  if (!select) return std::unexpected(std::move(select.error()));
  if (auto document = select->document) {
    if (layout.shards == 1)
      return std::unexpected(ClientError{400, "one shard has the document: send it the statement"});
    return std::make_unique<SelectNearDocument>(*std::move(select), *std::move(document),
                                                given, form, collation, layout);
  }
  return std::make_unique<SelectFanOut>(std::move(*select));
}

}  // namespace karmad
