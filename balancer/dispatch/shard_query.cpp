#include "balancer/dispatch/shard_query.hpp"

#include <array>

#include "agent/ping.hpp"
#include "agent/state_error.hpp"
#include "agent/transport/http_syntax.hpp"
#include "agent/transport/http_write.hpp"
#include "balancer/dispatch/retry_plan.hpp"
#include "balancer/dispatch/selection_log.hpp"

namespace karmad {
namespace {

constexpr std::string_view kForwardedFor = "X-Forwarded-For";

RetrySettings retry_settings(const Query& query, const ShardOrder& order, const Shard& shard) {
  const auto& options = order.parsed.options;
  return {.per_mirror_of_query = options.retry_count,
          .absolute_of_line = shard.retry_count,
          .per_mirror = order.table.retry_count,
          .delay = options.retry_delay.value_or(query.topology->settings.agent_retry_delay.value)};
}

/// Whom the request came from: those the client names, and then the client.
std::string forwarded_for(const Query& query) {
  std::string names;
  for (const auto& field : query.head.all())
    if (wire::same_word(field.name, kForwardedFor) && !field.value.empty())
      names.append(field.value).append(", ");
  return names.append(query.client);
}

/// Tells the set's state machine what the attempt showed of the mirror, and takes an error answer
/// that says so for what it is: the mirror's state, not the client's mistake (SD-020 … SD-023).
/// True when the mirror is gone by that.
bool report(MirrorSet& set, std::size_t mirror, AttemptEnd& end) {
  using What = UseError::What;
  std::optional<UseError> error;
  switch (end.outcome) {
    case Outcome::broken:
    case Outcome::closed_early:
      error = UseError{.what = What::network, .why = end.why};
      break;
    case Outcome::connect_failed:
      if (end.name_refused)
        error = UseError{
            .when = UseError::When::connecting, .what = What::name_refused, .why = end.why};
      break;
    case Outcome::agent_error:
    case Outcome::client_mistake:
      error = state_error(end.reply.body());
      if (error && end.outcome == Outcome::client_mistake) {
        end.outcome = Outcome::agent_error;
        end.why = error->why;
      }
      break;
    default:
      break;
  }
  if (!error) return false;
  error->generation = end.generation;
  set.met(mirror, *std::move(error), Loop::now());
  return true;
}

Question question(const Query& query, const ShardOrder& order, const ShardPart& part) {
  Candidates excluded;
  const auto& picture = part.shard->mirrors->view(query.worker.loop.index)->picture;
  for (const auto& [mirror, at] : part.gone)
    if (picture.mirrors[mirror].updated <= at) excluded.insert(mirror);
  return order.selection.question(*part.shard, part.tried, excluded);
}

/// How many mirrors a retry may count as tried: all of them when no other one suits.
std::size_t tried(const Query& query, const ShardOrder& order, const ShardPart& part) {
  const auto& set = *part.shard->mirrors;
  const auto asked = question(query, order, part);
  auto others = Candidates::first(set.size()) - asked.avoided - asked.excluded;
  if (asked.need != nullptr)
    others = suitable_for(*asked.need, set.view(query.worker.loop.index)->picture, others);
  return others.empty() ? set.size() : part.tried.size();
}

/// One attempt at one mirror, judged and recorded.
Task<AttemptEnd> try_mirror(Query& query, const ShardOrder& order, ShardPart& part,
                            std::size_t chosen, Micros connect_timeout) {
  const auto& shard = *part.shard;
  auto& set = *shard.mirrors;
  auto& mirror = set[chosen];
  auto& worker = query.worker;
  const auto& settings = query.topology->settings;
  Buffer written(worker.loop.buffers);
  const auto request =
      order.dialect.write(query.request, order.parsed, order.plan, mirror.tables, *written);
  const bool opaque = order.table.opaque != nullptr;
  const bool forwards = opaque && !query.client.empty();
  const auto from = forwards ? forwarded_for(query) : std::string();
  const auto preference = order.selection.passed_on(set.view(worker.loop.index)->picture, chosen);
  std::array<Field, 2> extra;
  std::size_t extras = 0;
  if (forwards) extra[extras++] = {kForwardedFor, from};
  if (!preference.empty()) extra[extras++] = {kReadPreference, preference};
  const AttemptOrder attempt_order{
      .method = request.method,
      .target = request.target,
      .content_type = request.content_type,
      .body = request.body.empty() && request.method != "POST" && request.method != "PUT"
                  ? std::nullopt
                  : std::optional(request.body),
      .extra = {extra.data(), extras},
      .passed_on = opaque ? &query.head : nullptr,
      .repeatable = order.parsed.read,
      .connect_timeout = connect_timeout,
      .query_timeout = order.parsed.options.agent_query_timeout.value_or(order.table.query_timeout),
      .deadline = query.deadline,
      .max_reply = settings.max_packet_size.value};
  worker.counters.add(Count::attempts);
  mirror.attempts.fetch_add(1, std::memory_order_relaxed);
  const Flight flight(mirror.agent->vitals.in_flight);
  QueryStop stop(query);
  auto end = co_await attempt(worker.loop, worker.pool(mirror.agent), attempt_order, stop);
  if (end.stale) worker.counters.add(Count::stale_connections);
  if (end.outcome == Outcome::answered) {
    auto judgement = order.dialect.judge(
        {end.reply.status, end.reply.content_type(), end.reply.body()}, order.plan != nullptr);
    end.outcome = judgement.outcome;
    end.why = std::move(judgement.message);
  }
  if (order.selection.at(shard) != nullptr && report(set, chosen, end))
    part.gone.emplace_back(chosen, Loop::now());
  const bool answered =
      end.outcome == Outcome::answered || end.outcome == Outcome::answered_with_warning;
  if (order.plan == nullptr || !answered)
    record(mirror, set.failure_floor(), worker.loop.index, Loop::now(), end);
  co_return end;
}

void give_back(Query& query, Reply& reply) {
  query.worker.loop.buffers.give(std::move(reply.bytes));
  query.worker.loop.buffers.give(std::move(reply.decoded));
  reply = Reply();
}

/// Counts a selection that waits, for as long as it lives.
class Waiting {
 public:
  explicit Waiting(std::atomic<std::uint32_t>& count)
      : before_(count.fetch_add(1, std::memory_order_relaxed)), count_(count) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { count_.fetch_sub(1, std::memory_order_relaxed); }
  std::uint32_t before() const { return before_; }

