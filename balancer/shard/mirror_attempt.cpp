#include "balancer/shard/shard_driver.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <ranges>

#include "agent/dialect/plan/plan.hpp"
#include "agent/health/error_hint.hpp"
#include "agent/json/json_tree.hpp"
#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/field_values.hpp"
#include "agent/transport/pool.hpp"
#include "balancer/admission/client_auth.hpp"
#include "balancer/core/long_work.hpp"
#include "balancer/core/query.hpp"
#include "balancer/shard/attempt_effects.hpp"
#include "balancer/shard/error_attributions.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

/// An unknown server's answer without a length is passed on while it arrives when it pauses for so
/// long; one that comes without a pause can be replaced by that of another mirror until it is
/// complete.
constexpr Micros kStreamPause = 50ms;

Micros query_timeout(const ShardQuery& shard_query, unsigned attempts_before) {
  if (shard_query.parsed.options.agent_query_timeout)
    return *shard_query.parsed.options.agent_query_timeout;
  if (!shard_query.parsed.read) return shard_query.table.timeouts.query;
  return shard_query.table.timeouts.of_search(attempts_before);
}

/// Nothing if the trace is not used.
std::optional<OpenAttempt> open_trace(const AttemptPlace& place, const action::Send& send,
                                      const Mirror& mirror,
                                      const std::optional<HedgeRules>& hedging,
                                      std::uint64_t span) {
  if (!place.query.record.wants_trace) return std::nullopt;
  AttemptStart start{
      .shard = place.shard_number,
      .mirror = mirror.agent->name,
      .reason = send.reason,
      .choice = {.strategy = place.shard.mirrors->strategy_name(),
                 .suitable = static_cast<std::uint8_t>(send.pick.suitable.size()),
                 .acceptable = static_cast<std::uint8_t>(send.pick.acceptable.size())},
      .pause = send.pause,
      .span = span,
      .at = Loop::now()};
  if (send.reason == AttemptReason::initial) start.hedging = hedging;
  return place.query.record.trace.begin(start);
}

/// Whether a mirror that reports this is at fault, whatever its status. One that is behind, or at
/// which two updates collided, works.
bool is_at_fault(ErrorHint::Kind kind) {
  using enum ErrorHint::Kind;
  return kind != none && kind != retry_with && kind != generation_low;
}

/// For an unknown server (dialect `http`) 410 and 449 have their plain HTTP meaning, unless there
/// is a sub-status.
bool is_plain(const ShardQuery& shard_query, const AttemptResult& result, const ErrorHint& hint) {
  return !shard_query.table.dialect.capabilities.understands_errors && hint.sub_status == 0 &&
         (result.reply.status == 410 || result.reply.status == 449);
}

/// The hint in an error answer: the state of its mirror, or when and where to retry.
ErrorHint hint_in(Loop& loop, const ShardQuery& shard_query, const AttemptResult& result,
                  const ErrorBody& body) {
  auto& head = loop.response_head;
  if (result.reply.status < 400 || !result.reply.restore(head)) return {};
  const auto hint = error_hint(result.reply.status, head, body, std::chrono::system_clock::now());
  return is_plain(shard_query, result, hint) ? ErrorHint{} : hint;
}

/// Whether the mirror is a karmad, or leads to one, that ended a loop (X-Karmad-Hops). The mirror
/// is healthy, and others would give the request no fewer hops.
bool ended_loop(const AttemptResult& result, const ErrorBody& body) {
  return result.outcome == Outcome::agent_error && result.reply.status == 508 &&
         text_of(member_of(member_of(body.object(), "error"), "type")) == kLoopDetected;
}

/// The Host for agents; empty: their own address.
std::string_view kept_host(const Query& query, const Table& table) {
  return table.keeps_host ? query.request.fields.find("Host") : std::string_view();
}

