#include "balancer/search/scatter_gather.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include "agent/dialect/plan/two_rounds.hpp"
#include "agent/json/json_text.hpp"
#include "balancer/admission/request_gate.hpp"
#include "balancer/core/long_work.hpp"
#include "balancer/core/query.hpp"
#include "balancer/selection/explanation.hpp"
#include "balancer/shard/error_attributions.hpp"
#include "balancer/shard/shard_driver.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {
namespace {

/// One query to the shards of its table, from the first attempt to the answer.
class ScatterGather {
 public:
  ScatterGather(Query& query, const Table& table, const Dialect& dialect)
      : query_(query),
        selection_(query.request.preference, table, query.topology->settings,
                   query.request.parsed.selection_class()),
        shard_query_{table, dialect, query.request.parsed, nullptr, selection_} {}

  bool is_long_to_plan() const {
    return needs_plan() && is_long_work(query_, query_.request.body.size());
  }
  /// Plans a long request on a helper thread before prepare(); an answer if that is not possible.
  Task<std::optional<Answer>> plan_on_helper() {
    auto plan = [this] { plan_result_ = plan_query(); };
    const auto end = co_await run_on_helper(query_, query_.request.body.size(), plan);
    if (end == ThreadPool::End::done) co_return std::nullopt;
    co_return long_work_failure(query_, end, Count::bad_requests);
  }

  /// All steps before a mirror is asked; an answer if the query ends there.
  std::optional<Answer> prepare() {
    query_.plan_again = false;
    query_.request.table = &shard_query_.table;
    query_.record.trace.table = shard_query_.table.name;
    begin_explanation(query_, shard_query_.table, selection_.need());
    if (needs_plan()) {
      auto plan = plan_result_ ? *std::move(plan_result_) : plan_query();
      if (!plan) return unmerged_.refused(plan.error());
      plan_ = *std::move(plan);
      shard_query_.plan = plan_.get();
      // Only for a client that asks for it: the text costs more than the rest of its record.
      if (query_.record.wants_explanation)
        if (auto* const record = explanation(query_)) record->plan = describe(*plan_);
    }
    if (!query_.former) {
      query_.worker.counters.add(Count::queries);
      if (shard_query_.table.shards.size() > 1) query_.worker.counters.add(Count::dist_queries);
    }
    if (crashed_mirrors()) {
      query_.worker.counters.add(Count::crashing_requests);
      return unmerged_.failed(502,
                              "two mirrors closed their connection on this request in the last 5 "
                              "minutes and then refused connections; it is not sent again");
    }
    if (!query_.former && !shard_query_.parsed.follow_up)
      send_to_blackholes(query_, shard_query_.table, shard_query_.dialect, shard_query_.parsed);
    using For = ShardParts::For;
    const bool each_mirror = changes_data() && goes_to_all_mirrors();
    parts_.make(query_, shard_query_, each_mirror ? For::mirror : For::shard);
    return std::nullopt;
  }

  /// The request to the only shard; null if there are several.
  ShardDriver* only_part() { return parts_.only(); }

  Task<void> ask_all() {
    std::size_t running = parts_.size();
    AsyncEvent all_done;
    for (auto& part : parts_) spawn(ask_one(*part, running, all_done));
    if (running > 0) co_await all_done;
  }

  /// Whether a shard moved or has new mirrors, and not all shards have answered.
  bool needs_new_plan() const {
    return query_.plan_again && may_replan() && !query_.stopped && !has_mistake_ &&
           !parts_.all_answered();
  }

  /// Whether the plan has begun a next round; its requests are ready then.
  bool begins_next_round() {
    if (!std::exchange(needs_next_round_, false) || query_.client.left) return false;
    record_and_release_all();
    has_mistake_ = false;
    parts_.make(query_, shard_query_, ShardParts::For::shard);
    return true;
  }

