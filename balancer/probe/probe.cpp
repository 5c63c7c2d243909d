#include "balancer/probe/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "agent/mirrors/attempt.hpp"
#include "agent/transport/http/field_names.hpp"
#include "balancer/topology/rule_reader.hpp"

namespace karmad {
namespace {

constexpr Micros kProbeTime = 5s;
constexpr Micros kConnectTime = 2s;
constexpr Micros kAnswerTime = 2s;
constexpr std::size_t kAskedAtOnce = 128;
constexpr std::size_t kLongestAnswer = 1 << 20;
constexpr std::size_t kKeptBuffer = 1 << 16;

/// Asks all targets on one loop, some of them at a time.
class Prober {
 public:
  explicit Prober(std::vector<ProbeTarget> targets)
      : targets_(std::move(targets)), reports_(targets_.size()) {}

  std::vector<AgentReport> run() {
    for (std::size_t i = 0; i < std::min(kAskedAtOnce, targets_.size()); ++i) spawn(ask_some());
    loop_.let_end();
    loop_.run();
    compare_columns(targets_, reports_);
    return std::move(reports_);
  }
  const std::vector<ProbeTarget>& targets() const { return targets_; }

 private:
  Task<void> ask_some() {
    while (next_ < targets_.size()) {
      const auto i = next_++;
      const auto exchanges = co_await ask(targets_[i]);
      reports_[i] = judge_probe(targets_[i], exchanges);
    }
  }

  static ProbeExchange failed(std::string why) {
    return {banner_request(), {.failure = std::move(why)}};
  }

  Task<std::vector<ProbeExchange>> ask(const ProbeTarget& target) {
    const auto agent = std::make_shared<PlainServer>(target.address);
    if (target.tls) {
      auto context = TlsClient::read(*target.tls);
      if (!context) co_return std::vector{failed(context.error().why)};
      agent->tls(
          std::make_shared<TlsClient>(*std::move(context), *target.tls, tls_host(target.address)));
    }
    ConnectionLimits limits(1, {.kept = 1});
    auto pool = std::make_unique<Pool>(loop_, agent, limits, LookUp::at_load);
    std::vector<ProbeExchange> exchanges;
    auto requests = std::vector{banner_request()};
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto request = requests[i];
      auto answer = co_await ask(*pool, request.request, target.authorization);
      exchanges.push_back({request, std::move(answer)});
      if (!exchanges.back().answer.failure.empty()) break;
      if (i == 0)
        std::ranges::move(further_requests(target, engine_in(exchanges.back().answer.body)),
                          std::back_inserter(requests));
    }
    pool->clear();
    // Closed connections return to the pool in later turns of the loop.
    while (!pool->unused()) co_await next_turn(loop_);
    co_return exchanges;
  }

  Task<ProbeAnswer> ask(Pool& pool, const PingRequest& what, const std::string& credentials) {
    const auto now = Loop::now();
    if (now >= end_) co_return ProbeAnswer{.failure = "no time was left"};
    const Field authorization{kAuthorization, credentials};
    const AttemptRequest request{
        .began = now,
        .method = what.method,
        .target = what.target,
        .content_type = what.content_type,
        .body = what.method == "POST" ? std::optional<std::string_view>(what.body) : std::nullopt,
        .extra = {&authorization, credentials.empty() ? 0U : 1U},
        .connect_timeout = kConnectTime,
        .query_timeout = kAnswerTime,
        .note_first_byte = true,
        .deadline = end_,
        .limits = {.most = kLongestAnswer, .fields = true}};
    AttemptResult result;
    Stop stop(loop_);
    co_await attempt(loop_, pool, request, stop, result);
    ProbeAnswer answer;
    if (result.outcome != Outcome::answered) {
      answer.failure =
          result.out_of_time ? "no time was left for its answer" : std::move(result.why);
      co_return answer;
    }
    answer.status = result.reply.status;
    answer.body = result.reply.body();
    answer.server = result.reply.field("Server");
    answer.date = result.reply.field("Date");
    answer.trip = std::chrono::duration_cast<Micros>(result.first_byte.value_or(result.sent_at) -
                                                     result.sent_at);
    answer.at = std::chrono::system_clock::now();
    co_return answer;
  }

  Loop loop_{0, kKeptBuffer, 1};
  const TimePoint end_ = Loop::now() + kProbeTime;
  const std::vector<ProbeTarget> targets_;
  std::vector<AgentReport> reports_;
  std::size_t next_ = 0;
};

}  // namespace

ProbeResult probe(const Settings& settings, Dialects dialects) {
  Prober prober(probe_targets(settings, dialects));
  const auto reports = prober.run();
  const bool good = std::ranges::all_of(
      reports, [](const AgentReport& report) { return report.problems.empty(); });
  std::string text;
  for (const auto& table : settings.tables)
    if (table.discovery)
      text += fmt::format("table {}: mirrors that its discovery finds are not asked\n", table.name);
  return {good, text + probe_text(prober.targets(), reports)};
}

}  // namespace karmad
