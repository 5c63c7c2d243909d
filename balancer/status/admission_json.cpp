#include "balancer/status/status_json.hpp"

#include "agent/stats/document.hpp"
#include "balancer/admission/admission.hpp"
#include "config/settings/words.hpp"

namespace karmad {
namespace {

/// By the names of the settings. `name`: of the one with the size.
void write_settings(Document& out, std::string_view name, const TicketPool& pool,
                    const PoolSettings& settings) {
  out.value(name.substr(0, name.find(' ')), settings.size);
  out.value("ticket_queue_depth", pool.queue_depth());
  out.text("ticket_queue_discipline", settings.line.fewest_admissions
                                          ? "fewest admissions"
                                          : word(settings.line.discipline.order));
  out.value("ticket_queue_target_ms", settings.line.discipline.target, Unit::milliseconds);
  out.value("ticket_queue_interval_ms", settings.line.discipline.interval, Unit::milliseconds);
  out.text("ticket_resize", word(settings.resize));
  out.value("ticket_delinquent_after_ms", settings.delinquent_after, Unit::milliseconds);
}

void write_pool(Document& out, std::string_view name, const TicketPool& pool) {
  const auto settings = pool.settings();
  const auto statistics = pool.statistics();
  out.object([&] {
    out.text("name", name);
    out.value("limits", settings.limits());
    out.object("settings", [&] { write_settings(out, name, pool, settings); });
    write(out, statistics);
    for (std::size_t i = 0; i < kPriorities; ++i)
      out.object(karmad::name(static_cast<Priority>(i)),
                 [&] { write(out, statistics.by_priority[i]); });
    out.object("delinquent", [&] { write_delinquent(out, statistics); });
  });
}

void write_probing(Document& out, const ProbingStatus& probing) {
  out.value("searches", probing.reads);
  out.value("updates", probing.writes);
  if (!probing.reads && !probing.writes) return;
  out.text("state", name(probing.state));
  write(out, probing);
  out.text("last_decision", probing.last_decision);
}

/// The rate limiters, with the names of AC-044 and AC-055.
void write_limiters(Document& out, const Worker& worker) {
  const auto topology = worker.topology();
  const auto& rates = worker.limits.rates;
  const auto now = Loop::now();
  const auto connections = rates.connections.counts(now);
  out.object("queues", [&] {
    out.object("ingressSessionEstablishment", [&] {  // AC-037
      write(out, connections);
      write_queue(out, connections);
    });
  });
  out.object("connections", [&] {
    out.add(kConnectionsQueued, rates.connections.asleep());
    out.object("establishmentRateLimit", [&] {
      out.value("rejected", connections.rejected);
      out.value("exempted", connections.exempted);
      out.add(kConnectionsLeftQueue, rates.left_queue.load(std::memory_order_relaxed));
    });
  });
  out.object("metrics", [&] {
    out.object("network",
               [&] { out.add(kTimeToHead, static_cast<std::uint64_t>(rates.time_to_head.get())); });
  });
  out.object("network", [&] {
    out.object("ingressRequestRateLimiter", [&] { write(out, rates.requests.counts(now)); });
    out.object("client_request_rate", [&] { write(out, rates.client_counts()); });
    out.object("request_rate", [&] {
      for (const auto& table : topology->tables)
        if (table->requests)
          out.object(table->name, [&] { write(out, table->requests->counts(now)); });
    });
  });
}

}  // namespace

void append_admission_json(std::string& out, const Worker& worker) {
  const auto* admission = worker.limits.admission;
  Document document(out);
  document.object([&] {
    if (admission == nullptr) return;
    document.text("admission", word(admission->mode()));
    document.value("low_priority", admission->low_priority());
    document.object("limiters", [&] { write_limiters(document, worker); });
    document.array("tickets", admission->pools(),
                   [&](const auto& pool) { write_pool(document, pool.name, *pool.pool); });
    document.object("probing", [&] { write_probing(document, admission->probing()); });
    document.object("counters", [&] {
      for (const auto count :
           {Count::tickets_waited, Count::tickets_refused, Count::tickets_expired})
        document.add(stat(count), worker.total(count));
    });
  });
}

}  // namespace karmad
