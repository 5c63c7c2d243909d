#include "agent/dialect/merge/merge_steps.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <utility>

#include "agent/dialect/replies/error_text.hpp"
#include "agent/dialect/replies/judge.hpp"
#include "agent/dialect/write/write_hits.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestReason = 500;
/// Most failed parts that an answer lists.
constexpr std::size_t kMostListed = 64;

/// What became of a change in one shard: it is done only if all its mirrors that were asked have
/// done it.
struct ShardEnd {
  std::size_t shard = 0;
  std::size_t parts = 0;
  std::size_t done = 0;
  const ChangeReply* answer = nullptr;   ///< the first mirror's that did it; null: none did
  const ChangeReply* refusal = nullptr;  ///< the first error answer; null: there is none
  bool failed() const { return done < parts; }
};

/// The ends of the shards that were asked, in their order.
std::vector<ShardEnd> shard_ends(std::span<const ChangeReply> replies) {
  std::vector<ShardEnd> ends;
  for (const auto& reply : replies) {
    if (ends.empty() || ends.back().shard != reply.shard) ends.push_back({.shard = reply.shard});
    auto& end = ends.back();
    ++end.parts;
    if (reply.done) {
      ++end.done;
      if (end.answer == nullptr) end.answer = &reply;
    } else if (end.refusal == nullptr && !reply.body.empty()) {
      end.refusal = &reply;
    }
  }
  return ends;
}

/// Turns replies that `reads` cannot read into failed ones: such an answer does not tell what was
/// changed.
std::vector<ChangeReply> checked(std::span<const ChangeReply> replies,
                                 bool (*reads)(std::string_view body)) {
  std::vector<ChangeReply> all(replies.begin(), replies.end());
  for (auto& reply : all) {
    if (!reply.done || reads(reply.body)) continue;
    reply.done = false;
    reply.body = {};
    reply.reason =
        fmt::format("may have taken effect: agent {}: its answer cannot be read", reply.mirror);
  }
  return all;
}

/// The refusal, if no part is done and every mirror refused the change as the client's mistake.
const ChangeReply* common_refusal(std::span<const ChangeReply> replies) {
  const bool all = !replies.empty() && std::ranges::all_of(replies, [](const auto& reply) {
    return !reply.done && !reply.body.empty();
  });
  return all ? &replies.front() : nullptr;
}

/// Why a part failed, in at most some hundred bytes: the reason, or the text of its error body.
std::string failure_text(const ChangeReply& reply) {
  auto text = reply.reason;
  if (text.empty()) {
    const auto error = agent_error_text(reply.body);
    text = error.empty() ? fmt::format("agent {}: status {}", reply.mirror, reply.status)
                         : fmt::format("agent {}: {}", reply.mirror, error);
  }
  text.resize(shortened_utf8(text, kLongestReason).size());
  return text;
}

/// The error that all failed parts have in common, in the server's words: the client's mistake;
/// empty: there is none.
std::string common_error(std::span<const ChangeReply> replies) {
  std::string common;
  for (const auto& reply : replies) {
    if (reply.done) continue;
    auto error = reply.reason.empty() ? agent_error_text(reply.body) : std::string();
    if (error.empty() || (!common.empty() && error != common)) return {};
    common = std::move(error);
  }
  common.resize(shortened_utf8(common, kLongestReason).size());
  return common;
}

/// All failures in a line: `shard 2: agent 10.0.0.1:9308: connection refused; …`; an error that
/// they have in common is told alone.
std::string failures_line(std::span<const ChangeReply> replies) {
  auto line = common_error(replies);
  if (!line.empty()) return line;
  std::size_t listed = 0;
  for (const auto& reply : replies) {
    if (reply.done || listed++ >= kMostListed) continue;
    if (!line.empty()) line += "; ";
    fmt::format_to(std::back_inserter(line), "shard {}: {}", reply.shard + 1, failure_text(reply));
  }
  if (listed > kMostListed)
    fmt::format_to(std::back_inserter(line), "; and {} more", listed - kMostListed);
  return line;
}

