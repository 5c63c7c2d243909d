#include "balancer/status/admission_json.hpp"

#include <array>
#include <utility>

#include "balancer/admission/admission.hpp"
#include "balancer/status/document.hpp"
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

std::uint64_t total(const Worker& worker, Count count) {
  std::uint64_t sum = 0;
  for (const auto& each : worker.all) sum += each->counters[count];
  return sum;
}

}  // namespace

void append_admission_json(std::string& out, const Worker& worker,
                           std::span<const GateText> in_front) {
  const auto* admission = worker.limits.admission;
  Document document(out);
  document.object([&] {
    if (admission == nullptr) return;
    document.text("admission", word(admission->mode()));
    document.value("low_priority", admission->low_priority());
    document.object("limiters", [&] {
      for (const auto& gate : in_front) document.raw(gate.name, gate.json);
    });
    document.array("tickets", admission->pools(),
                   [&](const auto& pool) { write_pool(document, pool.name, *pool.pool); });
    document.object("probing", [&] { write_probing(document, admission->probing()); });
    document.object("counters", [&] {
      for (const auto count :
           {Count::tickets_waited, Count::tickets_refused, Count::tickets_expired})
        document.add(stat(count), total(worker, count));
    });
  });
}

}  // namespace karmad
