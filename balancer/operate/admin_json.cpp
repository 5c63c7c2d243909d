#include "balancer/operate/admin_call.hpp"

#include "agent/stats/document.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {

namespace {

template <class Members>
AdminResult document_of(int status, Members members) {
  return {.status = status, .body = json_object(members)};
}

void write_side(Document& out, std::string_view key,
                const std::optional<EffectiveSetting>& setting) {
  if (!setting) return out.raw(key, "null");
  out.object(key, [&] {
    out.text("value", setting->value);
    out.text("source", setting->source);
  });
}

}  // namespace

AdminResult admin_error(int status, std::string_view reason, const Problems& problems) {
  return document_of(status, [&](Document& out) {
    out.text("error", reason);
    if (problems.empty()) return;
    out.array("problems", problems, [&](const Problem& problem) { out.text(text(problem)); });
  });
}

AdminResult admin_changed(AdminVerb verb, const std::vector<std::string>& before,
                          const std::vector<std::string>& after, std::string_view not_saved) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < after.size(); ++i)
    if (verb != AdminVerb::restore || before[i] != after[i]) shown.push_back(i);
  return document_of(200, [&](Document& out) {
    out.text("call", kAdminVerbs[verb]);
    out.objects("changed", shown, [&](std::size_t i) {
      out.raw("before", before[i]);
      out.raw("after", after[i]);
    });
    if (!not_saved.empty()) out.text("not_saved", not_saved);
  });
}

AdminResult admin_reloaded(const std::vector<SettingChange>& changes,
                           const std::vector<std::string_view>& fixed) {
  return document_of(200, [&](Document& out) {
    out.text("call", "reload");
    out.objects("changed", changes, [&](const SettingChange& change) {
      out.text("setting", change.name);
      write_side(out, "before", change.before);
      write_side(out, "after", change.after);
    });
    out.array("at_next_start", fixed, [&](std::string_view name) { out.text(name); });
  });
}

AdminResult admin_config(const Settings& settings, std::string_view state) {
  return document_of(200, [&](Document& out) {
    out.objects("settings", effective_settings(settings), [&](const EffectiveSetting& setting) {
      out.text("name", setting.name);
      out.text("value", setting.value);
      out.text("source", setting.source);
    });
    out.objects("shares", expected_shares(settings), [&](const ExpectedShare& share) {
      out.text("table", share.table);
      out.value("shard", share.shard);
      out.text("mirror", share.mirror);
      out.value("share", share.share);
    });
    out.raw("overrides", state);
  });
}

std::vector<ExpectedShare> expected_shares(const Settings& settings) {
  AgentRegistry agents(1, settings.searchd.ha_period_karma.value);
  const Loops none;
  Problems problems;
  const auto topology =
      Topology::build(settings, {.registry = agents, .loops = none}, nullptr, problems);
  std::vector<ExpectedShare> all;
  if (!topology) return all;
  topology->apply_limits(TimePoint{});
  for (const auto& table : topology->tables)
    for (std::size_t s = 0; s < table->shards.size(); ++s) {
      const auto& set = *table->shards[s]->mirrors;
      const auto shares = set.shares({.excluded = set.out_of_service().all()}, 0);
      for (std::size_t i = 0; i < set.size(); ++i)
        all.push_back({table->name, s + 1, set[i].agent->name, shares[i]});
    }
  return all;
}

}  // namespace karmad
