#include "agent/mirrors/ping.hpp"

#include <cassert>

#include "agent/transport/http/field_names.hpp"

namespace karmad {
namespace {

constexpr std::size_t kMaxPingReply = 8 << 20;  // description of a large cluster
constexpr std::size_t kPublishedInTurn = 64;

}  // namespace

Pinger::Pinger(Loop& loop, std::shared_ptr<Agent> agent, PingSettings settings, LookUp look_up)
    : loop_(loop),
      agent_(std::move(agent)),
      settings_(std::move(settings)),
      schedule_(settings_.interval),
      limits_(loop.index + 1, {.kept = 1}),
      pool_(loop, agent_, limits_, look_up) {}

Pinger::~Pinger() {
  assert(stopped());
}

void Pinger::start() {
  running_ = true;
  spawn(run());
}

void Pinger::stop() {
  stopping_ = true;
  break_off();
  if (waiting_ != nullptr) waiting_->request(StopReason::cancelled);
  pool_.clear();
}

void Pinger::check_now(Micros spacing) {
  if (pinging_ != nullptr) return;
  schedule_.check_now(spacing);
  if (waiting_ != nullptr) waiting_->request(StopReason::cancelled);
}

void Pinger::break_off() {
  if (pinging_ != nullptr) pinging_->request(StopReason::cancelled);
}

TimePoint Pinger::due() const {
  return schedule_.due(
      TimePoint{Micros{agent_->counters.last_reply.load(std::memory_order_relaxed)}});
}

Task<void> Pinger::run() {
  while (!stopping_) {
    if (const auto next = due(); Loop::now() < next) {
      Stop stop(loop_);
      waiting_ = &stop;
      co_await sleep(loop_, next, stop);
      waiting_ = nullptr;
      continue;
    }
    co_await ping();
  }
  pool_.clear();
  running_ = false;
}

Task<AttemptResult> Pinger::ask(const PingRequest& ping, TimePoint deadline, Stop& stop) {
  const Field authorization{kAuthorization, settings_.authorization};
  const AttemptRequest request{
      .began = Loop::now(),
      .method = ping.method,
      .target = ping.target,
      .content_type = ping.content_type,
      .body = ping.method == "POST" ? std::optional<std::string_view>(ping.body) : std::nullopt,
      .extra = {&authorization, settings_.authorization.empty() ? 0U : 1U},
      .connect_timeout = settings_.timeout,
      .query_timeout = settings_.timeout,
      .note_first_byte = true,
      .deadline = deadline,
      .limits = {.most = kMaxPingReply}};
  AttemptResult result;
  co_await attempt(loop_, pool_, request, stop, result);
  co_return result;
}

Task<void> Pinger::ping() {
  schedule_.ping_starts();
  const auto requests = settings_.kind->requests(settings_.path, settings_.table);
  const auto began = Loop::now();
  const auto deadline = began + 2 * settings_.timeout;
  std::vector<Reply> replies;
  std::vector<PingAnswer> answers;
  AttemptResult result;
  Micros trip{};
  replies.reserve(requests.size());
  for (const auto& request : requests) {
    Stop stop(loop_);
    pinging_ = &stop;
    auto ended = co_await ask(request, deadline, stop);
    pinging_ = nullptr;
    replies.push_back(std::move(ended.reply));
    // The time of a ping is that of its first request, its outcome that of the last one.
    if (answers.empty()) {
      trip = std::chrono::duration_cast<Micros>(ended.head.value_or(ended.sent_at) -
                                                ended.sent_at);  // SD-006
      result.took = ended.took;
      result.connect = ended.connect;
    }
    result.outcome = ended.out_of_time ? Outcome::query_timeout : ended.outcome;
    result.why = std::move(ended.why);
    if (result.outcome != Outcome::answered) break;
    answers.push_back({replies.back().status, replies.back().body()});
  }
  std::expected<Description, std::string> told = std::unexpected(result.why);
  if (result.outcome == Outcome::answered) {
    told = describe_ping(*settings_.kind, answers, agent_->name, settings_.table);
    if (!told) {
      result.outcome = Outcome::agent_error;
      result.why = told.error();
    }
  }
  const auto ended = Loop::now();
  schedule_.ping_ended(ended);
  const bool silent = answers.empty() && !agent_->counters.replied_since(began);
  record_ping(*agent_, loop_.index, ended, trip, result);
  co_await publish(result, std::move(told), trip, silent, ended);
  for (auto& reply : replies) {
    loop_.buffers.give(std::move(reply.bytes));
  }
}

/// In several turns of the loop if there are many sets: each takes a few microseconds.
Task<void> Pinger::publish(const AttemptResult& result,
                           std::expected<Description, std::string> told, Micros trip, bool silent,
                           TimePoint ended) {
  std::size_t published = 0;
  for (const auto& [set, mirror] : subscribers_) {
    if (published++ % kPublishedInTurn == kPublishedInTurn - 1) co_await loop_.turn.next();
    if (stopping_) co_return;
    if (told) {
      set->ping_answered(mirror, *told, trip, ended);
    } else if (const auto failure = ping_failure(result.outcome, silent)) {
      if (set->ping_failed(mirror, *failure, told.error(), ended)) schedule_.repeat();
    }
  }
}

}  // namespace karmad