  /// Answers without a merge if possible, once all have ended; false: the replies must be merged.
  bool try_without_merge(Answer& answer) {
    if (query_.client.left || query_.resources.memory_denied()) return true;
    // Asked before an agreed mistake counts as a refusal: that says nothing about other parts.
    const bool tells_of_change = changes_data() && parts_.tell_of_change();
    if (!query_.record.attributions.empty()) compare_shards();
    if (tells_of_change) {
      auto* const denying =
          parts_.any_answered() || parts_.any_in_doubt() ? nullptr : parts_.denying();
      if (denying == nullptr) return false;
      unmerged_.pass_on(*denying, answer);
    } else if (parts_.any_crashed()) {
      answer = unmerged_.failed(502, unmerged_.reasons());
    } else if (auto* part = parts_.refusing()) {
      needs_next_round_ = plan_ && begins_round_after(part->reply().body());
      if (needs_next_round_) return false;
      unmerged_.pass_on(*part, answer);
    } else if (const auto* refused = parts_.whole_refusal(may_be_partial(), may_lack_all());
               refused != nullptr && !unmerged_.may_be_changed()) {
      query_.worker.counters.add(Count::queries_failed);
      answer = answer_with(*refused);
    } else if (!plan_) {
      unmerged_.answer_of_only_shard(answer);
    } else if (changes_data()) {
      answer = unmerged_.no_answer();
    } else {
      return false;
    }
    return true;
  }

  /// The value of X-Generation: a number if the table has one shard, else `SHARD=NUMBER,…` with
  /// those that told one (CO-077).
  std::string generations() const {
    if (generations_.empty()) return {};
    if (shard_query_.table.shards.size() == 1) return fmt::to_string(generations_.begin()->second);
    std::string text;
    for (const auto& [shard, generation] : generations_)
      fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : ",", shard + 1,
                     generation);
    return text;
  }

  void record_and_release_all() {
    note_generations();
    if (!query_.record.attributions.empty())
      confirm_remaining_errors(query_, shard_query_, Loop::now());
    for (auto& part : parts_) part->record_and_release();
  }

  /// The answer to a change that a mirror carried out or refused.
  Task<Answer> merge_changes() {
    const auto replies = parts_.change_replies();
    Answer answer;
    auto merge = [&] {
      answer.status = karmad::merge_changes(*plan_, replies, answer.body);
      if (answer.status >= 300) answer.body = clean_utf8(answer.body);
    };
    if (auto failed = co_await run_merge(answer, merge_changes_size(*plan_, replies), merge))
      co_return *std::move(failed);
    if (mistake_) {
      mistake_->reason += "; the request may have taken effect";
      co_return unmerged_.refused(*mistake_);
    }
    if (answer.status < 300) query_.record.last_insert_id = plan_->last_insert_id;
    if (answer.status >= 300) {
      const bool refused = !parts_.any_answered() && parts_.refusing() != nullptr;
      query_.worker.counters.add(refused ? Count::client_mistakes : Count::queries_failed);
      query_.record.trace.partial = parts_.any_answered();
      if (query_.record.trace.partial) query_.worker.counters.add(Count::updates_incomplete);
    }
    co_return answer;
  }

  bool changes_data() const { return plan_ != nullptr && plan_->changes_data(); }

  /// Those of failed shards, and of those that were not asked, are empty.
  std::vector<ShardReply> replies_of_shards() {
    std::vector<ShardReply> replies(shard_query_.table.shards.size());
    for (auto& part : parts_)
      if (part->answered()) replies[part->shard_at()] = {part->reply().body(), part->mirror_name()};
    return replies;
  }

  /// Begins the next round, merges, or finds a mistake of the client.
  std::optional<BadReply> take(std::span<const ShardReply> replies, const MergeNotes& notes,
                               std::string& body) {
    auto more = begin_next_round(*plan_, replies);
    needs_next_round_ = more && *more;
    if (needs_next_round_) return std::nullopt;
    auto bad = more ? merge(*plan_, replies, notes, body) : std::optional(std::move(more.error()));
    if (!bad || bad->status == 0) return bad;
    mistake_ = ClientError{bad->status, std::move(bad->reason)};
    return std::nullopt;
  }

