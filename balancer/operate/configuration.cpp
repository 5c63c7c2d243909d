#include "balancer/operate/configuration.hpp"

#include <algorithm>
#include <iterator>

#include "balancer/discovery/found.hpp"
#include "config/effective.hpp"

namespace karmad {
namespace {

std::string changes_of_mirrors(const Settings& before, const Settings& after) {
  auto changes = mirror_changes(before, after);
  if (changes.empty() && !difference(effective_settings(before), effective_settings(after)).empty())
    changes = "properties of mirrors have changed";
  return changes;
}

/// Keeps the settings that a running process cannot change; returns those that differ.
std::vector<std::string_view> keep_fixed(const InstanceSettings& now, InstanceSettings& next) {
  std::vector<std::string_view> fixed;
  const auto text_of = [](const std::optional<Located<std::string>>& setting) {
    return setting ? setting->value : std::string();
  };
  const auto keep = [&](std::string_view name, auto setting, auto value) {
    if (value(now.*setting) != value(next.*setting)) fixed.push_back(name);
    next.*setting = now.*setting;
  };
  const auto value = [](const auto& setting) { return setting.value; };
  const auto listeners = [](const std::vector<Listen>& lines) {
    std::vector<std::string> all;
    for (const auto& line : lines) all.push_back(text(line));
    return all;
  };
  keep("listen", &InstanceSettings::listen, listeners);
  keep("listen_backlog", &InstanceSettings::listen_backlog, value);
  keep("listen_socket_owner", &InstanceSettings::listen_socket_owner, text_of);
  keep("listen_socket_mode", &InstanceSettings::listen_socket_mode, value);
  keep("workers", &InstanceSettings::workers, value);
  keep("ha_period_karma", &InstanceSettings::ha_period_karma, value);
  keep("hostname_lookup", &InstanceSettings::hostname_lookup, value);
  keep("dns_servers", &InstanceSettings::dns_servers, value);
  keep("dns_timeout", &InstanceSettings::dns_timeout, value);
  keep("dns_tries", &InstanceSettings::dns_tries, value);
  keep("long_work_threads", &InstanceSettings::long_work_threads, value);
  keep("long_work_queue", &InstanceSettings::long_work_queue, value);
  keep("buffer_keep_up_to", &InstanceSettings::buffer_keep_up_to, value);
  keep("max_connections", &InstanceSettings::max_connections, value);
  keep("access_log", &InstanceSettings::access_log, text_of);
  keep("takeover_socket", &InstanceSettings::takeover_socket, text_of);
  return fixed;
}

}  // namespace

Configuration::Configuration(Settings file)
    : file_(std::move(file)), configured_(with_pictures(file_, {})), settings_(configured_) {}

Configuration::Next Configuration::make(Settings file, Settings configured, Overrides overrides) {
  Configuration next;
  auto ended = forget_reconfigured(overrides, configured);
  next.settings_ = with_overrides(configured, overrides);
  next.file_ = std::move(file);
  next.configured_ = std::move(configured);
  next.overrides_ = std::move(overrides);
  return {.configuration = std::move(next), .ended = std::move(ended)};
}

Configuration::Next Configuration::on_file(Settings file, const FoundMirrors& found) const {
  auto fixed = keep_fixed(settings_.searchd, file.searchd);
  std::vector<std::string> cuts;
  auto configured = with_found(file, found, cuts);
  auto next = make(std::move(file), std::move(configured), overrides_);
  next.fixed = std::move(fixed);
  std::ranges::copy_if(cuts, std::back_inserter(next.cuts), [&](const auto& cut) {
    return std::ranges::find(cuts_, cut) == cuts_.end();
  });
  next.configuration.cuts_ = std::move(cuts);
  return next;
}

Configuration::Next Configuration::on_mirrors(const FoundMirrors& found) const {
  auto next = on_file(file_, found);
  next.mirrors = changes_of_mirrors(configured_, next.configuration.configured_);
  return next;
}

std::expected<Configuration::Next, AdminRefusal> Configuration::on_call(
    const AdminCall& call) const {
  auto changed = apply(call, configured_, overrides_);
  if (!changed) return std::unexpected(std::move(changed.error()));
  auto next = *this;
  next.settings_ = with_overrides(configured_, *changed);
  next.overrides_ = *std::move(changed);
  return Next{.configuration = std::move(next)};
}

Configuration::Next Configuration::on_overrides(Overrides overrides) const {
  auto next = make(file_, configured_, std::move(overrides));
  next.configuration.cuts_ = cuts_;
  return next;
}

}  // namespace karmad