AttemptRequest order_of(const Query& query, const ShardQuery& shard_query, const action::Send& send,
                        TimePoint began, const AgentRequest& request, const ExtraFields& extra) {
  const auto& settings = query.topology->settings;
  const bool passes_fields = shard_query.table.dialect.capabilities.passes_fields;
  return {.began = began,
          .method = request.method,
          .target = request.target,
          .host = kept_host(query, shard_query.table),
          .content_type = request.content_type,
          .body = request.body.empty() && request.method != "POST" && request.method != "PUT"
                      ? std::nullopt
                      : std::optional(request.body),
          .rest = query.request.rest,
          .extra = extra.all(),
          .passed_on = passes_fields ? &query.request.fields : nullptr,
          .withheld = extra.withheld(),
          .hops = query.request.hops + 1,
          .repeatable = shard_query.parsed.read && !shard_query.parsed.follow_up &&
                        query.request.rest == nullptr,
          .looks_first = !query.record.crashes.empty(),
          .connect_timeout = send.connect_timeout,
          .first_byte_timeout = shard_query.table.timeouts.first_byte,
          .query_timeout = query_timeout(shard_query, send.number),
          .note_first_byte = query.record.wants_trace || query.record.wants_explanation,
          .deadline = query.resources.deadline,
          .limits = {.most = settings.max_packet_size.value,
                     .whole = shard_query.plan == nullptr && shard_query.parsed.read
                                  ? settings.reply_buffer_size.value
                                  : settings.max_packet_size.value,
                     .open_end = shard_query.plan == nullptr && shard_query.parsed.read &&
                                 !query.client.takes_rows,
                     .pause = passes_fields ? std::optional(kStreamPause) : std::nullopt,
                     .fields = passes_fields,
                     .offered = extra.offered(),
                     .memory = query.resources.memory}};
}

/// The request of the shard at `shard_at`, from 0, for a mirror that names the table `tables`.
AgentRequest write_for_mirror(const Query& query, const ShardQuery& shard_query,
                              std::size_t shard_at, std::span<const std::string> tables,
                              std::string& buffer) {
  if (shard_query.plan != nullptr)
    return write_planned(*shard_query.plan, shard_at, tables, buffer);
  return shard_query.dialect.write(query.request, shard_query.parsed, tables, buffer);
}

}  // namespace

ExtraFields::ExtraFields(const Query& query, const ShardQuery& shard_query, const Shard& shard,
                         std::size_t shard_at, std::string&& preference) {
  add(kBackpressure, "1");
  if (const auto value = authorization_for(shard.credentials, query)) {
    if (value->empty())
      withheld_ = kAuthorization;
    else
      add(kAuthorization, *value);
  }
  const bool passes_fields = shard_query.table.dialect.capabilities.passes_fields;
  if (shard_query.table.forwards_headers) {
    const auto& told = forwarded_.emplace(query.request.fields, forwarded_by(query.client));
    add(kForwardedFor, told.addresses);
    add(kForwardedProto, told.proto);
    if (!told.host.empty()) add(kForwardedHost, told.host);
    if (!told.forwarded.empty()) add(kForwarded, told.forwarded);
  }
  if (!preference.empty()) add(kReadPreference, preference_ = std::move(preference));
  if (const auto seen = query.request.seen_generations.at(shard_at)) {
    auto* const begin = generation_.data();
    add(kMinGeneration, {begin, std::to_chars(begin, begin + generation_.size(), *seen).ptr});
  }
  if (!query.record.request_id.empty()) add(kRequestId, query.record.request_id.text());
  if (const auto& context = query.record.trace_context; !context.empty()) {
    span_ = random_id(query.worker.loop.random);
    traceparent_ = traceparent(context, span_);
    add(kTraceparent, {traceparent_.data(), traceparent_.size()});
    if (!context.state.empty()) add(kTracestate, context.state);
  }
  if (query.request.rest != nullptr && !query.request.rest->length())
    add("Transfer-Encoding", "chunked");
  if (shard_query.table.passes_upgrades && query.request.method != "HEAD")
    offered_ = offered_upgrade(query.request.fields);
  if (!offered_.empty()) {
    add("Connection", "Upgrade");
    add("Upgrade", offered_);
  }
  if (const auto key = query.request.fields.find(kIdempotencyKey); !passes_fields && !key.empty())
    add(kIdempotencyKey, key);
}

MirrorAttempt::MirrorAttempt(const AttemptPlace& place, const action::Send& send, AgentSlot slot,
                             TimePoint began, const std::optional<HedgeRules>& hedging,
                             AttemptResult& result)
    : AttemptInFlight(send.pick.mirror, began),
      place_(place),
      query_(place.query),
      shard_query_(place.shard_query),
      slot_(send.slot),
      reason_(send.reason),
      result_(result),
      set_(*place.shard.mirrors),
      mirror_(set_[mirror]),
      agent_slot_(std::move(slot)),
      tracks_state_(shard_query_.selection.at(place.shard) != nullptr),
      worked_(!place.shard.protection->standings.of(mirror).failing()),
      written_(query_.worker.loop.buffers),
      extra_(
          query_, shard_query_, place.shard, place.shard_number - 1,
          shard_query_.selection.passed_on(set_.view(query_.worker.loop.index)->picture, mirror)),
      attempt_(order_of(
          query_, shard_query_, send, began,
          write_for_mirror(query_, shard_query_, place.shard_number - 1, mirror_.tables, *written_),
          extra_)),
      trace_(open_trace(place, send, mirror_, hedging, extra_.span())),
      stop_(query_) {
  if (written_->empty()) written_.give_back();  // the client's own body is sent
  written_memory_.charge(query_.resources.memory, written_->capacity());
  query_.worker.counters.add(Count::attempts);
  mirror_.tally.attempted(query_.worker.loop.index);
  set_.watch(*this, query_.worker.loop.index);
}

