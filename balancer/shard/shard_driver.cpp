#include "balancer/shard/shard_driver.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "balancer/selection/explanation.hpp"
#include "balancer/selection/selection_log.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

ShardDriver::ShardDriver(Query& query, const ShardQuery& shard_query, const Shard& shard,
                         unsigned number, std::optional<std::size_t> only)
    : SetMirrors(*shard.mirrors, query.topology->settings, query.worker.loop.index),
      place_{query, shard_query, shard, number, *this},
      worker_(query.worker),
      rules_(rules_for(query, shard_query, shard, number - 1, only)),
      request_(rules_) {}

std::optional<Task<void>> ShardDriver::next() {
  while (!finished_) {
    if (is_over() && !std::exchange(told_cancelled_, true)) {
      happened_.reset();
      handle(event::Cancelled{}, Loop::now());
    }
    if (awaited_ != nullptr) {
      auto& attempt = *awaited_->attempt;
      if (attempt.should_offload()) return attempt.offload_check();
      if (attempt.needs_crash_check()) return attempt.check_crash();
      end_attempt(*std::exchange(awaited_, nullptr));
    } else if (!ended_.empty()) {
      auto* const slot = ended_.front();
      ended_.erase(ended_.begin());
      --running_;
      end_attempt(*slot);
    } else if (happened_) {
      handle_waited_for();
    }
    if (finished_) break;
    begin_attempts();
    if (awaited_ != nullptr) return awaited_->attempt->ask();
    if (ended_.empty() && !happened_ && (told_cancelled_ || !is_over())) return wait();
  }
  freed_slot_.reset();
  return std::nullopt;
}

void ShardDriver::handle_waited_for() {
  const auto happened = *std::exchange(happened_, std::nullopt);
  if (const auto* freed = std::get_if<event::SlotFreed>(&happened)) {
    add_slot(freed->mirror, *std::move(freed_slot_));
    freed_slot_.reset();
  }
  const bool starts = std::holds_alternative<event::Started>(happened);
  handle(happened, starts ? place_.query.attempt_begins() : Loop::now());
}

void ShardDriver::handle(const ShardEvent& event, TimePoint now) {
  now_ = now;
  wait_.reset();
  carry_out(event, now);
  return_slots();
  if (!wait_ || wait_->slots.empty()) {
    queued_wait_.reset();
  } else {
    if (!queued_wait_) queued_wait_.emplace(set_, worker_.loop.index);
    queued_wait_->wants(wait_->slots);
  }
}

/// Does what the request decides.
void ShardDriver::carry_out(const ShardEvent& event, TimePoint now) {
  for (const auto& action : request_.next(event, moment(now)))
    std::visit([this](const auto& what) { carry_out(what); }, action);
}

void ShardDriver::carry_out(const action::Send& send) {
  const auto mirror = send.pick.mirror;
  auto& slot = this->slot(send.slot);
  record_and_release(slot);
  slot.number = send.slot;
  slot.mirror = &set_[mirror];
  if (rules_.needed() != nullptr)
    worker_.process.selection_log->succeeded(
        {place_.query, place_.shard_query.selection, place_.shard}, *slot.mirror->agent);
  if (is_retry(send.reason)) log_retry(send);
  explain_attempt(slot, send);
  slot.attempt.emplace(place_, send, use_slot(mirror), now_, request_.hedging(),
                       slot.result.emplace());
  sent_.push_back(&slot);
}

/// Starts the attempts. A single attempt without other work needs no coroutine of its own.
void ShardDriver::begin_attempts() {
  if (sent_.empty()) return;
  if (sent_.size() == 1 && running_ == 0 && !wait_) {
    awaited_ = sent_.front();
    sent_.clear();
    return;
  }
  place_.query.waited = true;
  const auto sent = std::exchange(sent_, {});
  for (auto* const slot : sent) {
    ++running_;
    spawn(run_attempt(*slot));
  }
}

Task<void> ShardDriver::run_attempt(Slot& slot) {
  co_await slot.attempt->ask();
  if (slot.attempt->should_offload()) co_await slot.attempt->offload_check();
  if (slot.attempt->needs_crash_check()) co_await slot.attempt->check_crash();
  ended_.push_back(&slot);
  if (waiting_ != nullptr) waiting_->request(StopReason::cancelled);
}

