#include "balancer/shard/quorum_read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/json/json_line.hpp"
#include "agent/transport/http/field_names.hpp"
#include "balancer/rules/zones.hpp"

namespace karmad {

QuorumRead::QuorumRead(AttemptChains& chains)
    : chains_(chains),
      needed_(read_quorum(mirrors())),
      plan_(mirrors() - (view().primary ? 1 : 0), view().primary.has_value()) {}

bool QuorumRead::proceed() {
  for (;;) {
    take_in();
    if (chains_.is_over()) {
      if (running() > 0) return false;
      clear();
      return true;
    }
    if (pauses_) {
      if (chains_.now() < until_) return false;
      enter();
      continue;
    }
    const auto step = next_step();
    if (!step) return false;
    if (take_step(*step)) return true;
  }
}

void QuorumRead::add_wait(action::Wait& wait) const {
  const bool at_barrier = !pauses_ && step_.what == Do::barrier;
  if (pauses_ || at_barrier) wait.end_by(until_);
  wait.news = wait.news || at_barrier;
}

/// True: this was the last step.
bool QuorumRead::take_step(const QuorumPlan::Step& step) {
  keeps_newest_ = step_.what == Do::barrier;
  step_ = step;
  if (step.what == Do::answer) chains_.take_over(reader(*winner_));
  if (step.what == Do::fail) fail();
  if (step.what == Do::answer || step.what == Do::fail) return true;
  pauses_ = step.pause > Micros{0};
  if (pauses_)
    until_ = chains_.now() + step.pause;
  else
    enter();
  return false;
}

void QuorumRead::enter() {
  pauses_ = false;
  if (step_.what == Do::read) begin_round();
  if (step_.what == Do::settle) asked_ = start_settling();
  if (step_.what == Do::primary) asked_ = start_primary();
  if (step_.what != Do::barrier) return;
  chains_.count(Count::quorum_barriers);
  barrier_step_ = 0;
  enter_barrier_step();
}

/// The next step if the phase has ended; nothing otherwise.
std::optional<QuorumPlan::Step> QuorumRead::next_step() {
  // As many mirrors as must agree, each once; a failed one is replaced by another one.
  if (step_.what == Do::read)
    while (counting() + running() < needed_ && start_another()) take_in();
  if (running() > 0) return std::nullopt;
  take_in();
  if (step_.what == Do::read) return after_read(true);
  if (step_.what == Do::settle) return after_read(asked_);
  if (step_.what == Do::barrier) return after_barrier();
  if (!asked_) return plan_.after_primary(false, false);
  winner_ = round_.front();
  const bool answered = counts(reader(*winner_));
  return plan_.after_primary(answered, answered && is_newest());
}

/// False: no other mirror can be asked now.
bool QuorumRead::start_another() {
  if (starts_no_more_reads() || any_in<chain_state::WaitsForSlot>()) return false;
  auto reader = make_reader();
  const auto choice = chains_.choice(*reader);
  const bool left = !choice.untried().empty();
  // One reader at a time waits for a slot: the next one excludes the mirror that it gets. If no
  // mirror is suitable, the first reader waits for one.
  reader->waits = !choice.all_full().empty() || (!left && reads_ == 0);
  if (!left && !reader->waits) return false;
  return start(std::move(reader), reads_ < needed_);
}

/// Asks as many further mirrors as agreement needs, each once. False: none was asked.
bool QuorumRead::start_settling() {
  auto agreeing = static_cast<std::size_t>(std::ranges::count_if(
      generations_, [&](const auto& seen) { return seen >= Generation(selected_); }));
  bool asked = false;
  // As if all mirrors were asked at once: included in what the request asks for, up to that number.
  while (agreeing < needed_ && can_settle() && start(make_settling_reader(), reads_ < mirrors())) {
    chains_.count(Count::quorum_settling_reads);
    ++agreeing;
    asked = true;
  }
  return asked;
}

bool QuorumRead::start_primary() {
  const auto primary = view().primary;
  if (!primary || refusing_.contains(*primary)) return false;
  auto reader = make_reader();
  reader->upcoming.wanted = primary;
  // Only the primary itself is asked.
  reader->memory.excluded = Candidates::first(mirrors()) - Candidates::only(*primary);
  clear();
  return start(std::move(reader), reads_ < needed_);
}

std::unique_ptr<AttemptChain> QuorumRead::make_reader() const {
  const auto& main = chains_.first();
  auto chain = std::make_unique<AttemptChain>();
  chain->upcoming.reason = reads_ == 0 ? main.upcoming.reason : AttemptReason::quorum;
  chain->memory.marked_unreachable = main.memory.marked_unreachable;
  chain->memory.avoided = main.memory.avoided;
  chain->memory.excluded = refusing_;
  for (const auto slot : round_)
    chain->memory.excluded = chain->memory.excluded | reader(slot).memory.tried;
  return chain;
}

/// A reader for a mirror not asked in this round, whose pings do not report its generation.
std::unique_ptr<AttemptChain> QuorumRead::make_settling_reader() const {
  auto chain = make_reader();
  for (std::size_t i = 0; i < mirrors(); ++i)
    if (view().mirrors[i].description.generation) chain->memory.excluded.insert(i);
  return chain;
}

bool QuorumRead::can_settle() const {
  return !chains_.choice(*make_settling_reader()).untried().empty();
}

/// The first reads of the quorum, and those that settle a disagreement, are part of the request.
/// Others are retries, with the rules of an immediate retry at another mirror; they are chosen one
/// after the other, because each excludes the mirrors of those before. All but the first reads
/// count in `max_attempts`. False: no mirror is asked for this reader.
bool QuorumRead::start(std::unique_ptr<AttemptChain> chain, bool asked_for) {
  if (!asked_for && (!chains_.rules().retry->retry_reads || any_in<chain_state::WaitsForHealth>()))
    return false;
  if (reads_ >= needed_ && !chains_.may_ask_another()) return false;
  chain->slot = free_slot();
  chain->order = ++begun_;
  if (reads_ == 0) chains_.pass_permit_to(*chain);
  ++reads_;
  round_.push_back(chain->slot);
  auto& reader = chains_.add(std::move(chain));
  if (asked_for)
    chains_.select(reader);
  else
    chains_.retry_elsewhere(reader);
  return !reader.ended();
}

/// A slot whose reply is no longer needed.
std::size_t QuorumRead::free_slot() const {
  for (std::size_t slot = 1; slot <= chains_.further(); ++slot)
    if (slot != chains_.first().end.slot && !std::ranges::count(round_, slot)) return slot;
  return chains_.further() + 1;
}

std::size_t QuorumRead::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(round_, [&](std::size_t slot) { return !reader(slot).ended(); }));
}

