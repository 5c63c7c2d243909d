#include "balancer/shard/quorum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/json/json_text.hpp"
#include "balancer/rules/quorum_plan.hpp"
#include "balancer/rules/zones.hpp"
#include "balancer/shard/quorum_readers.hpp"
#include "balancer/shard/select_mirror.hpp"
#include "balancer/shard/shard_query.hpp"

namespace karmad {

namespace {

using Do = QuorumPlan::Do;

class QuorumRead {
 public:
  QuorumRead(ShardCall& call, ShardNext next)
      : call_(call),
        query_(call.query),
        part_(call.part),
        set_(*call.part.shard->mirrors),
        readers_(call, next),
        needed_(read_quorum(set_.size())),
        plan_(set_.size() - (primary() ? 1 : 0), primary().has_value()) {}

  Task<void> run() {
    QuorumPlan::Step step;
    while (!readers_.over()) {
      if (step.what == Do::answer) co_return answer();
      if (step.what == Do::fail) co_return fail();
      if (step.pause > Micros{0}) {
        PartStop stop(query_, part_);
        co_await sleep(query_.worker.loop, Loop::now() + step.pause, stop);
        if (readers_.over()) break;
      }
      if (step.what == Do::read) {
        co_await read();
        step = after_read(true);
      } else if (step.what == Do::settle) {
        const bool asked = co_await settle();
        step = after_read(asked);
      } else if (step.what == Do::barrier) {
        const bool reached = co_await barrier(step.with_primary);
        step = plan_.after_barrier(reached, nobody_serves());
      } else {
        const bool answered = co_await ask_primary();
        step = plan_.after_primary(answered, answered && is_newest());
      }
    }
    clear();
  }

 private:
  std::optional<std::size_t> primary() const {
    return set_.view(query_.worker.loop.index)->primary;
  }
  const SetView& view() const { return *set_.view(query_.worker.loop.index); }

  /// As many mirrors as have to agree, each once; for one that fails another one.
  Task<void> read() {
    clear();
    for (;;) {
      take_in();
      while (readers_.counting() + readers_.running() < needed_ && start_another()) take_in();
      if (readers_.running() == 0) break;
      co_await readers_.wait();
    }
  }

  /// False: no other mirror is to be asked.
  bool start_another() {
    if (readers_.over() || stops_asking()) return false;
    auto reader = make_reader();
    const bool left = !untried(query_, call_.order, reader->part).empty();
    // Where no mirror suits, the first reader waits for one that does.
    reader->part.waits = !left && reads_ == 0;
    if (!left && !reader->part.waits) return false;
    if (!may_read(reader->part, reads_ < needed_)) return false;
    readers_.start(std::move(reader));
    return true;
  }

  /// For a mirror that this round has not asked, and whose pings do not tell its generation.
  std::unique_ptr<Reader> settling_reader() const {
    auto reader = make_reader();
    for (std::size_t i = 0; i < set_.size(); ++i)
      if (view().mirrors[i].told.generation) reader->part.excluded.insert(i);
    return reader;
  }

  bool can_settle() const { return has_untried(query_, call_.order, settling_reader()->part); }

  /// Asks as many mirrors more as are missing for agreement, each once. False: none was asked.
  Task<bool> settle() {
    const auto agreeing = static_cast<std::size_t>(
        std::ranges::count(answers_, Generation(selected_), &QuorumAnswer::generation));
    std::size_t asked = 0;
    for (; agreeing + asked < needed_ && !readers_.over() && can_settle(); ++asked) {
      auto reader = settling_reader();
      // As if all mirrors had been asked at once: what the request asks for, but no more than that.
      if (!may_read(reader->part, reads_ < set_.size())) break;
      query_.worker.counters.add(Count::quorum_settling_reads);
      readers_.start(std::move(reader));
    }
    while (readers_.running() > 0) co_await readers_.wait();
    take_in();
    co_return asked > 0;
  }

  /// Every mirror would refuse the query, or it is slow everywhere.
  bool stops_asking() const {
    bool slow = false;
    bool answered = false;
    for (const auto& reader : readers_.all()) {
      if (!reader->ended) continue;
      if (reader->part.outcome == Outcome::client_mistake) return true;
      slow = slow || reader->part.outcome == Outcome::query_timeout;
      answered = answered || reader->part.answered();
    }
    return slow && !answered;
  }

