#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "balancer/discovery/with_found.hpp"
#include "balancer/server.hpp"
#include "config/check.hpp"
#include "config/effective.hpp"

// Mirrors that are found while the server runs: names and `discovery`.

namespace karmad {
namespace {

constexpr Micros kWaitForAnswers = 500ms;  // of new names, and at the start of sources
constexpr Micros kBetweenChanges = 250ms;  // changes that come together are adopted together

DnsSettings dns_settings(const InstanceSettings& searchd) {
  return {.servers = searchd.dns_servers.value,
          .timeout = searchd.dns_timeout.value,
          .tries = searchd.dns_tries.value};
}

}  // namespace

DnsSettings Server::dns() const {
  return dns_settings(file_settings_.searchd);
}

void Server::find_mirrors() {
  discovery_ = std::make_unique<Discovery>(
      door_, dns(), sources_,
      Discovery::Hooks{.judge = [this](const Pictures& pictures) { return judge(pictures); },
                       .changed = [this] { mirrors_changed(); },
                       .failed = [this] { explain_nobody(); }});
  finder_ = std::make_unique<NameFinder>(
      door_, dns(), sources_,
      NameFinder::Hooks{.mirrors_changed = [this] { mirrors_changed(); },
                        .addresses_changed = [this] { mirrors_changed(); }});  // saves them
  discovery_->remember(file_settings_, last_found_.pictures);
  finder_->remember(std::move(last_found_.names));
  discovery_->adopt(file_settings_);
  // Time for the first answers, so that the first queries find mirrors.
  const auto end = std::chrono::steady_clock::now() + kWaitForAnswers;
  {
    const auto guard = asio::make_work_guard(main_);
    while (discovery_->waiting() && main_.run_one_until(end) > 0) {
    }
  }
  main_.restart();  // without work left it has stopped
  // A start drops shards that a source has no more, as a reload does; a takeover keeps them.
  if (!learned_) discovery_->adopt(file_settings_);
  ask_names(kWaitForAnswers);
}

void Server::ask_names(Micros wait) {
  const auto pictured = with_pictures(file_settings_, discovery_->pictures());
  finder_->ask(questions_of(pictured, false), questions_of(pictured, true),
               file_settings_.searchd.dns_refresh.value, wait);
}

void Server::ask_names_of(const Settings& file) {
  const auto now = with_pictures(file_settings_, discovery_->pictures());
  const auto next = with_pictures(file, discovery_->pictures_for(file));
  auto all = questions_of(now, false);
  auto expanding = questions_of(now, true);
  all.merge(questions_of(next, false));
  expanding.merge(questions_of(next, true));
  finder_->ask(all, expanding, file_settings_.searchd.dns_refresh.value, kWaitForAnswers);
}

Settings Server::with_mirrors(const Settings& file, const Pictures& pictures) {
  std::vector<std::string> cuts;
  auto settings = with_found(file, {pictures, finder_->answers()}, cuts);
  for (const auto& cut : cuts) {
    if (std::ranges::find(cuts_, cut) != cuts_.end()) continue;
    spdlog::warn("{}", cut);
    events_.add({.severity = OperatorEvent::Severity::warning,
                 .kind = OperatorEvent::Kind::mirrors_changed,
                 .message = cut},
                std::chrono::system_clock::now());
  }
  cuts_ = std::move(cuts);
  return settings;
}

std::optional<std::string> Server::judge(const Pictures& pictures) {
  std::vector<std::string> cuts;
  auto settings =
      with_found(file_settings_, {pictures, finder_ ? finder_->answers() : NameAnswers()}, cuts);
  if (!bound_.empty()) settings.searchd.listen = bound_;
  Problems problems;
  Problems notices;
  check(settings, real_environment().this_host(), problems, notices);
  Topology::judge(settings, hooks_.dialects, problems, notices);
  if (problems.empty()) return std::nullopt;
  return problems.front().message;
}

void Server::mirrors_changed() {
  if (std::exchange(change_due_, true)) return;
  change_timer_.expires_at(std::max(std::chrono::steady_clock::now(), next_change_));
  change_timer_.async_wait([this](error_code error) {
    if (error) return;
    change_due_ = false;
    next_change_ = std::chrono::steady_clock::now() + kBetweenChanges;
    adopt_mirrors();
    if (!stopping_ && !workers_.empty()) save_state();
  });
}

void Server::adopt_mirrors() {
  if (stopping_ || workers_.empty()) return;
  ask_names(Micros{0});
  auto next = with_mirrors(file_settings_, discovery_->pictures());
  auto changes = mirror_changes(configured_, next);
  if (changes.empty()) {
    if (difference(effective_settings(configured_), effective_settings(next)).empty()) return;
    changes = "properties of mirrors have changed";
  }
  auto kept = overrides_;
  forget_reconfigured(kept, next);
  const auto problems =
      adopt(with_overrides(next, kept),
            {.kind = OperatorEvent::Kind::mirrors_changed, .message = "mirrors: " + changes});
  if (problems.empty()) {
    refused_mirrors_.clear();
    configured_ = std::move(next);
    forget_overrides();
    save_state();
    return;
  }
  auto message = fmt::format("the mirrors that were found cannot be used: {}; the last ones stay",
                             problems.front().message);
  if (message == std::exchange(refused_mirrors_, message)) return;
  spdlog::error("{}", message);
  events_.add({.severity = OperatorEvent::Severity::error,
               .kind = OperatorEvent::Kind::source_failed,
               .message = std::move(message)},
              std::chrono::system_clock::now());
}

void Server::name_agents(const std::shared_ptr<const Topology>& topology) {
  finder_->adopt(topology, /*at_start=*/workers_.empty());
  explain_nobody(*topology);
}

void Server::explain_nobody() {
  if (topology_) explain_nobody(*topology_);
}

void Server::explain_nobody(const Topology& topology) {
  for (const auto& agent : topology.agents) {
    if (!is_placeholder(agent->address)) continue;
    const auto why = discovery_->why(table_of_placeholder(agent->address));
    agent->unresolved(why);
    agent->last_error(why);
    agent->counters.errors_in_a_row = topology.settings.dead_after.value + 1;
  }
}

}  // namespace karmad