/// The attempt releases its resources before the request continues.
void ShardDriver::end_attempt(Slot& slot) {
  auto report = slot.attempt->judge(slot.rest);
  explain_end(slot, report);
  slot.attempt.reset();
  const bool answered = is_answered(report.outcome);
  slot.unrecorded = answered && place_.shard_query.plan != nullptr;
  handle(event::AttemptEnded{slot.number, report}, answered ? slot.result->ended : Loop::now());
}

/// Waits for the current Wait, or for the end of an attempt.
Task<void> ShardDriver::wait() {
  place_.query.waited = true;
  const auto until = wait_ && wait_->until
                         ? *wait_->until
                         : place_.query.resources.deadline + std::chrono::hours(1);
  // After a cancellation only ends of attempts are awaited.
  std::optional<QueryStop> while_live;
  std::optional<Stop> own;
  if (!told_cancelled_) while_live.emplace(place_.query);
  Stop& stop = told_cancelled_ ? own.emplace(worker_.loop) : *while_live;
  waiting_ = &stop;
  if (wait_ && wait_->news) {
    co_await set_.news(worker_.loop, until, stop, queued_wait_ ? queued_wait_->waiter() : nullptr);
  } else {
    co_await sleep(worker_.loop, until, stop);
  }
  waiting_ = nullptr;
  wait_ended();
}

void ShardDriver::wait_ended() {
  if (queued_wait_ && queued_wait_->waiter() != nullptr && queued_wait_->waiter()->got()) {
    auto got = queued_wait_->take();
    freed_slot_.emplace(std::move(got->slot));
    happened_ = event::SlotFreed{got->mirror};
  } else if (ended_.empty() && !is_over() && wait_) {
    if (wait_->until && Loop::now() >= *wait_->until) {
      happened_ = event::TimePassed{};
    } else if (wait_->news) {
      happened_ = event::SetChanged{};
    }
  }
}

void ShardDriver::finish() {
  finished_ = true;
  if (auto& query = place_.query;
      result().plan_again && !result().answered() && worker_.topology_now() != query.topology) {
    query.plan_again = true;
    query.selection_left = result().selection_left;
  }
  for (const auto& other : others_)
    if (other->number != result().slot) record_and_release(*other);
  if (result().slot != 0) record_and_release(first_);
}

void ShardDriver::reject(std::string why) {
  auto& slot = this->slot(result().slot);
  AttemptResult result{.outcome = Outcome::wrong_reply,
                       .why = why,
                       .took = slot.result->took,
                       .connect = slot.result->connect};
  record(*slot.mirror, set_.failure_floor(), worker_.loop.index, Loop::now(), result);
  slot.unrecorded = false;
  record_and_release(slot);
  if (auto& told = place_.query.record; told.wants_trace)
    told.trace.rejected(place_.shard_number, slot.mirror->agent->name, why);
  if (auto* const choice = explained_choice(slot)) {
    choice->attempt->outcome = Outcome::wrong_reply;
    choice->attempt->error = why;
  }
  finished_ = false;
  handle(event::Rejected{why}, Loop::now());
}

void ShardDriver::cancel() {
  cancelled_ = true;
  if (waiting_ != nullptr) {
    waiting_->request(StopReason::cancelled);
  } else if (awaited_ != nullptr) {
    awaited_->attempt->cancel(action::Cancel::Why::not_needed);
  }
}

void ShardDriver::record_and_release() {
  record_and_release(first_);
  for (const auto& other : others_) record_and_release(*other);
}

void ShardDriver::record_used(Slot& slot) {
  if (std::exchange(slot.unrecorded, false)) {
    const AttemptResult result{.outcome = slot.result->outcome,
                               .took = slot.result->took,
                               .connect = slot.result->connect};
    record(*slot.mirror, set_.failure_floor(), worker_.loop.index, Loop::now(), result);
  }
  slot.rest.reset();
  auto& reply = slot.result->reply;
  if (reply.head_size == 0 && reply.bytes.empty()) return;  // there was no reply
  worker_.loop.buffers.give(std::move(reply.bytes));
  reply.forget();
}

