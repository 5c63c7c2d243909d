#include "balancer/server.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>

#include "balancer/endpoints/endpoints.hpp"
#include "balancer/operate/admin_json.hpp"
#include "balancer/selection/selection_log.hpp"
#include "config/load.hpp"

// Reading the configuration again, while the server runs.

namespace karmad {
namespace {

/// Keeps settings that a running process cannot change, and logs them at every reload.
void keep_fixed(const InstanceSettings& now, InstanceSettings& next) {
  const auto log_change = [](std::string_view name, bool same) {
    if (!same) spdlog::warn("reload: {} takes effect at the next start", name);
  };
  log_change("listen",
             std::ranges::equal(now.listen, next.listen, {}, &Listen::address, &Listen::address));
  next.listen = now.listen;
  log_change("listen_socket_owner",
             (now.listen_socket_owner ? now.listen_socket_owner->value : "") ==
                 (next.listen_socket_owner ? next.listen_socket_owner->value : ""));
  next.listen_socket_owner = now.listen_socket_owner;
  const auto keep = [&](std::string_view name, auto setting) {
    log_change(name, (now.*setting).value == (next.*setting).value);
    next.*setting = now.*setting;
  };
  keep("listen_socket_mode", &InstanceSettings::listen_socket_mode);
  keep("workers", &InstanceSettings::workers);
  keep("ha_period_karma", &InstanceSettings::ha_period_karma);
  keep("hostname_lookup", &InstanceSettings::hostname_lookup);
  keep("dns_servers", &InstanceSettings::dns_servers);
  keep("dns_timeout", &InstanceSettings::dns_timeout);
  keep("dns_tries", &InstanceSettings::dns_tries);
  keep("long_work_threads", &InstanceSettings::long_work_threads);
  keep("long_work_queue", &InstanceSettings::long_work_queue);
  keep("buffer_keep_up_to", &InstanceSettings::buffer_keep_up_to);
  keep("max_connections", &InstanceSettings::max_connections);
  const auto path = [](const InstanceSettings& settings) {
    return settings.access_log ? settings.access_log->value : std::string();
  };
  log_change("access_log", path(now) == path(next));
  next.access_log = now.access_log;
  const auto takeover = [](const InstanceSettings& settings) {
    return settings.takeover_socket ? settings.takeover_socket->value : std::string();
  };
  log_change("takeover_socket", takeover(now) == takeover(next));
  next.takeover_socket = now.takeover_socket;
}

}  // namespace

void Server::log_notices(const Settings& settings) {
  for (const auto& notice : settings.notices)
    spdlog::log(
        notice.severity == Problem::Severity::warning ? spdlog::level::warn : spdlog::level::info,
        "{}", text({notice.at, notice.message}));
}

void Server::reopen_logs() {
  if (access_log_) access_log_->reopen();
}

void Server::reload(Done done) {
  spdlog::info("reload: reading {}", config_path_);
  tell_service_reloading();
  reopen_logs();
  // A pipe could block this thread, and with it the signals that end the process.
  auto loaded =
      load(config_path_, real_environment(), FileKind::regular, judge_with(hooks_.dialects));
  if (loaded.settings) {
    keep_fixed(settings_.searchd, loaded.settings->searchd);
    loaded.problems = read_secrets(loaded.settings->searchd);
  }
  const auto reply = std::make_shared<Done>(std::move(done));
  const auto before = effective_settings(settings_);
  if (loaded.problems.empty()) loaded.problems = adopt_file(*std::move(loaded.settings), reply);
  if (!loaded.problems.empty()) {
    reload_failed(loaded.problems);
    if (*reply)
      (*reply)(admin_error(422, "the configuration has errors; the old one stays in use",
                           loaded.problems));
    return;
  }
  for (const auto& change : difference(before, effective_settings(settings_)))
    spdlog::info("reload: {}", text(change));
  log_notices(settings_);
  shared_.monitoring.reloads.succeeded(std::chrono::system_clock::now());
}

/// Makes what was read from the file the configuration.
Problems Server::adopt_file(Settings file, const std::shared_ptr<Done>& reply) {
  ask_names_of(file);
  auto found = with_mirrors(file, discovery_->pictures_for(file));
  auto kept = overrides_;
  forget_reconfigured(kept, found);
  auto settings = with_overrides(found, kept);
  auto result =
      admin_reloaded(difference(effective_settings(settings_), effective_settings(settings)));
  const auto message = fmt::format("reload: done, {} tables", settings.tables.size());
  auto tell = [this, reply, result = std::move(result)] {
    if (*reply) asio::post(main_, [reply, result] { (*reply)(result); });
  };
  auto problems = adopt(std::move(settings), {.message = message, .done = std::move(tell)});
  if (!problems.empty()) return problems;
  file_settings_ = std::move(file);
  configured_ = std::move(found);
  discovery_->adopt(file_settings_);
  ask_names(Micros{0});
  finder_->refresh();
  forget_overrides();
  save_state();
  return problems;
}

void Server::reload_failed(const Problems& problems) {
  for (const auto& problem : problems) spdlog::error("{}", text(problem));
  spdlog::error("reload: the configuration has errors; the old configuration stays in use");
  shared_.monitoring.reloads.failed();
  tell_service_reload_failed();
  add_event(OperatorEvent::Kind::reload_failed,
            "the old configuration stays: " + text(problems.front()));
}

Problems Server::adopt(Settings changed, Adoption how) {
  Problems problems;
  const auto next = Topology::build(changed, environment(), topology_.get(), problems);
  if (!next) return problems;
  settings_ = std::move(changed);
  const auto& searchd = settings_.searchd;
  if (hooks_.configure_log) hooks_.configure_log(searchd.log_level.value, searchd.log_format.value);
  selection_log_->level(searchd.selection_log_level.value);
  name_agents(next);
  adopt_rates(*next);
  limit_memory();
  topology_ = next;
  // The change is complete when the last worker has the topology.
  auto remaining = std::make_shared<std::atomic<std::size_t>>(workers_.size());
  workers_.front()->post([this, next, remaining, how = std::move(how)] {
    next->take_over();
    next->apply_limits(Loop::now());  // before any worker uses the new sets
    for (auto& worker : workers_)
      worker->post([this, &w = *worker, next, remaining, how] {
        w.topology(next);
        if (remaining->fetch_sub(1) != 1) return;
        spdlog::info("{}", how.message);
        if (how.kind == OperatorEvent::Kind::reloaded)
          asio::post(main_, [this] { tell_service_ready(); });
        add_event(how.kind, how.message);
        how.done();
      });
    admission_->settings(next->settings, Loop::now());
    if (!workers_.front()->draining()) adopt_pings(*next);
  });
  return problems;
}

}  // namespace karmad