template <class State>
bool QuorumRead::any_in() const {
  return std::ranges::any_of(round_, [&](std::size_t slot) { return reader(slot).is<State>(); });
}

/// Number of readers whose answers count.
std::size_t QuorumRead::counting() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(round_, [&](std::size_t slot) { return counts(reader(slot)); }));
}

/// Whether the reader ended with an answer that is not an error of the mirror.
bool QuorumRead::counts(const AttemptChain& reader) {
  return reader.ended() && (reader.end.answered() || reader.end.outcome == Outcome::client_mistake);
}

/// Whether to stop: every mirror would refuse the query, all are slow, or no time is left.
bool QuorumRead::starts_no_more_reads() const {
  if (reads_ > 0 && chains_.now() >= chains_.rules().deadline) return true;
  bool slow = false;
  bool answered = false;
  for (const auto slot : round_) {
    const auto& chain = reader(slot);
    if (!chain.ended()) continue;
    if (chain.end.outcome == Outcome::client_mistake) return true;
    slow = slow || chain.end.outcome == Outcome::query_timeout;
    answered = answered || chain.end.answered();
  }
  return slow && !answered;
}

/// Records the results of ended readers before another mirror is asked.
void QuorumRead::take_in() {
  for (const auto slot : round_) {
    auto& chain = reader(slot);
    if (chain.ended() && !std::exchange(chain.taken_in, true)) take_in(chain);
  }
}

void QuorumRead::take_in(AttemptChain& chain) {
  if (!chain.end.mirror) return chains_.take_refusal(chain);
  const auto mirror = *chain.end.mirror;
  if (chain.order > 1) chains_.count(Count::quorum_reads);
  chains_.learn_from(chain);
  if (counts(chain)) {
    if (!chain.generation) chain.generation = view().mirrors[mirror].description.generation;
    generations_[mirror] = std::max(generations_[mirror], chain.generation);
    only_busy_ = false;
    return;
  }
  const bool overload = chain.end.hint.overload;
  chains_.avoid(mirror);
  if (overload) refusing_.insert(mirror);
  only_busy_ = only_busy_ && (overload || chain.end.timed_out);
  chains_.take_over(chain);  // until another reader has a better answer
}

QuorumPlan::Step QuorumRead::after_read(bool may_settle) {
  std::vector<QuorumAnswer> answers;
  std::vector<std::size_t> slots;
  for (const auto slot : round_) {
    const auto& chain = reader(slot);
    if (!counts(chain)) continue;
    slots.push_back(slot);
    answers.push_back({chain.generation, chain.end.answered()});
  }
  const bool refused = std::ranges::none_of(answers, &QuorumAnswer::succeeded);
  if (!answers.empty() && refused) {  // a client's mistake, with any generation
    winner_ = slots.front();
    return {.what = Do::answer};
  }
  if (round_.size() == kept_ || chains_.first().end.refused) return {.what = Do::fail};
  const auto verdict = judge(answers, needed_, std::span(generations_).first(mirrors()), fresh_);
  using Kind = QuorumVerdict::Kind;
  unknown_ = verdict.kind == Kind::unknown;
  if (!fresh_ && verdict.kind == Kind::behind) fresh_ = verdict.generation;
  if (verdict.kind == Kind::met || verdict.kind == Kind::behind) winner_ = slots[verdict.winner];
  selected_ = verdict.generation;
  if (winner_ && needed_ > 1) mark_those_behind();
  if (verdict.kind == Kind::too_few && starts_no_more_reads()) return {.what = Do::fail};
  return plan_.after(verdict, verdict.kind == Kind::behind && may_settle && can_settle());
}