/// Appends the answer to a change that failed in part, or everywhere for different reasons:
/// `{"error":{"type":"update_incomplete","reason":…,"failed":[…],"changed":…},"status":500}`.
/// `changed`: JSON of what the other shards and mirrors did; empty: nothing. Returns the status.
int append_incomplete(std::string& out, std::span<const ChangeReply> replies,
                      std::string_view changed) {
  const auto failed = std::ranges::count(replies, false, &ChangeReply::done);
  JsonLine json(out);
  json.add(
      R"({"error":{"type":"update_incomplete","reason":)",
      Quoted(fmt::format("the update failed in {} of {} parts{}: {}", failed, replies.size(),
                         std::cmp_less(failed, replies.size()) ? ", the others carried it out" : "",
                         failures_line(replies))),
      R"(,"failed":[)");
  std::size_t listed = 0;
  for (const auto& reply : replies) {
    if (reply.done || listed >= kMostListed) continue;
    json.add(listed++ == 0 ? R"({"shard":)" : R"(,{"shard":)", reply.shard + 1, R"(,"mirror":)",
             Quoted(reply.mirror), R"(,"status":)", reply.status, R"(,"reason":)",
             Quoted(failure_text(reply)), '}');
  }
  json.add(']');
  if (!changed.empty()) json.add(R"(,"changed":)", changed);
  json.add(R"(},"status":500})");
  return 500;
}

/// Longer answers keep the mirror's name of the table: replacing it takes several passes.
constexpr std::size_t kLongestNamedAnswer = 1 << 20;

/// The objects of an answer that may name the table.
enum class Names : std::uint8_t { answer, result, error };

/// Adds the values in an object that name the table: its own members, those of its `error`, and of
/// the results in its `items`. Older releases use other names. False: it is malformed.
bool add_places(std::string_view object, Names of, std::vector<std::string_view>& places) {
  const auto add_of_result = [&](std::string_view, std::string_view value) {
    return !is_object(value) || add_places(value, Names::result, places);
  };
  return visit_members(object, [&](std::string_view key, std::string_view value) {
    const bool names = key == "table" || key == "index" || key == "_index";
    if (names && is_string(value)) places.push_back(value);
    if (of != Names::error && key == "error" && is_object(value))
      return add_places(value, Names::error, places);
    if (of != Names::answer || key != "items" || !is_array(value)) return true;
    return visit_elements(value, [&](std::string_view item) {
      return !is_object(item) || visit_members(item, add_of_result);
    });
  });
}

}  // namespace

std::optional<std::string> with_table(std::string_view answer, std::string_view table) {
  std::vector<std::string_view> places;
  if (answer.size() > kLongestNamedAnswer || !add_places(answer, Names::answer, places))
    return std::nullopt;
  std::string name;
  JsonLine(name).add_quoted(table);
  std::vector<Replaced> names;
  for (const auto place : places)
    if (place != name) names.push_back({place, name});
  if (names.empty()) return std::nullopt;
  std::string named;
  append_replaced(named, answer, names);
  return named;
}

