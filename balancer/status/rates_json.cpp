#include "balancer/status/rates_json.hpp"

#include "balancer/status/document.hpp"

namespace karmad {
namespace {

std::uint64_t read(const std::atomic<std::uint64_t>& count) {
  return count.load(std::memory_order_relaxed);
}

template <class Body>
GateText gate(std::string_view name, Body body) {
  GateText text{name, {}};
  {
    Document out(text.json);
    out.object([&] { body(out); });
  }
  return text;
}

}  // namespace

std::vector<GateText> rate_texts(const Worker& worker) {
  const auto topology = worker.topology();
  const auto& rates = worker.limits.rates;
  const auto now = Loop::now();
  const auto connections = rates.connections.counts(now);
  std::vector<GateText> all;
  all.push_back(gate("queues", [&](Document& out) {
    out.object("ingressSessionEstablishment", [&] {  // AC-037
      write(out, connections);
      write_queue(out, connections);
    });
  }));
  all.push_back(gate("connections", [&](Document& out) {
    out.add(kConnectionsQueued, rates.connections.asleep());
    out.object("establishmentRateLimit", [&] {
      out.value("rejected", connections.rejected);
      out.value("exempted", connections.exempted);
      out.add(kConnectionsLeftQueue, read(rates.left_queue));
    });
  }));
  all.push_back(gate("metrics", [&](Document& out) {
    out.object("network",
               [&] { out.add(kTimeToHead, static_cast<std::uint64_t>(rates.time_to_head.get())); });
  }));
  all.push_back(gate("network", [&](Document& out) {
    out.object("ingressRequestRateLimiter", [&] { write(out, rates.requests.counts(now)); });
    out.object("client_request_rate", [&] { write(out, rates.client_counts()); });
    out.object("request_rate", [&] {
      for (const auto& table : topology->tables)
        if (table->requests)
          out.object(table->name, [&] { write(out, table->requests->counts(now)); });
    });
  }));
  return all;
}

}  // namespace karmad
