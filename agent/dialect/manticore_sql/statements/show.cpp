#include "agent/dialect/manticore_sql/statements/show.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/manticore_sql/sql_tokens.hpp"
#include "agent/dialect/manticore_sql/table_name.hpp"
#include "agent/json/json_cursor.hpp"

namespace karmad {
namespace {

using Kind = SqlToken::Kind;

std::unexpected<ClientError> no_show(std::string reason) {
  return std::unexpected(ClientError{400, std::move(reason)});
}

constexpr std::string_view kShown =
    "SHOW CREATE TABLE t, SHOW TABLE t STATUS, SHOW TABLE t SETTINGS, SHOW THREADS, SHOW SETTINGS "
    "and SHOW VARIABLES";

/// The table at `token`, and the place that names it.
Parsed named_at(const SqlToken& token) {
  auto name = token.text;
  if (token.kind == Kind::name) name = name.substr(1, name.size() - 2);
  return {.table = std::string(name),
          .table_begin = token.at,
          .table_end = token.at + token.text.size(),
          .planned = true};
}

/// The words after SHOW that name no table.
bool names_none(const SqlToken& token) {
  return token.is_word("threads") || token.is_word("settings") || token.is_word("variables");
}

/// The elements of an array, without the brackets; empty: it is no array.
std::string_view inside_of(std::string_view array) {
  const auto begin = array.find_first_not_of(kJsonSpace);
  const auto end = array.find_last_not_of(kJsonSpace);
  if (begin == array.npos || begin == end || array[begin] != '[' || array[end] != ']') return {};
  return array.substr(begin + 1, end - begin - 1);
}

class OneShard final : public FanOut {
 public:
  OneShard(std::string statement, const Parsed& parsed, RowForm form, KeptSets kept)
      : statement_(std::move(statement)),
        begin_(parsed.table_begin),
        end_(parsed.table_end),
        form_(form),
        kept_(kept) {}

  bool asks(std::size_t shard) const override { return shard == 0; }

  void write(std::size_t, std::span<const std::string> tables, std::string& body) const override {
    append_with_tables(body, statement_, begin_, end_, tables);
  }

  std::string_view content_type() const override { return content_type_of(form_); }

  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes&,
                                std::string& out) const override {
    auto sets = inside_of(replies[0].body);
    if (sets.empty()) return BadReply{0, "the answer is not a list of result sets"};
    if (kept_ == KeptSets::last) sets = last_of(replies[0].body);
    if (sets.empty()) return BadReply{0, "a result set is malformed"};
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
    out.append("[").append(sets).append("]");
    return std::nullopt;
  }

  std::string statement_;
  std::size_t begin_;
  std::size_t end_;
  RowForm form_;
  KeptSets kept_;
};

}  // namespace

std::expected<Parsed, ClientError> read_show(std::string_view statement) {
  SqlTokens tokens(statement);
  tokens.next();  // SHOW
  const auto what = tokens.next();
  if (names_none(what)) return Parsed{.table = {}, .planned = true};
  const bool creates = what.is_word("create");
  if (creates) {
    const auto table = tokens.next();
    if (!table.is_word("table")) return no_show(fmt::format("known are {}", kShown));
  }
  const auto table = tokens.next();
  if (!table.names_table())
    return no_show(fmt::format("expected the name of a table at offset {}", table.at));
  if (!creates) {
    const auto of = tokens.next();
    if (!of.is_word("status") && !of.is_word("settings"))
      return no_show(
          fmt::format("expected STATUS or SETTINGS at offset {}; known are {}", of.at, kShown));
  }
  for (auto token = tokens.next(); token.kind != Kind::end; token = tokens.next())
    if (token.kind == Kind::ambiguous || token.kind == Kind::unfinished || token.is_sign(';'))
      return no_show(fmt::format("the statement is not understood at offset {}", token.at));
  return named_at(table);
}

std::unique_ptr<FanOut> plan_show(std::string statement, const Parsed& parsed, RowForm form) {
  return plan_for_one_shard(std::move(statement), parsed, form, KeptSets::all);
}

std::unique_ptr<FanOut> plan_for_one_shard(std::string statement, const Parsed& parsed,
                                           RowForm form, KeptSets kept) {
  return std::make_unique<OneShard>(std::move(statement), parsed, form, kept);
}

}  // namespace karmad