namespace {

/// Appends the refusal of an update with the client's name of the table, and returns its status.
int pass_refusal_on(std::string& out, const ChangeReply& refusal, std::string_view table) {
  out.append(with_table(refusal.body, table).value_or(std::string(refusal.body)));
  return refusal.status;
}

constexpr std::array<std::string_view, 3> kChangeCounts{"updated", "deleted", "created"};

/// How much a `result` says that the shard had the document.
int result_rank(std::string_view result) {
  return result == R"("not found")" ? 1 : result == R"("noop")" ? 2 : 3;
}

/// Whether the answer to one update can be read: an object that tells what was done, in a text
/// `result` (`created`, `updated`, `deleted`, `noop`, `not found`) or in a count (`updated`,
/// `deleted`, `created`), which must be a whole number.
bool is_update_answer(std::string_view body) {
  bool has_result = false;
  const bool whole = visit_members(body, [&](std::string_view key, std::string_view value) {
    if (key == "result") has_result = is_string(value);
    if (std::ranges::find(kChangeCounts, key) == kChangeCounts.end())
      return key != "result" || has_result;
    const bool counted = number_in<std::uint64_t>(value).has_value();
    has_result = has_result || counted;
    return counted || value == "true" || value == "false";  // `created` of one document
  });
  return whole && has_result;
}

/// One answer for those of all shards, at least one, which can be read: counts
/// (`updated`, `deleted`, `created`) are summed. By id the answer is that of the shard that had the
/// document (`updated`, `deleted`, `created`), else one with `noop`, else `not found`. A warning
/// of any shard is kept.
std::string merged_update_answer(std::span<const std::string_view> bodies) {
  std::array<std::uint64_t, kChangeCounts.size()> sums{};
  std::string_view best;
  std::string_view warning;
  int best_rank = -1;
  for (const auto body : bodies) {
    int rank = 0;
    std::string_view warned;
    visit_members(body, [&](std::string_view key, std::string_view value) {
      if (key == "result") rank = result_rank(value);
      if (key == "warning") warned = value;
      for (std::size_t i = 0; i < kChangeCounts.size(); ++i)
        if (key == kChangeCounts[i]) sums[i] += number_in<std::uint64_t>(value).value_or(0);
    });
    if (warning.empty()) warning = warned;
    if (rank > best_rank) best = body;
    best_rank = std::max(rank, best_rank);
  }
  std::string merged;
  JsonLine out(merged);
  char before = '{';
  const auto add = [&](std::string_view key, const auto& value) {
    out.add(std::exchange(before, ','), '"', key, R"(":)", value);
  };
  visit_members(best, [&](std::string_view key, std::string_view value) {
    const auto* const count = std::ranges::find(kChangeCounts, key);
    if (count != kChangeCounts.end() && number_in<std::uint64_t>(value))
      add(key, sums[static_cast<std::size_t>(count - kChangeCounts.begin())]);
    else if (key != "warning")
      add(key, value);
  });
  if (!warning.empty()) add("warning", warning);
  out.add(before == '{' ? "{}" : "}");
  return merged;
}

}  // namespace

int merge_ends(const UpdateCounts& how, const ChangeEnds& ends, std::string& out) {
  if (const auto* refusal = common_refusal(ends.replies))
    return pass_refusal_on(out, *refusal, how.table);
  const auto replies = checked(ends.replies, is_update_answer);
  std::vector<std::string_view> bodies;  // of one mirror of each shard
  int status = 200;
  for (const auto& end : shard_ends(replies)) {
    if (end.answer == nullptr) continue;
    bodies.push_back(end.answer->body);
    status = end.answer->status;
  }
  const auto merged = bodies.empty() ? std::string() : merged_update_answer(bodies);
  const auto named = with_table(merged, how.table).value_or(merged);
  if (!std::ranges::all_of(replies, &ChangeReply::done))
    return append_incomplete(out, replies, named);
  out.append(named);
  return status;
}