  std::unique_ptr<Reader> make_reader() const {
    auto reader = std::make_unique<Reader>();
    auto& part = reader->part;
    part.shard = part_.shard;
    part.number = part_.number;
    part.reason = reads_ == 0 ? part_.reason : AttemptReason::quorum;
    part.gone = part_.gone;
    reader->gone_before = part.gone.size();
    part.avoided = part_.avoided;
    part.excluded = refusing_;
    for (const auto& other : readers_.all()) part.excluded = part.excluded | other->part.tried;
    part.selection_left = part_.selection_left;
    part.waits = false;
    return reader;
  }

  /// The first of the quorum are what the request asks for, and those that settle a disagreement;
  /// the others count as retries do, and need the budget's consent. All but the first of the quorum
  /// count in `max_attempts`.
  bool may_read(ShardPart& part, bool asked_for) {
    if (!asked_for && !call_.order.table.retry_rules.retry_reads) return false;
    if (reads_ >= needed_ && !part_.retries->may_hedge()) return false;
    if (!asked_for) {
      auto& counters = query_.worker.counters;
      auto taken = part_.shard->protection->budget.take(RetryBudget::For::other);
      if (!taken) counters.add(Count::retries_refused);
      if (!taken) return false;
      part.extra.emplace(*std::move(taken));
      counters.add(Count::retries);
    } else if (reads_ == 0 && part_.extra) {
      part.extra.emplace(*std::move(part_.extra));
      part_.extra.reset();
    }
    if (reads_++ > 0) query_.worker.counters.add(Count::quorum_reads);
    return true;
  }

  /// Enters what ended readers found, before another mirror is asked.
  void take_in() {
    for (const auto& reader : readers_.all())
      if (reader->ended && !std::exchange(reader->taken_in, true)) take_in(*reader);
  }

  void take_in(Reader& reader) {
    auto& part = reader.part;
    if (part.mirror == nullptr) {
      part_.refused = std::move(part.refused);
      return;
    }
    const auto mirror = reader.mirror();
    part_.tried = part_.tried | part.tried;
    part_.gone.insert(part_.gone.end(),
                      part.gone.begin() + static_cast<std::ptrdiff_t>(reader.gone_before),
                      part.gone.end());
    if (reader.counts()) {
      reader.generation = generation_in(part.reply);
      if (!reader.generation) reader.generation = view().mirrors[mirror].told.generation;
      generations_[mirror] = std::max(generations_[mirror], reader.generation);
      only_busy_ = false;
      return;
    }
    part_.avoided.insert(mirror);
    if (part.advice.overload) refusing_.insert(mirror);
    only_busy_ = only_busy_ && (part.advice.overload || part.timed_out);
    take_over(call_, part);  // until another reader has a better answer
  }

  QuorumPlan::Step after_read(bool may_settle) {
    answers_.clear();
    counted_.clear();
    for (const auto& reader : readers_.all()) {
      if (!reader->counts()) continue;
      counted_.push_back(reader.get());
      answers_.push_back({reader->generation, reader->part.answered()});
    }
    const bool refused = std::ranges::none_of(answers_, &QuorumAnswer::succeeded);
    if (!counted_.empty() && refused) {  // the client's mistake, whatever the generation
      winner_ = counted_.front();
      return {.what = Do::answer};
    }
    if (readers_.all().empty() || part_.refused) return {.what = Do::fail};
    const auto verdict = judge(answers_, needed_);
    unknown_ = verdict.kind == QuorumVerdict::Kind::unknown;
    if (verdict.kind == QuorumVerdict::Kind::met || verdict.kind == QuorumVerdict::Kind::behind)
      winner_ = counted_[verdict.winner];
    selected_ = verdict.generation;
    if (winner_ != nullptr && needed_ > 1) mark_those_behind();
    if (verdict.kind == QuorumVerdict::Kind::too_few && stops_asking()) return {.what = Do::fail};
    return plan_.after(verdict,
                       verdict.kind == QuorumVerdict::Kind::behind && may_settle && can_settle());
  }

  /// Later reads of this shard ask them only when no other mirror suits, for a moment.
  void mark_those_behind() const {
    const auto until = Loop::now() + call_.order.table.retry_rules.behind_mark;
    for (const auto* reader : counted_)
      if (reader->generation && *reader->generation < selected_)
        part_.shard->protection->behind.mark(reader->mirror(), selected_, until);
  }

