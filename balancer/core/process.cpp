#include "balancer/core/process.hpp"

namespace karmad {

void write(StatsWriter& out, const ReloadCounts& reloads) {
  out.add({"config_reloads", "reloads of the configuration"}, reloads.reloads_.get());
  out.add({"config_reload_failures", "reloads that failed and kept the old configuration"},
          reloads.failures_.get());
  out.add({"config_last_reload_failed",
           "1: the last reload failed, and an older configuration is in use", StatKind::gauge,
           Unit::flag},
          reloads.last_failed_.get());
  const std::chrono::duration<double> loaded_at = reloads.loaded_at_.get().time_since_epoch();
  out.add({"config_loaded_timestamp",
           "time when the configuration in use was loaded, in seconds since 1970", StatKind::gauge,
           Unit::seconds, kHidden, kHidden},
          loaded_at.count());
}

}  // namespace karmad