namespace {

/// What the answer to a change says.
struct ChangeCount {
  std::uint64_t rows = 0;
  std::string warning;
};

/// The number before the words.
std::optional<std::uint64_t> number_before(std::string_view words, std::string_view text) {
  const auto end = text.find(words);
  if (end == text.npos) return std::nullopt;
  const auto before = text.substr(0, end);
  const auto begin = before.find_last_not_of("0123456789") + 1;  // 0 if there is none
  return number_in<std::uint64_t>(before.substr(begin));
}

/// Reads an answer, `[{"total":1,"error":"","warning":""}]` or the text of /cli,
/// `Query OK, 1 row affected (0.000 sec)`; nothing if it is malformed.
std::optional<ChangeCount> read_change_answer(std::string_view body) {
  const auto first = body.find_first_not_of(kJsonSpace);
  if (first == body.npos) return std::nullopt;
  ChangeCount count;
  if (body[first] != '[' && body[first] != '{') {
    const auto rows = number_before(" row", body);
    count.rows = rows.value_or(0);
    return rows ? std::optional(count) : std::nullopt;
  }
  JsonCursor json(body);
  if (body[first] == '[') take(json, '[');
  bool has_total = false;
  const bool whole = visit_members(json, [&](std::string_view key, std::string_view value) {
    if (key == "total") {
      const auto rows = number_in<std::uint64_t>(value);
      has_total = rows.has_value();
      count.rows = rows.value_or(0);
    }
    if (key == "warning" && is_string(value)) count.warning = json_unescaped(without_quotes(value));
  });
  return whole && has_total ? std::optional(std::move(count)) : std::nullopt;
}

/// Appends an answer, as a text for RowForm::text; `error` empty: none.
void append_change_answer(std::string& out, RowForm form, const ChangeCount& count,
                          std::string_view error) {
  if (form == RowForm::text) {
    if (error.empty())
      fmt::format_to(std::back_inserter(out), "Query OK, {} affected (0.000 sec)\n",
                     counted_noun(count.rows, "row"));
    else
      fmt::format_to(std::back_inserter(out), "ERROR: {}; {} affected elsewhere\n", error,
                     counted_noun(count.rows, "row"));
    return;
  }
  JsonLine(out).add(R"([{"total":)", count.rows, R"(,"error":)", Quoted(error), R"(,"warning":)",
                    Quoted(count.warning), "}]");
}

/// How many values inside JSON an UPDATE could not change, because the rows have none there: the
/// number at the beginning of such an error or warning. 0: it is another text.
std::uint64_t values_not_there(std::string_view text) {
  return number_before(" attribute(s) can not be updated", text).value_or(0);
}

/// Whether mirrors whose rows lack the value are all that have not done it. A server with all rows
/// would have changed the others.
bool only_lack_values(std::span<const ChangeReply> replies) {
  return std::ranges::all_of(replies, [](const ChangeReply& reply) {
    return reply.done || values_not_there(agent_error_text(reply.body)) != 0;
  });
}

/// Passes on that all mirrors refuse the change.
int pass_sql_refusal_on(std::string& out, const ChangeReply& refusal, const SqlCounts& how) {
  const auto error = agent_error_text(refusal.body);
  if (error.empty())
    out.append(refusal.body);
  else
    append_error_body(out, error_for_client(error, {how.written, how.read, how.table}));
  return refusal.status == 200 ? 500 : refusal.status;
}

}  // namespace

int merge_ends(const SqlCounts& how, const ChangeEnds& ends, std::string& out) {
  if (const auto* refusal = common_refusal(ends.replies))
    return pass_sql_refusal_on(out, *refusal, how);
  const auto replies = checked(
      ends.replies, [](std::string_view body) { return read_change_answer(body).has_value(); });
  ChangeCount sum;
  std::uint64_t lacking = 0;
  const ChangeReply* refusal = nullptr;
  for (const auto& end : shard_ends(replies)) {
    if (end.refusal != nullptr) {
      refusal = end.refusal;
      lacking += values_not_there(agent_error_text(refusal->body));
    }
    if (end.answer == nullptr) continue;
    auto count = *read_change_answer(end.answer->body);
    sum.rows += count.rows;
    const auto values = values_not_there(count.warning);
    lacking += values;
    if (!count.warning.empty() && values == 0)
      sum.warning.append(sum.warning.empty() ? "" : "; ").append(count.warning);
  }
  const bool lack_values = refusal != nullptr && only_lack_values(replies);
  if (lack_values && sum.rows == 0) return pass_sql_refusal_on(out, *refusal, how);
  if (lacking != 0)
    fmt::format_to(std::back_inserter(sum.warning),
                   "{}{} attribute(s) can not be updated (not found or incompatible types)",
                   sum.warning.empty() ? "" : "; ", lacking);
  const bool done = lack_values || std::ranges::all_of(replies, &ChangeReply::done);
  append_change_answer(out, how.form, sum, done ? std::string() : failures_line(replies));
  return done ? 200 : 500;
}

