#include "agent/dialect/manticore_sql/statements/show.hpp"

#include "agent/dialect/manticore_sql/rows/merge_plain.hpp"
#include "agent/dialect/manticore_sql/rows/text_table.hpp"
#include "agent/dialect/manticore_sql/table_name.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {
namespace {

/// The elements of an array, without the brackets; empty: it is no array.
std::string_view inside_of(std::string_view array) {
  const auto begin = array.find_first_not_of(kJsonSpace);
  const auto end = array.find_last_not_of(kJsonSpace);
  if (begin == array.npos || begin == end || array[begin] != '[' || array[end] != ']') return {};
  return array.substr(begin + 1, end - begin - 1);
}

/// The result set of SHOW CREATE TABLE with that name of the table in its row.
std::string with_table_name(std::string_view set, std::string_view table) {
  constexpr std::string_view kCreate = "\"CREATE TABLE ";
  std::string name;
  JsonLine(name).add_escaped(table);
  std::string named;
  std::size_t copied = 0;
  const auto replace = [&](std::string_view part) {
    const auto at = static_cast<std::size_t>(part.data() - set.data());
    named.append(set.substr(copied, at - copied)).append(name);
    copied = at + part.size();
  };
  std::string_view mirrors;
  const auto visit = [&](std::string_view key, std::string_view value) {
    if (!is_string(value)) return true;
    if (key == "Table") {
      mirrors = without_quotes(value);
      replace(mirrors);
    } else if (key == "Create Table" && value.starts_with(kCreate) &&
               value.substr(kCreate.size()).starts_with(mirrors)) {
      replace(value.substr(kCreate.size(), mirrors.size()));
    }
    return true;
  };
  visit_members(set, [&](std::string_view key, std::string_view value) {
    JsonCursor json(value);
    if (key != "data" || !is_array(value)) return true;
    JsonElements rows(json);
    if (rows.next()) visit_members(json, visit);
    return true;
  });
  return named.append(set.substr(copied));
}

class OneShard final : public FanOut {
 public:
  /// `shown_table`: the client's name of the table, to be shown instead of the mirror's; empty: no name
  /// is shown.
  OneShard(std::string statement, TextRange table, RowForm form, KeptSets kept,
           std::string shown_table = {})
      : statement_(std::move(statement)),
        table_(std::move(shown_table)),
        begin_(table.begin),
        end_(table.end),
        form_(form),
        kept_(kept) {}

  bool asks(std::size_t shard) const override { return shard == 0; }

  void write(std::size_t, std::span<const std::string> tables, std::string& body) const override {
    append_with_tables(body, statement_, begin_, end_, tables);
  }

  std::string_view content_type() const override { return content_type_of(form_); }

  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes&,
                                std::string& out) const override {
    const auto answer = whole_value(replies[0].body);
    if (!answer) return BadReply{0, "the answer is not JSON"};
    if (kept_ == KeptSets::whole_answer) {
      out.append(*answer);
      return std::nullopt;
    }
    auto sets = inside_of(replies[0].body);
    if (sets.empty()) return BadReply{0, "the answer is not a list of result sets"};
    if (kept_ == KeptSets::last) sets = last_of(replies[0].body);
    if (sets.empty()) return BadReply{0, "a result set is malformed"};
    std::string named;
    if (!table_.empty()) {
      named = with_table_name(sets, table_);
      sets = named;
    }
    return append_sets(out, sets);
  }

 private:
  static std::string_view last_of(std::string_view array) {
    std::string_view last;
    JsonCursor json(array);
    skip_space(json);
    JsonElements elements(json);
    while (elements.next()) {
      const auto value = take_value(json);
      if (!value) return {};
      last = *value;
    }
    return last;
  }

  std::optional<BadReply> append_sets(std::string& out, std::string_view sets) const {
    if (form_ != RowForm::text) {
      out.append("[").append(sets).append("]");
      return std::nullopt;
    }
    std::string raw;
    raw.append("[").append(sets).append("]");
    if (append_text_of(raw, out)) return std::nullopt;
    return BadReply{0, "a result set is malformed"};
  }

  std::string statement_;
  std::string table_;
  std::size_t begin_;
  std::size_t end_;
  RowForm form_;
  KeptSets kept_;
};

/// Rows of all shards.
class AllShards final : public FanOut {
 public:
  AllShards(std::string statement, TextRange table, RowForm form, PlainMerge how)
      : statement_(std::move(statement)),
        begin_(table.begin),
        end_(table.end),
        form_(form),
        how_(how) {}

  void write(std::size_t, std::span<const std::string> tables, std::string& body) const override {
    append_with_tables(body, statement_, begin_, end_, tables);
  }
  std::string_view content_type() const override { return content_type_of(form_); }
  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes& notes,
                                std::string& out) const override {
    return merge_plain(how_, replies, form_, out, notes.warning);
  }

 private:
  std::string statement_;
  std::size_t begin_;
  std::size_t end_;
  RowForm form_;
  PlainMerge how_;
};

}  // namespace

std::unique_ptr<FanOut> plan_show(std::string_view statement, const ShowStatement& show,
                                  RowForm form) {
  using Object = ShowStatement::Object;
  const bool threads = show.object == Object::threads;
  const TextRange table{show.table_begin, show.table_end};
  if (!threads && show.object != Object::table_status)
    return std::make_unique<OneShard>(
        std::string(statement), table, form, KeptSets::all,
        show.object == Object::create_table ? show.table : std::string());
  const auto how = threads ? PlainMerge::concatenated : PlainMerge::added;
  return std::make_unique<AllShards>(std::string(statement), table, form, how);
}

std::unique_ptr<FanOut> plan_for_one_shard(std::string statement, TextRange table, RowForm form,
                                           KeptSets kept) {
  return std::make_unique<OneShard>(std::move(statement), table, form, kept);
}

}  // namespace karmad
