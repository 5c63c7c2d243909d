#include "balancer/mirror_finder.hpp"

#include "balancer/discovery/with_found.hpp"

namespace karmad {
namespace {

constexpr Micros kWaitForAnswers = 500ms;  // of new names, and at the start of sources
constexpr Micros kBetweenChanges = 250ms;  // changes that come together are adopted together

}  // namespace

DnsSettings dns_settings(const NameSettings& names) {
  return {.servers = names.dns_servers.value,
          .timeout = names.dns_timeout.value,
          .tries = names.dns_tries.value};
}

MirrorFinder::MirrorFinder(boost::asio::io_context& main, std::shared_ptr<MainThreadExecutor> door,
                           DnsSettings dns, SourceStatus& board, Hooks hooks)
    : main_(main),
      hooks_(std::move(hooks)),
      discovery_(door, dns, board,
                 {.judge = hooks_.judge,
                  .changed = [this] { on_change(); },
                  .failed = [this] { explain_missing_mirrors(); }}),
      finder_(std::move(door), std::move(dns), board,
              {.mirrors_changed = [this] { on_change(); },
               .addresses_changed = [this] { on_change(); }}),  // saves them
      change_timer_(main) {}

void MirrorFinder::start(const Settings& file, LastFound last, bool keeps_gone) {
  discovery_.remember(file, last.pictures);
  finder_.remember(std::move(last.names));
  discovery_.adopt(file);
  // Time for the first answers, so that the first queries find mirrors.
  const auto end = std::chrono::steady_clock::now() + kWaitForAnswers;
  {
    const auto guard = boost::asio::make_work_guard(main_);
    while (discovery_.waiting() && main_.run_one_until(end) > 0) {
    }
  }
  main_.restart();  // without work left it has stopped
  if (!keeps_gone) discovery_.adopt(file);
  ask(file, kWaitForAnswers);
}

void MirrorFinder::adopt(const Settings& file) {
  discovery_.adopt(file);
  ask(file, Micros{0});
  finder_.refresh();
}

void MirrorFinder::ask_names(const Settings& file) {
  ask(file, Micros{0});
}

void MirrorFinder::ask(const Settings& file, Micros wait) {
  const auto pictured = with_pictures(file, discovery_.pictures());
  finder_.ask(questions_of(pictured, false), questions_of(pictured, true),
              file.searchd.dns_refresh.value, wait);
}

FoundMirrors MirrorFinder::found_for(const Settings& now, const Settings& next) {
  const auto pictures = discovery_.pictures_for(next);
  const auto pictured_now = with_pictures(now, discovery_.pictures());
  const auto pictured_next = with_pictures(next, pictures);
  auto all = questions_of(pictured_now, false);
  auto expanding = questions_of(pictured_now, true);
  all.merge(questions_of(pictured_next, false));
  expanding.merge(questions_of(pictured_next, true));
  finder_.ask(all, expanding, now.searchd.dns_refresh.value, kWaitForAnswers);
  return {pictures, finder_.answers()};
}

void MirrorFinder::on_change() {
  if (std::exchange(change_due_, true)) return;
  change_timer_.expires_at(std::max(std::chrono::steady_clock::now(), next_change_));
  change_timer_.async_wait([this](error_code error) {
    if (error) return;
    change_due_ = false;
    next_change_ = std::chrono::steady_clock::now() + kBetweenChanges;
    hooks_.changed();
  });
}

void MirrorFinder::name_agents(const std::shared_ptr<const Topology>& topology, bool at_start) {
  finder_.adopt(topology, at_start);
  topology_ = topology;
  explain_missing_mirrors();
}

void MirrorFinder::explain_missing_mirrors() {
  if (!topology_) return;
  for (const auto& agent : topology_->agents) {
    if (!is_placeholder(agent->address)) continue;
    const auto why = discovery_.why(table_of_placeholder(agent->address));
    agent->unresolved(why);
    agent->last_error(why);
    agent->counters.errors_in_a_row = topology_->settings.dead_after.value + 1;
  }
}

void MirrorFinder::stop() {
  discovery_.stop();
  finder_.stop();
}

}  // namespace karmad