namespace {

/// The answer of a mirror to a bulk. The views are into it.
struct BulkAnswer {
  std::vector<std::string_view> items;
  std::size_t current_line = 0;
  std::size_t skipped_lines = 0;
  bool errors = false;

  /// Lines up to this one, from 1, are committed.
  std::size_t committed() const {
    return errors ? current_line - std::min(current_line, skipped_lines) : std::string_view::npos;
  }
};

/// Nothing if it is malformed.
std::optional<BulkAnswer> read_bulk_answer(std::string_view body) {
  BulkAnswer answer;
  bool has_items = false;
  const bool whole = visit_members(body, [&](std::string_view key, std::string_view value) {
    if (key == "items") {
      has_items = true;
      return visit_elements(value, [&](std::string_view item) {
        answer.items.push_back(item);
        return is_object(item);
      });
    }
    if (key == "current_line") answer.current_line = number_in<std::size_t>(value).value_or(0);
    if (key == "skipped_lines") answer.skipped_lines = number_in<std::size_t>(value).value_or(0);
    if (key == "errors") answer.errors = value == "true";
    return true;
  });
  return whole && has_items ? std::optional(std::move(answer)) : std::nullopt;
}

bool is_bulk_answer(std::string_view body) {
  return read_bulk_answer(body).has_value();
}

/// The refusal of a whole bulk, if no part is done and no answer tells of lines; null otherwise.
const ChangeReply* bulk_refusal(std::span<const ChangeReply> replies) {
  return std::ranges::any_of(replies, is_bulk_answer, &ChangeReply::body) ? nullptr
                                                                          : common_refusal(replies);
}

/// The sum of the items `bulk` of one group.
class GroupSum {
 public:
  void add(std::string_view result) {
    any_ = true;
    std::size_t status = 0;
    std::string_view word;
    visit_members(result, [&](std::string_view key, std::string_view value) {
      for (std::size_t i = 0; i < kNames.size(); ++i)
        if (key == kNames[i]) sums_[i] += number_in<std::size_t>(value).value_or(0);
      if (key == "status") status = number_in<std::size_t>(value).value_or(0);
      if (key == "result") word = value;
      if (key == "_id" && (id_.empty() || value != "0")) id_ = value;  // 0: of a query
    });
    if (status < status_ || word.empty()) return;
    status_ = status;
    word_ = word;
  }

  bool any() const { return any_; }

  /// `id`: the last one of the request that was carried out; empty: what the mirrors said.
  void append(JsonLine& out, std::string_view table, std::string_view id) const {
    out.add(R"({"bulk":{"table":)", Quoted(table));
    const auto shown = id.empty() ? id_ : id;
    if (!shown.empty()) out.add(R"(,"_id":)", shown);
    for (std::size_t i = 0; i < kNames.size(); ++i) out.add(R"(,")", kNames[i], R"(":)", sums_[i]);
    if (!word_.empty()) out.add(R"(,"result":)", word_);
    out.add(R"(,"status":)", status_, "}}");
  }

 private:
  static constexpr std::array<std::string_view, 3> kNames{"created", "deleted", "updated"};
  std::array<std::size_t, kNames.size()> sums_{};
  std::size_t status_ = 0;
  std::string_view word_;
  std::string_view id_;
  bool any_ = false;
};

/// All lines of the shard, and the number of their groups.
std::pair<ShardLines, std::size_t> lines_of(const BulkSplit& split, std::size_t shard) {
  std::pair<ShardLines, std::size_t> all;
  for (const auto& line : split.lines)
    if (line.goes_to(shard) && all.first.advance(line)) ++all.second;
  return all;
}

/// The answer of a shard and how far it is told.
struct ShardAnswer : ShardLines {
  ShardEnd end;
  std::optional<BulkAnswer> answer;  ///< none: its lines failed
  std::size_t groups = 0;
  std::size_t next = 0;      ///< of its items
  std::string_view error{};  ///< the item of a line that is still to come