Reply& ShardDriver::reply() {
  auto& attempt = slot(result().slot).result;
  return attempt ? attempt->reply : attempt.emplace().reply;
}

ShardDriver::Slot& ShardDriver::other_slot(std::size_t number) {
  while (others_.size() < number) others_.push_back(std::make_unique<Slot>());
  return *others_[number - 1];
}

ShardInputs ShardDriver::moment(TimePoint now) {
  return {.now = now,
          .random = worker_.loop.random,
          .protection = *place_.shard.protection,
          .mirrors = *this,
          .counters = worker_.counters};
}

void ShardDriver::append_failed(std::string& text) const {
  const auto& failed = request_.failed();
  if (failed.empty()) text += "not asked: the query had ended";
  for (std::size_t i = 0; i < failed.size(); ++i)
    fmt::format_to(std::back_inserter(text), "{}agent {}: {}", i == 0 ? "" : ", ",
                   shown_name(failed[i].mirror), shown_error(failed[i].mirror, failed[i].why));
}

/// BP-031: logs each retry at level debug, and a limited number per second at level info.
void ShardDriver::log_retry(const action::Send& send) {
  if (!spdlog::should_log(spdlog::level::info)) return;
  const auto left_out = spdlog::should_log(spdlog::level::debug)
                            ? std::optional<std::uint64_t>(0)
                            : worker_.retry_lines.may_write(now_);
  if (!left_out) return;
  const auto& failed = request_.failed();
  // Quoted, because an agent's text may contain line ends.
  const auto failure = failed.empty() ? std::string()
                                      : fmt::format("; {} failed: {:?}", name(failed.back().mirror),
                                                    std::string_view(failed.back().why));
  spdlog::info("query {}: table {}, shard {}: attempt {} ({}) at {} after a pause of {} ms{}{}",
               place_.query.record.id, place_.shard_query.table.name, place_.shard_number,
               send.number + 1, karmad::name(send.reason), name(send.pick.mirror),
               std::chrono::duration<double, std::milli>(send.pause).count(), failure,
               *left_out == 0 ? ""
                              : fmt::format(" ({} not logged since the last one)",
                                            counted_noun(*left_out, "line")));
}

/// A new choice of this shard in the explanation; null if it has no room. It replaces the one
/// before if that found no mirror: a request that waits for a mirror selects again and again.
ExplainedChoice* ShardDriver::explain_choice(ExplainRecord& record) const {
  auto& choices = record.choices;
  const bool again =
      !choices.empty() && choices.back().shard == &place_.shard && !choices.back().steps.chosen;
  auto* const choice = again ? &choices.back() : record.add(set_.size());
  if (choice == nullptr) return nullptr;
  if (again) {
    choice->steps = PickSteps();
    choice->refused = std::string_view();
  }
  choice->shard = &place_.shard;
  choice->shard_number = place_.shard_number;
  choice->view = set_.view(worker_.loop.index);
  return choice;
}

std::optional<Pick> ShardDriver::pick(const SelectionCriteria& criteria,
                                      RandomSource& random) const {
  const auto worker = worker_.loop.index;
  auto* const explained = explanation(place_.query);
  auto* const choice = explained != nullptr ? explain_choice(*explained) : nullptr;
  if (choice == nullptr) return SetMirrors::pick(criteria, random);
  const MirrorSet::PickRecord record{choice->steps, &explained->numbers[choice->first_number]};
  return set_.pick(criteria, worker, random, &record);
}

/// A choice without a selection, with the numbers of the mirrors; null if it has no room.
ExplainedChoice* ShardDriver::explain_unchosen(ExplainRecord& record,
                                               const SelectionCriteria& criteria) {
  auto* const choice = explain_choice(record);
  if (choice == nullptr) return nullptr;
  const MirrorSet::PickRecord to{choice->steps, &record.numbers[choice->first_number]};
  set_.acceptable(criteria, worker_.loop.index, &to);
  return choice;
}