/// Later reads of this shard avoid these mirrors for a moment.
void QuorumRead::mark_those_behind() const {
  const auto until = chains_.now() + chains_.rules().retry->behind_mark;
  for (const auto slot : round_) {
    const auto& chain = reader(slot);
    if (counts(chain) && chain.generation && *chain.generation < selected_)
      chains_.moment().protection.behind.mark(*chain.end.mirror, selected_, until);
  }
}

/// Pings until enough mirrors reach the selected generation, or the time has passed.
std::optional<QuorumPlan::Step> QuorumRead::after_barrier() {
  while (!barrier_over_ && !has_reached()) {
    if (chains_.now() < until_) return std::nullopt;
    ++barrier_step_;
    enter_barrier_step();
  }
  return plan_.after_barrier(has_reached(), no_mirror_serves());
}

void QuorumRead::enter_barrier_step() {
  const auto pause = barrier_pause(barrier_step_, zones(view().picture) > 1);
  until_ = chains_.now() + pause.value_or(Micros{0});
  barrier_over_ = !pause || until_ >= chains_.rules().deadline || no_mirror_serves();
  if (!barrier_over_) chains_.check_generations();
}

Generation QuorumRead::known(std::size_t mirror) const {
  return std::max(generations_[mirror], view().mirrors[mirror].description.generation);
}

bool QuorumRead::has_reached() const {
  const auto reached = Candidates::first(mirrors()).where([&](std::size_t i) {
    const bool asked = step_.with_primary || view().primary != i;
    return asked && known(i) >= Generation(selected_);
  });
  return reached.size() >= needed_;
}

bool QuorumRead::no_mirror_serves() const {
  return chains_.moment().mirrors.pinged() &&
         std::ranges::all_of(view().picture.mirrors,
                             [](const auto& mirror) { return mirror.role == Role::unknown; });
}

/// Whether the primary's answer is at least as new as all others of this query.
bool QuorumRead::is_newest() const {
  const auto& newest = reader(*winner_).generation;
  return std::ranges::all_of(generations_, [&](const auto& other) { return other <= newest; });
}

void QuorumRead::clear() {
  round_.clear();
  winner_.reset();
  kept_ = 0;
}

/// After a barrier the answers of the last round that are new enough count in this one, too: only
/// mirrors that were behind are asked again.
void QuorumRead::begin_round() {
  auto kept = keeps_newest_ ? std::move(round_) : std::vector<std::size_t>();
  std::erase_if(kept, [&](std::size_t slot) {
    return !counts(reader(slot)) || reader(slot).generation < fresh_;
  });
  clear();
  round_ = std::move(kept);
  kept_ = round_.size();
}

void QuorumRead::fail() {
  const auto& end = chains_.first().end;
  // If mirrors did not disagree but were all too slow or too busy, that is reported.
  if (end.refused || (only_busy_ && end.mirror)) return;
  chains_.refuse(not_met());
  chains_.count(Count::quorum_failed);
}

Refusal QuorumRead::not_met() const {
  Refusal refusal{.type = unknown_ ? "no_generation" : "quorum_not_met"};
  std::string said;
  {
    JsonLine details(refusal.details);
    details.add(R"("generations":{)");
    for (std::size_t i = 0; i < mirrors(); ++i) {
      const auto name = chains_.moment().mirrors.shown_name(i);
      const auto generation = known(i);
      const auto failed = std::ranges::find(chains_.failed(), i, &FailedAttempt::mirror);
      said.append(said.empty() ? "" : ", ").append(name).append(": ");
      said += failed != chains_.failed().end()
                  ? chains_.moment().mirrors.shown_error(i, failed->why)
              : generation ? fmt::format("generation {}", *generation)
                           : "reports no generation";
      if (i > 0) details.add(',');
      details.add(Quoted{name}, ':', generation ? fmt::to_string(*generation) : "null");
    }
    details.add('}');
  }
  refusal.reason =
      unknown_ ? fmt::format(
                     "consistency = quorum needs the generation of each answer: from its field {}, "
                     "or from a ping_type that reports it; {}",
                     kGeneration, said)
               : fmt::format("quorum not met: {} of {} mirrors must have the newest generation; {}",
                             needed_, mirrors(), said);
  return refusal;
}

}  // namespace karmad
