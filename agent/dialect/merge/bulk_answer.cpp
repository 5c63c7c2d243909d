#include "agent/dialect/merge/bulk_answer.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "agent/dialect/merge/change_counts.hpp"
#include "agent/dialect/replies/change_replies.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {

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
      JsonCursor json(value);
      JsonElements elements(json);
      while (elements.next()) {
        answer.items.push_back(take_value(json).value_or(""));
        if (!is_object(answer.items.back())) return false;
      }
      return elements.complete();
    }
    if (key == "current_line") answer.current_line = whole_number<std::size_t>(value).value_or(0);
    if (key == "skipped_lines") answer.skipped_lines = whole_number<std::size_t>(value).value_or(0);
    if (key == "errors") answer.errors = value == "true";
    return true;
  });
  if (!whole || !has_items) return std::nullopt;
  return answer;
}

bool is_bulk_answer(std::string_view body) {
  return read_bulk_answer(body).has_value();
}

/// The refusal of a whole bulk, if no part is done and no answer tells of lines; null otherwise.
const ChangeReply* bulk_refusal(std::span<const ChangeReply> replies) {
  return std::ranges::any_of(replies, is_bulk_answer, &ChangeReply::body) ? nullptr
                                                                          : common_refusal(replies);
}

/// The ends of a bulk's parts in the shards.
struct BulkEnds {
  std::string_view body;  ///< of the client's request
  std::string_view table;
  const BulkSplit* split = nullptr;
  std::span<const ChangeReply> replies;  ///< done ones are readable
};

bool item_has_error(std::string_view result) {
  return !is_object(result) || !last_member(result, "error").empty();
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
        if (key == kNames[i]) sums_[i] += whole_number<std::size_t>(value).value_or(0);
      if (key == "status") status = whole_number<std::size_t>(value).value_or(0);
      if (key == "result") word = value;
      if (key == "_id" && (id_.empty() || value != "0")) id_ = value;  // 0: of a query
      return true;
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

/// Where a walk through the lines of the client's bulk is in the bulk of one shard.
struct ShardLines {
  std::size_t number = 0;  ///< of the last line in the shard's own bulk
  std::optional<std::uint32_t> group;

  /// To the next line of the shard; whether it opens a group.
  bool advance(const BulkLine& line) {
    const bool opens = group != line.group;
    number += group && opens ? 2 : 1;
    group = line.group;
    return opens;
  }
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
  BulkWriter(std::string& out, const BulkEnds& ends) : ends_(ends), out_(out) {
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
    if (item_has_error(result)) {
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
      sum_.append(json, ends_.table, last_id_);
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
    json.add(R"({")", bulk_word(line.verb), R"(":{"table":)", Quoted(ends_.table));
    if (line.id.end != 0) json.add(R"(,"_id":)", line.id_text(ends_.body));
    json.add(R"(,"error":{"type":"shard_failed","reason":)",
             Quoted(fmt::format("shard {}: confirmed by {} of {} mirrors", end.shard + 1, end.done,
                                end.parts)),
             R"(,"table":)", Quoted(ends_.table), R"(},"status":503}})");
    return item;
  }

  void add_raw(std::string_view item) {
    if (!std::exchange(first_, false)) out_.add(',');
    out_.add(item);
  }

  static constexpr std::size_t kAtEnd = std::string_view::npos;

  const BulkEnds& ends_;
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

std::size_t BulkItems::item_size() const {
  constexpr std::size_t kWithoutNames = 170;
  return kWithoutNames + 2 * table.size();
}

int merge_bulk(const BulkItems& items, std::string_view body, const BulkSplit& split,
               std::span<const ChangeReply> given, std::string& out) {
  if (const auto* refusal = bulk_refusal(given)) return pass_refusal_on(out, *refusal, items.table);
  const auto replies = checked(given, is_bulk_answer);
  const auto begin = out.size();
  const auto status = BulkWriter(out, {body, items.table, &split, replies}).write();
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
    const auto found = std::ranges::find_if(
        failures, [&](const BulkFailure& failure) { return number > failure.committed; });
    return found == failures.end() ? nullptr : &*found;
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
    auto reason = failure_text(reply);
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

std::size_t ElasticBulkItems::item_size() const {
  constexpr std::size_t kWithoutTable = 200;
  return kWithoutTable + table.size();
}

int merge_elastic_bulk(const ElasticBulkItems& items, std::string_view body, const BulkSplit& split,
                       std::span<const ChangeReply> given, std::string& out) {
  if (const auto* refusal = bulk_refusal(given)) return pass_refusal_on(out, *refusal, items.table);
  auto shards = shards_progress(checked(given, is_bulk_answer), split);
  const bool errors =
      std::ranges::any_of(shards, [](const auto& shard) { return !shard.failures.empty(); });
  JsonLine line(out);
  line.add(R"({"took":0,"errors":)", errors ? "true" : "false", R"(,"items":[)");
  for (std::size_t i = 0; i < split.lines.size(); ++i) {
    BulkFailure* failed = nullptr;
    for (std::size_t s = 0; s < shards.size(); ++s) {
      if (!split.lines[i].goes_to(s)) continue;
      if (auto* const failure = shards[s].next(split.lines[i])) failed = failure;
    }
    if (i != 0) line.add(',');
    add_item_head(line, items, body, split, i);
    failed == nullptr ? add_bulk_success(line, items.actions[i]) : add_bulk_failure(line, *failed);
  }
  line.add("]}");
  return errors ? 500 : 200;
}

}  // namespace karmad