  bool per_line() const { return answer->items.size() > groups; }
  std::string_view next_item() {
    return next < answer->items.size() ? answer->items[next++] : std::string_view();
  }
};

/// The answer that speaks for all mirrors of a shard: of those that failed, the one that committed
/// least. Nothing if one of them does not tell what it committed.
std::optional<BulkAnswer> answer_of(const ShardEnd& end, std::span<const ChangeReply> replies) {
  if (!end.failed()) return read_bulk_answer(end.answer->body);
  std::optional<BulkAnswer> least;
  for (const auto& reply : replies) {
    if (reply.shard != end.shard || reply.done) continue;
    auto answer = read_bulk_answer(reply.body);
    if (!answer) return std::nullopt;
    if (!least || answer->committed() < least->committed()) least = std::move(answer);
  }
  return least;
}

class BulkWriter {
 public:
  /// The replies that are done are readable. `table`: the client's name.
  BulkWriter(std::string& out, std::string_view table, const ChangeEnds& ends)
      : ends_(ends), table_(table), out_(out) {
    for (const auto& end : shard_ends(ends.replies)) {
      auto& shard = shards_.emplace_back();
      shard.end = end;
      shard.answer = answer_of(end, ends.replies);
      failed_ = failed_ || end.failed();
      const auto [lines, groups] = lines_of(*ends.split, end.shard);
      shard.groups = groups;
      // An error in none of its lines says of none that it was carried out.
      if (end.failed() && shard.answer && shard.answer->committed() >= lines.number)
        shard.answer.reset();
    }
  }

  int write() {
    out_.add(R"({"items":[)");
    const auto& lines = ends_.split->lines;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      add_line(i);
      if (i + 1 == lines.size() || lines[i + 1].group != lines[i].group) end_group();
    }
    for (auto& shard : shards_) {
      if (!shard.error.empty()) add_raw(shard.error);
      while (shard.answer && shard.next < shard.answer->items.size()) add_raw(shard.next_item());
    }
    out_.add(R"(],"current_line":)", ends_.split->line_count, R"(,"skipped_lines":)", skipped_,
             failed_ ? R"(,"errors":true,"error":)" : R"(,"errors":false,"error":)",
             Quoted(failures_line(ends_.replies)), '}');
    const auto* const refusal = common_refusal(ends_.replies);
    return !failed_ ? 200 : refusal != nullptr ? refusal->status : 500;
  }

 private:
  /// An item and the position of its line.
  struct PlacedItem {
    std::size_t line = 0;
    std::string item;
  };

  void add_line(std::size_t at) {
    const auto& line = ends_.split->lines[at];
    bool skipped = false;
    for (auto& shard : shards_) {
      if (!line.goes_to(shard.end.shard)) continue;
      const bool opens = shard.advance(line);
      skipped = skipped || !shard.answer || shard.number > shard.answer->committed();
      if (!shard.answer)
        items_.push_back({at, error_item(line, shard.end)});
      else if (opens || shard.per_line())
        take(at, shard);
      if (shard.answer && shard.number >= shard.answer->current_line) place_error(at, shard);
    }
    if (!everywhere_.empty())
      items_.push_back(
          {at, fmt::format(R"({{"{}":{}}})", word_, merged_update_answer(everywhere_))});
    everywhere_.clear();
    if (!skipped) {
      last_done_ = at;
      if (auto id = line.id_text(ends_.body); !id.empty()) last_id_ = std::move(id);
    }
    skipped_ += skipped ? 1 : 0;
  }