Task<void> MirrorAttempt::ask() {
  auto& worker = query_.worker;
  return attempt(worker.loop, worker.pool(mirror_.agent), attempt_, stop_, result_);
}

void MirrorAttempt::cancel(action::Cancel::Why why) {
  lost_race_ = why == action::Cancel::Why::lost_race;
  stop_.request(why == action::Cancel::Why::unreachable ? StopReason::unreachable
                                                        : StopReason::cancelled);
}

/// A ping of the mirror timed out.
void MirrorAttempt::unreachable() {
  if (!query_.topology->settings.interrupt_unreachable.value) return;
  const auto arrived = result_.reply.bytes.size();
  if (arrived > std::exchange(arrived_, arrived)) return;  // the reply is arriving
  AttemptReport report;
  report.outcome = Outcome::unreachable;
  report.sent = result_.sent_at != TimePoint{};
  report.body_gone = is_body_gone();
  place_.owner.mirror_unreachable(slot_, report);
}

/// Moves the connection and the slot to the stream of the unread rest. If the attempt has no
/// answer, closes the connection instead.
void MirrorAttempt::keep_rest(char ends_in, std::unique_ptr<ResponseStream>& rest) {
  if (!is_answered(result_.outcome)) return std::exchange(result_.rest.on, {})->close();
  auto& breaker = place_.shard.protection->breaker;
  const ResponseStream::Source source{
      .loop = query_.worker.loop,
      .pool = query_.worker.pool(mirror_.agent),
      .set = set_,
      .number = mirror,
      .tracks_state = tracks_state_,
      .breaker = breaker ? &*breaker : nullptr,
      .patience = attempt_.query_timeout,
      .open_patience = query_.topology->settings.stream_timeout.value,
      .ends_in = ends_in};
  rest = std::make_unique<ResponseStream>(source, std::move(agent_slot_), result_);
}

Judgement MirrorAttempt::check() const try {
  const auto& reply = result_.reply;
  auto judged = shard_query_.dialect.judge(
      {reply.status, reply.content_type(), reply.body(), reply.left == 0, &query_.request},
      shard_query_.plan != nullptr);
  const auto& credentials = place_.shard.credentials;
  if (reply.status == 401 && judged.outcome == Outcome::client_mistake &&
      !credentials.own.empty() &&
      credentials.for_client(query_.request.fields.find(kAuthorization)) == credentials.own)
    judged.outcome = Outcome::agent_error;  // the client had no part in them
  return judged;
} catch (const std::exception& thrown) {  // as internal_error_in(), which would move the result
  return {.outcome = Outcome::cancelled, .message = internal_error(thrown).reason};
}

/// Checking is cheaper than parsing: most of an answer is skipped in large steps.
bool MirrorAttempt::should_offload() const {
  constexpr std::size_t kQuick = 4;
  return !aside_ && result_.outcome == Outcome::answered &&
         is_long_work(query_, result_.reply.body().size() / kQuick);
}

Task<void> MirrorAttempt::offload_check() {
  aside_ = true;
  auto work = [this] { checked_ = check(); };
  stop_.arm(query_.resources.deadline, StopReason::deadline);
  const auto ended = co_await query_.worker.process.helpers->run(
      query_.worker.loop, stop_, work_on(result_.reply.body().size(), query_.client.address), work);
  stop_.disarm();
  if (ended == ThreadPool::End::done) co_return;
  result_.outcome = Outcome::cancelled;
  result_.out_of_time = stop_.why() == StopReason::deadline;
  result_.why = "its answer was not checked any more";
  if (ended == ThreadPool::End::refused) unchecked_ = Unchecked::no_helper;
}

/// Whether it is unknown if the query or the mirror caused an error that does not report the state
/// of the mirror. With a hint in the answer the mirror caused it. If another mirror gave the same
/// error, the client did; then the outcome in `result_` is changed.
bool MirrorAttempt::is_undecided(std::string_view complaint, AttemptReport& report) {
  if (result_.outcome != Outcome::agent_error) return false;
  if (report.hint.kind != ErrorHint::Kind::none || report.hint.overload) return false;
  const auto cause = cause_of_error(query_, shard_query_, place_.shard, mirror,
                                    place_.owner.untried(slot_), complaint, result_, Loop::now());
  report.agreed = cause == Cause::query;
  if (report.agreed) result_.outcome = Outcome::client_mistake;
  return cause == Cause::undecided;
}