  /// Takes the replies of a round; the answer counts unless the plan begins a next round.
  Task<Answer> merge_replies() {
    if (needs_next_round_) co_return Answer{};
    for (;;) {
      const auto missing =
          std::ranges::count_if(parts_, [](const ShardPart& part) { return !part->answered(); });
      if (missing == std::ssize(parts_) && !may_lack_all()) co_return unmerged_.no_answer();
      const bool timed_out = parts_.any_timed_out();
      if (missing > 0 && !may_be_partial()) co_return unmerged_.incomplete(missing);
      const auto replies = replies_of_shards();
      std::size_t size = 0;
      for (const auto& reply : replies) size += reply.body.size();
      Answer answer;
      AnswerRows rows;
      const auto warning = missing > 0 ? unmerged_.reasons() : std::string();
      const MergeNotes notes{
          .took = std::chrono::duration_cast<Micros>(
              Loop::now() - query_.record.part_began.value_or(query_.record.began)),
          .timed_out = timed_out,
          .warning = warning,
          .meta = query_.client.meta,
          .sets = query_.client.takes_rows ? &rows.sets : nullptr};
      std::optional<BadReply> bad;
      auto merge = [&] { bad = take(replies, notes, answer.body); };
      if (auto failed = co_await run_merge(answer, size, merge)) co_return *std::move(failed);
      if (needs_next_round_) co_return answer;
      if (mistake_) co_return unmerged_.refused(*mistake_);
      if (!bad) {
        if (missing > 0) {
          query_.worker.counters.add(Count::answers_partial);
          query_.record.trace.partial = true;
        }
        if (!rows.sets.empty()) keep_rows(std::move(rows), size, answer);
        co_return answer;
      }
      // Merging found an error in the reply: the shard is asked again, at another mirror.
      auto& part = **std::ranges::find_if(
          parts_, [&](const ShardPart& any) { return any->shard_at() == bad->shard; });
      part.reject(bad->reason);
      while (auto step = part.next()) co_await *std::move(step);
      if (query_.client.left) co_return Answer{};
      if (part.outcome() == Outcome::client_mistake) {
        unmerged_.pass_on(part, answer);
        co_return answer;
      }
    }
  }

 private:
  using PlanResult = std::expected<std::unique_ptr<Plan>, ClientError>;
  PlanResult plan_query() const {
    const auto& table = shard_query_.table;
    ShardLayout layout{table.shards.size(), table.shard_by, goes_to_copies()};
    if (!shard_query_.parsed.read)
      layout.make_id = [&ids = query_.worker.process.document_ids] {
        return ids.next(std::chrono::system_clock::now());
      };
    if (is_table_list(shard_query_.parsed.table)) layout.tables = tables_of_shards(table);
    auto plan = or_internal_error([&] {
      return shard_query_.dialect.plan(query_.request, shard_query_.parsed, std::move(layout));
    });
    if (!plan) return std::unexpected(std::move(plan.error()));
    return std::make_unique<Plan>(*std::move(plan));
  }

  bool begins_round_after(std::string_view error) {
    bool begins = false;
    const auto failed = internal_error_in([&] { begins = begin_round_after(*plan_, error); });
    if (failed) count_refused(query_.worker, failed->status, failed->reason);
    return begins;
  }

  /// Whether each mirror of a shard gets a part of its own (`updates = all`).
  bool goes_to_all_mirrors() const {
    return !shard_query_.parsed.read && shard_query_.table.updates == Updates::all;
  }
  bool goes_to_copies() const {
    return goes_to_all_mirrors() &&
           std::ranges::any_of(shard_query_.table.shards,
                               [](const auto& shard) { return shard->mirrors->size() > 1; });
  }