  /// Takes the next item of the shard. An error is kept until its line comes.
  void take(std::size_t at, ShardAnswer& shard) {
    const auto item = shard.next_item();
    if (item.empty()) return;
    // The only member of an item: what was done, and how it ended.
    const auto [word, result] = PassedMembers(item).next().value_or(PassedMembers::Member());
    if (!is_object(result) || !last_member(result, "error").empty()) {
      shard.error = item;
      if (shard.per_line()) place_error(at, shard);
    } else if (word == "bulk") {
      sum_.add(result);
    } else if (ends_.split->lines[at].shard == BulkLine::kEveryShard) {
      everywhere_.push_back(result);
      word_ = word;
    } else {
      items_.emplace_back(at, std::string(item));
    }
  }

  void place_error(std::size_t at, ShardAnswer& shard) {
    if (shard.error.empty()) return;
    items_.emplace_back(at, std::string(shard.error));
    shard.error = {};
  }

  /// The item of the transaction stands at the last line that it carried out.
  void end_group() {
    if (sum_.any()) {
      auto& sum = items_.emplace_back(last_done_.value_or(kAtEnd), std::string());
      JsonLine json(sum.item);
      sum_.append(json, table_, last_id_);
    }
    std::ranges::stable_sort(items_, {}, &PlacedItem::line);
    for (const auto& placed : items_) add_raw(placed.item);
    sum_ = {};
    items_.clear();
    last_done_.reset();
    last_id_.clear();
  }

  std::string error_item(const BulkLine& line, const ShardEnd& end) const {
    std::string item;
    JsonLine json(item);
    json.add(R"({")", bulk_word(line.verb), R"(":{"table":)", Quoted(table_));
    if (line.id.end != 0) json.add(R"(,"_id":)", line.id_text(ends_.body));
    json.add(R"(,"error":{"type":"shard_failed","reason":)",
             Quoted(fmt::format("shard {}: confirmed by {} of {} mirrors", end.shard + 1, end.done,
                                end.parts)),
             R"(,"table":)", Quoted(table_), R"(},"status":503}})");
    return item;
  }

  void add_raw(std::string_view item) {
    if (!std::exchange(first_, false)) out_.add(',');
    out_.add(item);
  }

  static constexpr std::size_t kAtEnd = std::string_view::npos;

  const ChangeEnds& ends_;
  std::string_view table_;
  JsonLine out_;
  std::vector<ShardAnswer> shards_;
  bool failed_ = false;
  bool first_ = true;
  std::size_t skipped_ = 0;

  // Of the current group:
  GroupSum sum_;
  std::vector<PlacedItem> items_;
  std::optional<std::size_t> last_done_;  ///< position of the last line that was carried out
  std::string last_id_;  ///< the last id in lines that were carried out; empty: they have queries

  // Of the current line, if it goes to all shards:
  std::vector<std::string_view> everywhere_;  ///< their results
  std::string_view word_;
};

}  // namespace

int merge_ends(const BulkItems& items, const ChangeEnds& ends, std::string& out) {
  if (const auto* refusal = bulk_refusal(ends.replies))
    return pass_refusal_on(out, *refusal, items.table);
  const auto replies = checked(ends.replies, is_bulk_answer);
  const auto begin = out.size();
  const auto status = BulkWriter(out, items.table, {replies, ends.body, ends.split}).write();
  if (const auto named = with_table(std::string_view(out).substr(begin), items.table))
    out.replace(begin, std::string::npos, *named);
  return status;
}

namespace {

constexpr auto kAllLines = std::string_view::npos;
/// Most bytes of a reason, except in the first item of a shard that fails: each of a million lines
/// can have one.
constexpr std::size_t kLongestRepeated = 100;

/// What a mirror said that has not committed all of its lines.
struct BulkFailure {
  std::size_t committed = 0;  ///< lines up to this one, from 1
  int status = 400;
  std::string reason{};           ///< for its first line in the answer …
  std::string repeated_reason{};  ///< … and for the others
};

/// How far the mirrors of a shard carried its lines out.
struct ShardProgress : ShardLines {
  std::vector<BulkFailure> failures;