/// Says why each other mirror is not asked: in the explanation by mirror, in the trace as text.
void ShardDriver::tell_refused_retry(const SelectionCriteria& criteria, std::string_view why) {
  auto& query = place_.query;
  if (auto* const explained = explanation(query))
    if (auto* const choice = explain_unchosen(*explained, criteria)) choice->refused = why;
  if (!query.record.wants_trace) return;
  std::string text(why);
  for (std::size_t i = 0; i < set_.size(); ++i) {
    if (criteria.objections[AvoidReason::tried].contains(i)) continue;
    fmt::format_to(std::back_inserter(text), "; not asked: {}", name(i));
    const char* before = " (";
    for (std::size_t o = 0; o < kAvoidReasons; ++o) {
      if (!criteria.objections[static_cast<AvoidReason>(o)].contains(i)) continue;
      fmt::format_to(std::back_inserter(text), "{}{}", std::exchange(before, ", "),
                     kAvoidReasonTexts[o]);
    }
    if (*before == ',')
      text += ')';
    else if (criteria.need != nullptr)
      fmt::format_to(std::back_inserter(text), " ({})",
                     why_unsuitable(*criteria.need, view().picture, i));
  }
  query.record.trace.refused({place_.shard_number, std::move(text)});
}

/// Says why the last selection found no mirror, or why there was none.
void ShardDriver::explain_refusal(std::string_view why) {
  auto* const explained = explanation(place_.query);
  if (explained == nullptr) return;
  auto& choices = explained->choices;
  const bool selected =
      !choices.empty() && choices.back().shard == &place_.shard && !choices.back().steps.chosen;
  auto* const choice = selected ? &choices.back() : explain_unchosen(*explained, {});
  if (choice != nullptr) choice->refused = why;
}

/// Adds the attempt to the choice that it follows. A mirror that an error answer named was not
/// chosen: that is a choice of its own.
void ShardDriver::explain_attempt(Slot& slot, const action::Send& send) {
  slot.explained.reset();
  auto* const explained = explanation(place_.query);
  if (explained == nullptr) return;
  auto& choices = explained->choices;
  ExplainedChoice* found = nullptr;
  for (auto& choice : choices)
    if (choice.shard == &place_.shard && !choice.attempt && choice.steps.chosen == send.pick.mirror)
      found = &choice;
  if (found == nullptr) {
    found = explain_unchosen(*explained, {});
    if (found == nullptr) return;
    found->told = true;
    found->steps.chosen = static_cast<std::uint8_t>(send.pick.mirror);
  }
  slot.explained = static_cast<std::size_t>(found - choices.data());
  auto& attempt = found->attempt.emplace();
  attempt.reason = send.reason;
  attempt.pause = send.pause;
  attempt.started = std::chrono::duration_cast<Micros>(now_ - place_.query.record.began);
}

ExplainedChoice* ShardDriver::explained_choice(const Slot& slot) const {
  auto* const explained = slot.explained ? explanation(place_.query) : nullptr;
  if (explained == nullptr || *slot.explained >= explained->choices.size()) return nullptr;
  auto& choice = explained->choices[*slot.explained];
  if (choice.shard != &place_.shard || !choice.attempt) return nullptr;  // planned again since then
  return &choice;
}

void ShardDriver::explain_end(const Slot& slot, const AttemptReport& report) const {
  auto* const choice = explained_choice(slot);
  if (choice == nullptr) return;
  auto& attempt = *choice->attempt;
  const auto& result = *slot.result;
  attempt.connecting = result.connect;
  if (result.first_byte)
    attempt.first_byte =
        std::chrono::duration_cast<Micros>(*result.first_byte - place_.query.record.began);
  attempt.took = result.took;
  attempt.outcome = report.outcome;
  attempt.status = static_cast<int>(report.status);
  attempt.error = report.why;
}

void ShardDriver::carry_out(const action::Log& log) {
  using enum action::Log::What;
  const SelectionLog::About about{place_.query, place_.shard_query.selection, place_.shard};
  const auto& selections = *worker_.process.selection_log;
  switch (log.what) {
    case selection_started:
      return selections.started(about);
    case selection_waits:
      return selections.waiting(about, log.remaining);
    case selection_failed:
      explain_refusal(log.why);
      return selections.failed(about, log.why);
    case retry_refused:
      return tell_refused_retry(*log.excluded, log.why);
  }
}

}  // namespace karmad
