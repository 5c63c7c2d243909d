// What an admin call is about, as JSON: the state before and after it.
#include "agent/transport/http/http_syntax.hpp"
#include "balancer/operate/admin_call.hpp"
#include "balancer/status/document.hpp"
#include "config/settings/words.hpp"

namespace karmad {
namespace {

template <class Members>
std::string subject_of(Members members) {
  std::string json;
  {
    Document out(json);
    out.object([&] { members(out); });
  }
  return json;
}

std::string subject_of(const TableSettings& table, std::size_t shard,
                       const MirrorSettings& mirror) {
  return subject_of([&](Document& out) {
    out.text("table", table.name);
    out.value("shard", shard);
    out.text("mirror", text(mirror.address));
    out.text("state", word(mirror.state.value));
    out.value("weight", mirror.weight.value);
  });
}

std::string subject_of(const TableSettings& table) {
  std::string strategies;
  for (const auto& shard : table.shards) {
    const auto strategy = shard.ha_strategy ? shard.ha_strategy->value : "default";
    if (strategies.empty()) strategies = strategy;
    if (strategies != strategy) strategies = "differs between shards";
  }
  return subject_of([&](Document& out) {
    out.text("table", table.name);
    out.text("strategy", strategies);
    out.text("hedge", table.hedge.value);
  });
}

std::string subject_of(const InstanceSettings& searchd) {
  return subject_of([&](Document& out) {
    out.raw("hedging", searchd.hedge_disabled.value ? "false" : "true");
    out.text("log_level", word(searchd.log_level.value));
  });
}

bool is_about_mirrors(const AdminCall& call) {
  using enum AdminVerb;
  return call.mirror || call.verb == reset_karma || call.verb == restore;
}

}  // namespace

std::vector<std::string> subjects(const AdminCall& call, const Settings& settings) {
  std::vector<std::string> all;
  if (!call.mirror && !call.table) all.push_back(subject_of(settings.searchd));
  for (const auto& table : settings.tables) {
    if (call.table && !wire::same_word(table.name, *call.table)) continue;
    if (!call.mirror && (call.table || call.verb == AdminVerb::restore))
      all.push_back(subject_of(table));
    for (std::size_t s = 0; is_about_mirrors(call) && s < table.shards.size(); ++s)
      for (const auto& mirror : table.shards[s].mirrors)
        if (!call.mirror || text(mirror.address) == *call.mirror)
          all.push_back(subject_of(table, s + 1, mirror));
  }
  return all;
}

}  // namespace karmad