  /// Whether the same request crashed mirrors in the last minutes.
  bool crashed_mirrors() const {
    return std::ranges::any_of(shard_query_.table.shards, [this](const auto& shard) {
      const auto& crashing = shard->protection->crashing;
      return crashing.any() && crashing.contains(fingerprint(query_.request), Loop::now());
    });
  }

  /// Whether the query may start anew: a change only without other parts, or if none was sent.
  bool may_replan() const {
    if (const auto* rest = query_.request.rest; rest != nullptr && rest->begun()) return false;
    if (!changes_data() || parts_.size() == 1) return true;
    return std::ranges::none_of(parts_, [](const ShardPart& part) { return part->has_sent(); });
  }

  /// Calls `merge`, which writes `answer.body`: on a helper thread if it reads and writes so many
  /// bytes that it would block the worker. Another answer if that is not possible.
  template <class Merge>
  Task<std::optional<Answer>> run_merge(Answer& answer, std::size_t size, Merge& merge) {
    answer.content_type = plan_->content_type;
    if (answer.content_type.empty()) answer.content_type = shard_query_.table.dialect.content_type;
    const bool room =
        co_await reserve(query_.worker.loop, answer.memory, query_.resources.memory, size);
    if (!room) co_return Answer{};
    const auto began = Loop::now();
    auto work = [&] {
      if (auto failed = internal_error_in(merge)) mistake_ = std::move(failed);
      drop_spare_room(answer.body);
    };
    if (is_long_work(query_, size, plan_->merge_weight)) {
      const auto end = co_await run_on_helper(query_, size, work);
      if (query_.client.left) co_return Answer{};
      if (end != ThreadPool::End::done) co_return no_merge(end);
    } else {
      answer.body = query_.worker.loop.buffers.take();
      work();
    }
    answer.memory.charge(query_.resources.memory, answer.body.capacity());
    if (query_.record.wants_trace) note_merge(began);
    co_return std::nullopt;
  }

  /// Gives the answer the rows that were merged of replies of so many bytes, and these replies.
  void keep_rows(AnswerRows rows, std::size_t size, Answer& answer) {
    std::size_t made = 0;
    for (const auto& set : rows.sets) {
      made += set.cells.capacity() * sizeof(std::string_view);
      if (!set.made.empty()) made += size;  // copies of replies, or values made of them
    }
    for (auto& part : parts_)
      if (part->answered()) rows.replies.push_back(std::move(part->reply()));
    answer.memory.charge(query_.resources.memory, made);
    answer.rows = std::make_unique<AnswerRows>(std::move(rows));
  }

  /// The answer without a helper thread for the merge. After a change it is never one that clients
  /// repeat.
  Answer no_merge(ThreadPool::End end) {
    if (!changes_data()) return long_work_failure(query_, end, Count::queries_failed);
    return unmerged_.failed(504,
                            "no helper thread was free to make the answer (long_work_queue); the "
                            "request may have taken effect");
  }

  /// Whether the client's own request cannot be sent to the shards.
  bool needs_plan() const {
    return shard_query_.table.shards.size() > 1 || shard_query_.parsed.planned || goes_to_copies();
  }

  /// Adds the time since `began` to the trace: a merge may be repeated.
  void note_merge(TimePoint began) {
    query_.record.trace.merge = query_.record.trace.merge.value_or(Micros{0}) +
                                std::chrono::duration_cast<Micros>(Loop::now() - began);
  }

  /// Ends the parts only: the request may have further searches or statements.
  void cancel_parts() {
    for (auto& part : parts_) part->cancel();
  }

  Task<void> ask_one(ShardDriver& part, std::size_t& running, AsyncEvent& all_done) {
    while (auto step = part.next()) co_await *std::move(step);
    const bool moved = part.result().plan_again && may_replan();
    if (part.outcome() == Outcome::client_mistake && !moved && !has_mistake_ && !changes_data()) {
      has_mistake_ = true;
      cancel_parts();  // other mirrors would refuse it too
    }
    if (query_.plan_again && !part.answered() && may_replan()) cancel_parts();
    if (part.result().crashed) cancel_parts();  // mirrors of other shards may crash as well
    if (--running == 0) all_done.notify();
  }

