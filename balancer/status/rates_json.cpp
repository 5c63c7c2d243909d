#include "balancer/status/rates_json.hpp"

#include "balancer/status/document.hpp"

namespace karmad {
namespace {

std::uint64_t read(const std::atomic<std::uint64_t>& count) {
  return count.load(std::memory_order_relaxed);
}

/// The five of AC-055.
void write_requests(Document& out, const RateCounts& counts) {
  out.count("attemptedAdmissions", counts.attempted);
  out.count("successfulAdmissions", counts.successful);
  out.count("rejectedAdmissions", counts.rejected);
  out.count("exemptedAdmissions", counts.exempted);
  out.number("totalAvailableTokens", counts.available);
}

/// All of AC-037.
void write_queue(Document& out, const RateCounts& counts) {
  write_requests(out, counts);
  out.count("addedToQueue", counts.queued);
  out.count("removedFromQueue", counts.dequeued);
  out.count("interruptedInQueue", counts.interrupted);
  out.count("averageTimeQueuedMicros", static_cast<std::uint64_t>(counts.average_wait));
}

void write_clients(Document& out, const RateGates& rates) {
  const auto counts = rates.clients.counts();
  out.count("attemptedAdmissions", counts.successful + counts.rejected);
  out.count("successfulAdmissions", counts.successful);
  out.count("rejectedAdmissions", counts.rejected);
  out.count("exemptedAdmissions", read(rates.clients_exempted));
  out.count("remembered", counts.remembered);
  out.count("forgotten", counts.forgotten);
}

template <class Body>
GateText gate(std::string_view name, Body body) {
  GateText text{name, {}};
  Document out(text.json);
  out.object([&] { body(out); });
  return text;
}

}  // namespace

std::vector<GateText> rate_texts(const Worker& worker) {
  const auto topology = worker.topology();
  const auto& rates = worker.process.rates;
  const auto now = Loop::now();
  const auto connections = rates.connections.counts(now);
  std::vector<GateText> all;
  all.push_back(gate("queues", [&](Document& out) {
    out.object("ingressSessionEstablishment", [&] { write_queue(out, connections); });
  }));
  all.push_back(gate("connections", [&](Document& out) {
    out.count("queuedForEstablishment", rates.connections.asleep());
    out.object("establishmentRateLimit", [&] {
      out.count("rejected", connections.rejected);
      out.count("exempted", connections.exempted);
      out.count("interruptedDueToClientDisconnect", read(rates.left_queue));
    });
  }));
  all.push_back(gate("metrics", [&](Document& out) {
    out.object("network", [&] {
      out.count("averageTimeToCompletedHelloMicros",
                static_cast<std::uint64_t>(rates.time_to_head.get()));
    });
  }));
  all.push_back(gate("network", [&](Document& out) {
    out.object("ingressRequestRateLimiter",
               [&] { write_requests(out, rates.requests.counts(now)); });
    out.object("clientRequestRateLimiter", [&] { write_clients(out, rates); });
    out.object("tableRequestRateLimiter", [&] {
      for (const auto& table : topology->tables)
        if (table->requests)
          out.object(clean_utf8(table->name),
                     [&] { write_requests(out, table->requests->counts(now)); });
    });
  }));
  return all;
}

}  // namespace karmad