  /// Pings until enough mirrors have reached the selected generation, or its time is over.
  Task<bool> barrier(bool with_primary) {
    query_.worker.counters.add(Count::quorum_barriers);
    const bool several_zones = zones(view().picture) > 1;
    for (unsigned step = 0;; ++step) {
      const auto pause = barrier_pause(step, several_zones);
      const auto until = Loop::now() + pause.value_or(Micros{0});
      if (!pause || until >= query_.deadline || nobody_serves()) break;
      set_.check_generations();
      while (Loop::now() < until && !readers_.over()) {
        if (has_reached(with_primary)) co_return true;
        PartStop stop(query_, part_);
        co_await set_.news(query_.worker.loop, until, stop);
      }
      if (readers_.over()) break;
    }
    co_return has_reached(with_primary);
  }

  Generation known(std::size_t mirror) const {
    return std::max(generations_[mirror], view().mirrors[mirror].told.generation);
  }

  bool has_reached(bool with_primary) const {
    std::size_t reached = 0;
    for (std::size_t i = 0; i < set_.size(); ++i)
      if ((with_primary || i != primary()) && known(i) >= Generation(selected_)) ++reached;
    return reached >= needed_;
  }

  bool nobody_serves() const {
    return set_.pinged() && std::ranges::all_of(view().picture.mirrors, [](const auto& mirror) {
             return mirror.role == Role::unknown;
           });
  }

  Task<bool> ask_primary() {
    const auto whom = primary();
    if (!whom || refusing_.contains(*whom)) co_return false;
    auto reader = make_reader();
    reader->part.wanted = whom;
    Candidates only;  // only the primary itself is asked
    only.insert(*whom);
    reader->part.excluded = Candidates::first(set_.size()) - only;
    if (!may_read(reader->part, reads_ < needed_)) co_return false;
    clear();
    readers_.start(std::move(reader));
    while (readers_.running() > 0) co_await readers_.wait();
    take_in();
    winner_ = readers_.all().front().get();
    co_return winner_->counts();
  }

  /// The primary's answer is not older than what this query has seen elsewhere.
  bool is_newest() const {
    return std::ranges::all_of(generations_,
                               [this](const auto& other) { return other <= winner_->generation; });
  }

  void clear() {
    readers_.clear();
    counted_.clear();
    winner_ = nullptr;
  }

  void answer() {
    take_over(call_, winner_->part);
    readers_.settle_all();
  }

  void fail() {
    readers_.settle_all();
    // When no mirrors disagreed, but all were too slow or too busy, that is what is reported.
    if (part_.refused || (only_busy_ && part_.mirror != nullptr)) return;
    part_.outcome = Outcome::cancelled;
    part_.refused = not_met();
    query_.worker.counters.add(Count::quorum_failed);
  }

  Refusal not_met() const {
    Refusal refusal{.type = unknown_ ? "no_generation" : "quorum_not_met"};
    refusal.details = R"("generations":{)";
    std::string said;
    for (std::size_t i = 0; i < set_.size(); ++i) {
      const auto& name = set_[i].agent->name;
      const auto generation = known(i);
      const auto failed = std::ranges::find(part_.failed, &set_[i], &FailedTry::mirror);
      said.append(said.empty() ? "" : ", ").append(name).append(": ");
      if (failed != part_.failed.end()) {
        said += failed->why;
      } else {
        said += generation ? fmt::format("generation {}", *generation) : "says no generation";
      }
      if (i > 0) refusal.details.push_back(',');
      append_json_quoted(refusal.details, name);
      fmt::format_to(std::back_inserter(refusal.details), ":{}",
                     generation ? fmt::to_string(*generation) : "null");
    }
    refusal.details.push_back('}');
    refusal.reason =
        unknown_ ? fmt::format(
                       "a quorum needs to know the generation of each answer: from its field {}, "
                       "or from a ping_type that tells it; {}",
                       kGeneration, said)
                 : fmt::format(
                       "quorum not met: {} of {} mirrors have to be of the newest generation; {}",
                       needed_, set_.size(), said);
    return refusal;
  }

  ShardCall& call_;
  Query& query_;
  ShardPart& part_;
  MirrorSet& set_;
  Readers readers_;  // of this round
  const std::size_t needed_;
  QuorumPlan plan_;
  std::vector<Reader*> counted_;       // of them, those whose answers count …
  std::vector<QuorumAnswer> answers_;  // … and these
  std::array<Generation, Candidates::kMost> generations_{};  // of this query's answers
  Candidates refusing_;                                      // said that they are overloaded
  Reader* winner_ = nullptr;
  std::uint64_t selected_ = 0;
  std::size_t reads_ = 0;
  bool unknown_ = false;
  bool only_busy_ = true;  // no answer yet; all failures were overload or time-outs
};

}  // namespace

Task<void> quorum_read(ShardCall& call, ShardNext next) {
  QuorumRead run(call, next);
  co_await run.run();
}

}  // namespace karmad