/// Whether its agent worked until it closed the connection on this request without an answer. The
/// agent may also have refused a new connection already, if the closed one was a kept one. A
/// request that was answered before crashes no agent. A body that was not kept cannot be
/// recognized.
bool MirrorAttempt::may_have_crashed() const {
  using enum Outcome;
  if (!worked_ || !result_.sent || query_.request.rest != nullptr) return false;
  const bool refused = result_.outcome == connect_failed && result_.stale;
  if (!refused && result_.outcome != closed_early && result_.outcome != broken) return false;
  return !place_.shard.protection->answered.contains(fingerprint(query_.request), Loop::now());
}

/// The agents of this shard among `crashes`. Those of other shards do not count: hosts that die at
/// the same time close the connections of all parts of a query.
auto MirrorAttempt::crashes_here() const {
  return query_.record.crashes | std::views::filter([this](const CrashSuspicion& crash) {
           for (std::size_t i = 0; i < set_.size(); ++i)
             if (set_[i].agent == crash.agent) return true;
           return false;
         });
}

bool MirrorAttempt::needs_crash_check() {
  if (std::exchange(crash_noted_, true) || !may_have_crashed()) return false;
  auto& crashes = query_.record.crashes;
  if (std::ranges::find(crashes, mirror_.agent, &CrashSuspicion::agent) != crashes.end())
    return false;
  crashes.push_back({mirror_.agent, result_.outcome == Outcome::connect_failed});
  suspected_ = true;
  auto here = crashes_here();
  return std::ranges::distance(here) > 1 && !std::ranges::all_of(here, &CrashSuspicion::refused);
}

/// The earlier agents first: if one of them accepts connections, the last one needs no second look.
/// A process that ends may accept connections for a moment after it has closed others.
Task<void> MirrorAttempt::check_crash() {
  constexpr Micros kConnect = 50ms;
  constexpr Micros kSecondLook = 20ms;
  auto& loop = query_.worker.loop;
  QueryStop stop(query_);
  std::vector<std::shared_ptr<Agent>> unknown;  // other parts may add some while this one waits
  for (const auto& crash : crashes_here())
    if (!crash.refused) unknown.push_back(crash.agent);
  const auto refuses = [&](const Agent& agent) -> Task<bool> {
    stop.arm(std::min(Loop::now() + kConnect, query_.resources.deadline),
             StopReason::connect_timeout);
    const bool refused = co_await refuses_connections(loop, agent, stop);
    stop.disarm();
    co_return refused;
  };
  for (const auto& agent : unknown) {
    bool refused = co_await refuses(*agent);
    if (!refused && agent == unknown.back() && count_crashes() > 0) {
      co_await sleep(loop, Loop::now() + kSecondLook, stop);
      refused = co_await refuses(*agent);
    }
    std::ranges::find(query_.record.crashes, agent, &CrashSuspicion::agent)->refused = refused;
  }
}

bool MirrorAttempt::is_body_gone() const {
  return query_.request.rest != nullptr && query_.request.rest->begun();
}

std::size_t MirrorAttempt::count_crashes() const {
  return static_cast<std::size_t>(std::ranges::count_if(crashes_here(), &CrashSuspicion::refused));
}

/// Two mirrors crashed on the request: no further one gets it, now and for some minutes.
void MirrorAttempt::remember_crash() {
  const auto& request = query_.request;
  result_.why +=
      "; it is not sent to another mirror, because two mirrors closed their connection on it and "
      "then refused connections";
  place_.shard.protection->crashing.add(fingerprint(request), Loop::now());
  query_.worker.counters.add(Count::crashing_requests);
  std::string agents;
  for (const auto& crash : crashes_here())
    agents.append(agents.empty() ? "" : ", ").append(crash.agent->name);
  constexpr std::size_t kTextShown = 200;
  spdlog::error(
      "query {}{}{}: table {}: the mirrors {} closed their connection on this request and then "
      "refused connections; it is not sent to another mirror, and repetitions are refused for 5 "
      "minutes: {:?}",
      query_.record.id, query_.record.request_id.empty() ? "" : ", request ID ",
      query_.record.request_id.text(), shard_query_.table.name, agents,
      (request.body.empty() ? request.query : request.body).substr(0, kTextShown));
}