  /// No shard answered and mirrors of several shards gave the same error: the client's mistake. An
  /// answer from any shard disproves it.
  void compare_shards() {
    if (parts_.any_answered()) {
      for (const auto& part : parts_)
        discard_errors(query_, shard_query_, part->shard(), Loop::now());
      return;
    }
    for (auto& part : parts_) {
      const auto& result = part->result();
      if (result.outcome == Outcome::agent_error && result.mirror &&
          is_mistake_in_all_shards(query_, shard_query_, part->shard(), *result.mirror,
                                   Loop::now()))
        return part->take_as_mistake();
    }
  }

  /// Notes what the parts that answered told of their data. Of several rounds the newest counts,
  /// and of copies that got the same change the oldest: each of them has the change.
  void note_generations() {
    std::map<std::size_t, std::uint64_t> now;
    for (auto& part : parts_) {
      if (!part->answered()) continue;
      const auto told = part->reply().generation;
      if (!told) continue;
      const auto [place, is_first] = now.emplace(part->shard_at(), *told);
      if (!is_first) place->second = std::min(place->second, *told);
    }
    for (const auto& [shard, generation] : now)
      generations_[shard] = std::max(generations_[shard], generation);
  }

  bool may_be_partial() const {
    if (plan_ != nullptr && !plan_->may_be_partial) return false;
    return query_.request.partial_results.value_or(shard_query_.table.partial_results) ==
           PartialResults::allow;
  }

  /// Whether the answer may lack all shards that were asked: there are others.
  bool may_lack_all() const { return plan_ != nullptr && !plan_->needs_reply && may_be_partial(); }

  Query& query_;
  Selection selection_;
  ShardQuery shard_query_;
  std::optional<PlanResult> plan_result_;  ///< made before prepare() for a long request
  std::unique_ptr<Plan> plan_;
  ShardParts parts_;
  UnmergedAnswers unmerged_{query_, shard_query_, parts_};
  std::map<std::size_t, std::uint64_t> generations_;  ///< by place of the shard; of all rounds
  bool has_mistake_ = false;
  bool needs_next_round_ = false;
  std::optional<ClientError> mistake_;  ///< shown by the replies of a round
};

}  // namespace

Task<Answer> scatter_gather(Query& query, const Table& table, const Dialect& dialect) {
  if (!query.former)  // otherwise it was admitted already
    if (const auto over = over_rate(query.worker, *query.topology, table))
      co_return too_many_requests(query.worker, *over);
  ScatterGather run(query, table, dialect);
  if (run.is_long_to_plan())
    if (auto refused = co_await run.plan_on_helper()) co_return *std::move(refused);
  if (auto refused = run.prepare()) co_return *std::move(refused);
  if (auto* part = run.only_part()) {
    while (auto step = part->next()) co_await *std::move(step);
  } else {
    co_await run.ask_all();
  }
  if (run.needs_new_plan()) {
    run.record_and_release_all();
    co_return co_await query.replan(query, scatter_gather);
  }
  auto& answer = co_yield InPlace{};
  while (!run.try_without_merge(answer)) {
    if (run.changes_data()) {
      answer = co_await run.merge_changes();
    } else {
      answer = co_await run.merge_replies();
    }
    if (!run.begins_next_round()) break;
    query.worker.loop.buffers.give(std::exchange(answer, Answer()).body);
    co_await run.ask_all();
    if (run.needs_new_plan()) {
      run.record_and_release_all();
      answer = co_await query.replan(query, scatter_gather);
      co_return InPlace{};
    }
  }
  run.record_and_release_all();
  answer.generations = run.generations();
  co_return InPlace{};
}

}  // namespace karmad