  /// Why the line, the next one of this shard, is not committed by all mirrors; null: it is.
  BulkFailure* next(const BulkLine& line) {
    advance(line);
    for (auto& failure : failures)
      if (number > failure.committed) return &failure;
    return nullptr;
  }
};

std::vector<ShardProgress> shards_progress(std::span<const ChangeReply> replies,
                                           const BulkSplit& split) {
  std::vector<ShardProgress> all(replies.empty() ? 0 : replies.back().shard + 1);
  ShardLines last;  // of the shard of the reply
  for (const auto& reply : replies) {
    if (&reply == replies.data() || reply.shard != (&reply - 1)->shard)
      last = lines_of(split, reply.shard).first;
    const auto answer = read_bulk_answer(reply.body);
    auto committed = answer ? answer->committed() : 0;
    if (reply.done && committed == kAllLines) continue;
    if (committed >= last.number) committed = 0;  // an error, but not of which line
    auto reason = common_error({&reply, 1});
    if (reason.empty()) reason = failure_text(reply);
    std::string repeated(shortened_utf8(reason, kLongestRepeated));
    all[reply.shard].failures.push_back({.committed = committed,
                                         .status = reply.body.empty() ? 503 : 400,
                                         .reason = std::move(reason),
                                         .repeated_reason = std::move(repeated)});
  }
  return all;
}

void add_bulk_success(JsonLine& out, std::string_view action) {
  const bool makes = action == "index" || action == "create";
  out.add(R"(,"_version":1,"result":")",
          makes                ? "created"
          : action == "update" ? "updated"
                               : "deleted",
          R"(","_shards":{"total":1,"successful":1,"failed":0},"_seq_no":0,"_primary_term":1,)",
          makes ? R"("status":201}})" : R"("status":200}})");
}

void add_bulk_failure(JsonLine& out, BulkFailure& failure) {
  out.add(R"(,"error":{"type":)",
          failure.status == 400 ? R"("mapper_parsing_exception")" : R"("shard_failed")",
          R"(,"reason":)", Quoted(failure.reason), R"(},"status":)", failure.status, "}}");
  failure.reason = failure.repeated_reason;
}

/// The beginning of the item for a line, with its id.
void add_item_head(JsonLine& out, const ElasticBulkItems& items, std::string_view body,
                   const BulkSplit& split, std::size_t at) {
  out.add(R"({")", items.actions[at], R"(":{"_index":)", Quoted(items.table),
          R"(,"_type":"doc","_id":)");
  const auto& line = split.lines[at];
  if (line.id.end == 0)
    out.add("null");
  else
    out.add_quoted(line.id_text(body));
}

}  // namespace

int merge_ends(const ElasticBulkItems& items, const ChangeEnds& ends, std::string& out) {
  if (const auto* refusal = bulk_refusal(ends.replies))
    return pass_refusal_on(out, *refusal, items.table);
  const auto& split = *ends.split;
  auto shards = shards_progress(checked(ends.replies, is_bulk_answer), split);
  const bool errors =
      std::ranges::any_of(shards, [](const auto& shard) { return !shard.failures.empty(); });
  std::string whole;
  {
    JsonLine line(items.filter_path.empty() ? out : whole);
    line.add(R"({"took":0,"errors":)", errors ? "true" : "false", R"(,"items":[)");
    for (std::size_t i = 0; i < split.lines.size(); ++i) {
      BulkFailure* failed = nullptr;
      for (std::size_t s = 0; s < shards.size(); ++s) {
        if (!split.lines[i].goes_to(s)) continue;
        if (auto* const failure = shards[s].next(split.lines[i])) failed = failure;
      }
      if (i != 0) line.add(',');
      add_item_head(line, items, ends.body, split, i);
      failed == nullptr ? add_bulk_success(line, items.actions[i])
                        : add_bulk_failure(line, *failed);
    }
    line.add("]}");
  }
  if (!items.filter_path.empty()) append_filtered(out, whole, items.filter_path);
  return errors ? 500 : 200;
}

}  // namespace karmad