 private:
  std::uint32_t before_;
  std::atomic<std::uint32_t>& count_;
};

/// A mirror to try, and how long connecting to it may take.
struct Selected {
  std::size_t mirror = 0;
  Micros connect_timeout{};
};

/// What waiting for mirrors has left over bounds connecting (SS-111); a moment is always left.
Micros time_to_connect(const ShardOrder& order, const ShardPart& part) {
  if (!part.select_until) return order.table.connect_timeout;
  const auto left = std::chrono::duration_cast<Micros>(*part.select_until - Loop::now());
  return std::min(order.table.connect_timeout, std::max(left, Deadlines::kTick));
}

/// Nothing suits yet: waits for news of the set until something does (SS-112, SS-128).
Task<std::optional<Selected>> wait_for_mirror(Query& query, const ShardOrder& order,
                                              ShardPart& part) {
  auto& worker = query.worker;
  const auto& settings = query.topology->settings;
  auto& set = *part.shard->mirrors;
  const SelectionLog::About about{query, order.selection, *part.shard};
  const auto& log = *worker.process.selection_log;
  std::optional<Selected> selected;
  const auto until = part.select_until.value_or(TimePoint{});
  if (Loop::now() < until && set.pinged()) {
    const Waiting waiting(worker.process.waiting_selections);
    if (waiting.before() >= settings.max_waiting_selections.value) {
      part.refused = too_many_waiting(settings.max_waiting_selections.value);
      worker.counters.add(Count::selections_refused);
    } else {
      worker.counters.add(Count::selections_waited);
      log.waiting(about, std::chrono::duration_cast<Micros>(until - Loop::now()));
    }
    while (!part.refused && !selected && !query.stopped) {
      const auto now = Loop::now();
      if (now >= until || set.closed(worker.loop.index)) break;
      set.check_now();
      QueryStop stop(query);
      co_await set.news(worker.loop, std::min(until, now + kRecheck), stop);
      if (query.stopped) break;
      part.refused = refusal_of(order.selection, *part.shard, *set.view(worker.loop.index));
      if (part.refused) break;
      const auto chosen =
          set.pick(question(query, order, part), worker.loop.index, worker.loop.random);
      if (chosen) selected = Selected{*chosen, time_to_connect(order, part)};
    }
  }
  if (selected || query.stopped) co_return selected;
  if (!part.refused && set.closed(worker.loop.index)) part.refused = configuration_changed();
  if (!part.refused) {
    part.refused = nothing_suitable(order.selection, *part.shard, *set.view(worker.loop.index));
    worker.counters.add(Count::selections_failed);
  }
  log.failed(about, part.refused->reason);
  // What failed before says more than that there was nothing else to try (BP-063).
  if (!part.failed.empty()) part.refused.reset();
  co_return selected;
}

/// The mirror to try by what is known now; nothing when none suits, or (`part.refused`) when none
/// ever will.
std::optional<Selected> select_now(Query& query, const ShardOrder& order, ShardPart& part) {
  auto& worker = query.worker;
  const auto& set = *part.shard->mirrors;
  if (order.selection.at(*part.shard) != nullptr) {
    const auto& log = *worker.process.selection_log;
    const SelectionLog::About about{query, order.selection, *part.shard};
    log.started(about);
    const auto longest = query.topology->settings.selection_timeout.value;
    if (!part.select_until && longest > Micros{0})
      part.select_until = std::min(query.deadline, Loop::now() + longest);
    part.refused = refusal_of(order.selection, *part.shard, *set.view(worker.loop.index));
    if (part.refused) {
      log.failed(about, part.refused->reason);
      return std::nullopt;
    }
  }
  const auto chosen = set.pick(question(query, order, part), worker.loop.index, worker.loop.random);
  if (!chosen) return std::nullopt;
  return Selected{*chosen, time_to_connect(order, part)};
}

}  // namespace

Task<void> ask_shard(Query& query, const ShardOrder& order, ShardPart& part) {
  auto& worker = query.worker;
  const auto& set = *part.shard->mirrors;
  const auto retry = retry_settings(query, order, *part.shard);
  for (;;) {
    if (query.stopped) co_return;
    auto selected = select_now(query, order, part);
    if (!selected && !part.refused) selected = co_await wait_for_mirror(query, order, part);
    if (!selected) co_return;
    const auto chosen = selected->mirror;
    auto& mirror = set[chosen];
    if (order.selection.at(*part.shard) != nullptr)
      worker.process.selection_log->succeeded({query, order.selection, *part.shard}, *mirror.agent);
    part.tried.insert(chosen);
    part.mirror = &mirror;
    give_back(query, part.reply);
    auto end = co_await try_mirror(query, order, part, chosen, selected->connect_timeout);
    part.outcome = end.outcome;
    part.reply = std::move(end.reply);
    if (part.answered() && order.plan != nullptr)
      part.unsettled = AttemptEnd{.outcome = end.outcome, .took = end.took, .connect = end.connect};
    part.timed_out = end.out_of_time || end.outcome == Outcome::query_timeout ||
                     end.outcome == Outcome::connect_timeout;
    if (part.answered() || end.outcome == Outcome::client_mistake) co_return;
    part.failed.push_back({&mirror, std::move(end.why)});
    const auto now = Loop::now();
    const auto pause =
        next_attempt(retry, {.outcome = part.outcome,
                             .read = order.parsed.read,
                             .sent = end.sent,
                             .retries_made = part.retries,
                             .tried = tried(query, order, part),
                             .mirrors = set.size(),
                             .left = std::chrono::duration_cast<Micros>(query.deadline - now)});
    if (!pause) co_return;
    if (*pause > Micros{0}) {
      QueryStop stop(query);
      co_await sleep(worker.loop, now + *pause, stop);
    }
    ++part.retries;
    worker.counters.add(Count::retries);
  }
}

bool reject(Query& query, const ShardOrder& order, ShardPart& part, std::string why) {
  const auto& set = *part.shard->mirrors;
  query.worker.counters.add(Count::merge_rejected);
  part.outcome = part.unsettled->outcome = Outcome::wrong_reply;
  part.unsettled->why = why;
  part.failed.push_back({part.mirror, std::move(why)});
  settle(query, part);
  const auto left = std::chrono::duration_cast<Micros>(query.deadline - Loop::now());
  const auto pause =
      next_attempt(retry_settings(query, order, *part.shard), {.outcome = part.outcome,
                                                               .read = order.parsed.read,
                                                               .sent = true,
                                                               .retries_made = part.retries,
                                                               .tried = tried(query, order, part),
                                                               .mirrors = set.size(),
                                                               .left = left});
  if (query.stopped || pause != Micros{0}) return false;
  ++part.retries;
  query.worker.counters.add(Count::retries);
  return true;
}

void settle(Query& query, ShardPart& part) {
  if (part.unsettled)
    record(*part.mirror, part.shard->mirrors->failure_floor(), query.worker.loop.index, Loop::now(),
           *part.unsettled);
  part.unsettled.reset();
  give_back(query, part.reply);
}

}  // namespace karmad
