#include "balancer/status/admission_json.hpp"

#include <array>
#include <utility>

#include "balancer/admission/admission.hpp"
#include "balancer/status/document.hpp"
#include "config/words.hpp"

namespace karmad {
namespace {

void write_settings(Document& out, const TicketPool& pool, const PoolSettings& settings) {
  out.optional("size", settings.size ? std::optional<std::uint64_t>(*settings.size) : std::nullopt);
  out.count("queue_depth", pool.queue_depth());
  out.text("queue_discipline", settings.line.fewest_admissions
                                   ? "fewest admissions"
                                   : word(settings.line.discipline.order));
  out.milliseconds("queue_target_ms", settings.line.discipline.target);
  out.milliseconds("queue_interval_ms", settings.line.discipline.interval);
  out.text("resize", word(settings.resize));
  out.milliseconds("delinquent_after_ms", settings.delinquent_after);
}

void write_priority(Document& out, const PriorityStatistics& of) {
  out.count("addedToQueue", of.added_to_queue);
  out.count("removedFromQueue", of.removed_from_queue);
  out.count("queueLength", of.queue_length());
  out.count("startedProcessing", of.started_processing);
  out.count("processing", of.processing());
  out.count("finishedProcessing", of.finished_processing);
  out.count("totalTimeProcessingMicros", of.total_time_processing_us);
  out.count("canceled", of.canceled);
  out.count("newAdmissions", of.started_processing);  // no request is admitted twice
  out.count("totalTimeQueuedMicros", of.total_time_queued_us);
  out.count("shed", of.shed);
  out.count("refused", of.refused);
  out.count("wouldQueue", of.would_queue);
  out.count("wouldRefuse", of.would_refuse);
}

void write_pool(Document& out, std::string_view name, const TicketPool& pool) {
  const auto settings = pool.settings();
  const auto statistics = pool.statistics();
  out.object([&] {
    out.text("name", name);
    out.flag("limits", settings.limits());
    out.object("settings", [&] { write_settings(out, pool, settings); });
    out.count("out", statistics.out);
    if (statistics.available) {
      out.number("available", *statistics.available);
    } else {
      out.null("available");
    }
    out.optional("totalTickets",
                 statistics.total ? std::optional<std::uint64_t>(*statistics.total) : std::nullopt);
    out.optional("peak",
                 statistics.peak ? std::optional<std::uint64_t>(*statistics.peak) : std::nullopt);
    out.flag("resizing", statistics.resizing);
    out.count("retryAfterSeconds", static_cast<std::uint64_t>(pool.retry_after().count()));
    for (std::size_t i = 0; i < kPriorities; ++i)
      out.object(karmad::name(static_cast<Priority>(i)),
                 [&] { write_priority(out, statistics.of[i]); });
    out.object("delinquent", [&] {
      out.count("count", statistics.delinquent);
      out.count("totalMillis", statistics.delinquent_ms);
      out.count("maxMillis", statistics.delinquent_ms_most);
    });
  });
}

void write_probing(Document& out, const ProbingStatus& probing) {
  out.flag("searches", probing.reads);
  out.flag("updates", probing.writes);
  if (!probing.reads && !probing.writes) return;
  out.text("state", name(probing.state));
  out.optional("stableConcurrency", std::optional(probing.stable_concurrency));
  out.optional("stableThroughput", std::optional(probing.stable_throughput));
  out.count("searchTickets", probing.sizes.reads);
  out.count("updateTickets", probing.sizes.writes);
  const auto& counters = probing.counters;
  out.count("timesDecreased", counters.times_decreased);
  out.count("timesIncreased", counters.times_increased);
  out.count("totalAmountDecreased", counters.total_amount_decreased);
  out.count("totalAmountIncreased", counters.total_amount_increased);
  out.count("resizeDurationMicros", probing.resize_duration_us);
  out.count("timesProbedStable", counters.times_probed_stable);
  out.count("timesProbedUp", counters.times_probed_up);
  out.count("timesProbedDown", counters.times_probed_down);
  out.text("lastDecision", probing.last_decision);
}

std::uint64_t total(const Worker& worker, Count count) {
  std::uint64_t sum = 0;
  for (const auto& each : worker.all) sum += each->counters[static_cast<std::size_t>(count)];
  return sum;
}

}  // namespace

void append_admission_json(std::string& out, const Worker& worker,
                           std::span<const GateText> in_front) {
  const auto* admission = worker.process.admission;
  Document document(out);
  document.object([&] {
    if (admission == nullptr) return;
    document.text("mode", word(admission->mode()));
    document.flag("lowPriority", admission->low_priority());
    document.object("limiters", [&] {
      for (const auto& gate : in_front) document.raw(gate.name, gate.json);
    });
    document.array("tickets", admission->pools(),
                   [&](const auto& pool) { write_pool(document, pool.first, *pool.second); });
    document.object("probing", [&] { write_probing(document, admission->probing()); });
    document.object("counters", [&] {
      for (const auto count :
           {Count::tickets_waited, Count::tickets_refused, Count::tickets_expired})
        document.count(kCountText[static_cast<std::size_t>(count)].name, total(worker, count));
    });
  });
}

}  // namespace karmad
