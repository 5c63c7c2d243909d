#include "balancer/status/status_json.hpp"

#include <fmt/format.h>

#include <ranges>

#include "agent/stats/document.hpp"
#include "balancer/selection/selection.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

std::string certificate_warning(const TlsServer& certificates,
                                std::chrono::system_clock::time_point now) {
  if (const auto why = certificates.refused_files(); !why.empty())
    return "tls_certificate: the former certificates stay in use: " + why;
  const auto [at, file] = certificates.expires();
  const auto left = std::chrono::floor<std::chrono::days>(at - now).count();
  if (left >= 14) return {};
  return left < 0 ? fmt::format("tls_certificate {} has expired: clients refuse it", file)
                  : fmt::format("tls_certificate {} expires in {}", file,
                                counted_noun(static_cast<std::size_t>(left), "day"));
}

namespace {

/// Whether a search without a read preference would find a mirror.
bool serves(const Table& table, const Shard& shard, const InstanceSettings& settings,
            unsigned worker) {
  const auto& mirrors = *shard.mirrors;
  const Selection selection(std::nullopt, table, settings, SelectionClass::may_use_secondary);
  const auto in_service = Candidates::first(mirrors.size()) - mirrors.out_of_service().all();
  if (const auto* need = selection.at(shard))
    return !suitable_for(*need, mirrors.view(worker)->picture, in_service).empty();
  for (const auto m : in_service)
    if (live(*mirrors[m].agent, settings)) return true;
  return false;
}

/// What a reader of `/readyz` is told of a mirror of a shard that cannot be searched.
std::string_view why_not_live(const MirrorSet& mirrors, std::size_t mirror, std::string_view error,
                              bool hides) {
  const auto& agent = *mirrors[mirror].agent;
  if (mirrors.out_of_service().all().contains(mirror) && !agent.absent())
    return "taken out by the operator (drain, maint)";
  if (error.empty()) return "has not answered yet";
  return hides ? "its last request failed" : error;
}

void write_missing(Document& out, const Table& table, std::size_t number, bool counts, bool hides) {
  const auto& mirrors = *table.shards[number]->mirrors;
  out.object([&] {
    out.text("table", table.name);
    out.value("shard", number + 1);
    out.value("required", counts);
    out.array("mirrors", std::views::iota(std::size_t{0}, mirrors.size()), [&](std::size_t m) {
      const auto error = mirrors[m].agent->last_error();
      out.object([&] {
        out.text("agent", hides ? fmt::format("mirror {}", m + 1) : mirrors[m].agent->name);
        out.text("why", why_not_live(mirrors, m, error, hides));
      });
    });
  });
}

}  // namespace

std::pair<bool, std::string> readiness(const Topology& topology, bool draining, unsigned worker,
                                       const Table* only) {
  bool ready = !draining;
  const bool hides = topology.settings.status_on_query_port.value != StatusOnQueryPort::yes;
  const auto shards = [&](Document& out, const Table& table) {
    const bool counts = table.required || only != nullptr;
    for (std::size_t s = 0; s < table.shards.size(); ++s) {
      if (serves(table, *table.shards[s], topology.settings, worker)) continue;
      if (counts) ready = false;
      write_missing(out, table, s, counts, hides);
    }
  };
  auto body = json_object([&](Document& out) {
    out.value("draining", draining);
    if (only != nullptr) out.text("table", only->name);
    out.array("missing", topology.tables, [&](const auto& table) {
      if (only == nullptr || table.get() == only) shards(out, *table);
    });
    if (topology.client_tls) {
      const auto warning =
          certificate_warning(*topology.client_tls, std::chrono::system_clock::now());
      if (!warning.empty()) out.text("warning", warning);
    }
    out.value("ready", ready);
  });
  return {ready, std::move(body)};
}

}  // namespace karmad