void MirrorAttempt::count_end() const {
  auto& counters = query_.worker.counters;
  if (result_.stale) counters.add(Count::stale_connections);
  if (result_.outcome == Outcome::connect_timeout) counters.add(Count::connect_timeouts);
  if (result_.outcome == Outcome::unreachable) counters.add(Count::attempts_interrupted);
  if (result_.outcome == Outcome::query_timeout)
    counters.add(result_.first_byte_timeout ? Count::first_byte_timeouts : Count::query_timeouts);
}

/// Counts the attempt under its final outcome. The time of a cancelled attempt is not counted.
void MirrorAttempt::count_result() const {
  auto& worker = query_.worker;
  worker.attempt_results.add(reason_, result_.outcome);
  if (result_.outcome != Outcome::cancelled)
    shard_query_.table.tally->attempted(worker.loop.index, result_.took);
}

void MirrorAttempt::end_trace() {
  if (!trace_) return;
  if (result_.connect) trace_->connected(result_.sent_at);
  if (result_.first_byte) trace_->first_byte(*result_.first_byte);
  trace_->end(result_.ended, result_.outcome, result_.why, result_.reply.status);
}

/// Finds out who caused the failure of the attempt: the mirror, whose state is told to its set, or
/// the client; then the outcome in `result_` is changed.
void MirrorAttempt::blame(std::string_view complaint, AttemptReport& report) {
  const ErrorBody body(result_.reply.body());
  const bool looped = ended_loop(result_, body);
  if (looped) result_.outcome = Outcome::client_mistake;
  report.hint = hint_in(query_.worker.loop, shard_query_, result_, body);
  if (looped) return;
  if (result_.outcome == Outcome::client_mistake && is_at_fault(report.hint.kind))
    result_.outcome = Outcome::agent_error;
  report.marked_unreachable =
      tracks_state_ && report_to_set(set_, mirror, result_, body, report.hint, Loop::now());
  report.undecided =
      !complaint.empty() && !report.marked_unreachable && is_undecided(complaint, report);
  if (result_.outcome == Outcome::client_mistake &&
      shard_query_.table.dialect.capabilities.understands_errors)
    confirm_errors(query_, shard_query_, &place_.shard, result_.outcome, Loop::now());
}

AttemptReport MirrorAttempt::judge(std::unique_ptr<ResponseStream>& rest) {
  result_.lost_race = lost_race_ && result_.outcome == Outcome::cancelled;
  count_end();
  const bool crashed = suspected_ && count_crashes() > 1;
  if (crashed) remember_crash();
  const bool came = result_.outcome == Outcome::answered;
  auto judgement = !came      ? Judgement{.outcome = result_.outcome}
                   : checked_ ? *std::move(checked_)
                              : check();
  result_.outcome = judgement.outcome;
  if (!judgement.message.empty()) result_.why = std::move(judgement.message);
  if (came && result_.outcome == Outcome::cancelled) {  // the mirror is not to blame
    unchecked_ = Unchecked::internal_error;
    count_refused(query_.worker, 500, result_.why);
  }
  const bool answered = is_answered(result_.outcome);
  AttemptReport report;
  if (!answered) blame(judgement.complaint, report);
  result_.update = !shard_query_.parsed.read;
  record_slot_outcome(agent_slot_, result_);
  if (result_.reply.load) mirror_.signals.reported_load(result_.ended, *result_.reply.load);
  if (result_.rest.on) keep_rest(judgement.ends_in, rest);
  count_result();
  end_trace();
  if (!rest && !report.undecided && (shard_query_.plan == nullptr || !answered))
    record(mirror_, set_.failure_floor(), query_.worker.loop.index, result_.ended, result_);
  if (answered)
    place_.shard.protection->answered.add(query_.worker.loop.index, fingerprint(query_.request),
                                          result_.ended);
  if (answered && !query_.record.attributions.empty())
    discard_errors(query_, shard_query_, place_.shard, Loop::now());
  complete(report);
  report.crashed = crashed;
  report.passed_on = rest != nullptr;
  return report;
}

/// Adds what the end of the attempt shows.
void MirrorAttempt::complete(AttemptReport& report) {
  report_end(report, result_, mirror_);
  report.body_gone = is_body_gone();
  if (!is_answered(result_.outcome)) {
    report.replaced = query_.former == nullptr && query_.worker.topology_now() != query_.topology;
    report.unchecked = unchecked_;
    if (report.body_gone && report.outcome != Outcome::cancelled)
      report.why +=
          "; no other mirror is asked, because its body was passed on while it arrived "
          "(request_buffer_size)";
  }
  if (by_quorum(query_, shard_query_) || report.hint.kind == ErrorHint::Kind::generation_low)
    report.generation = result_.reply.generation;
}

}  // namespace karmad
