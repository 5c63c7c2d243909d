#include "balancer/trace/utc_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace karmad {

std::string utc_text(WallTime time) {
  const auto ms = std::chrono::time_point_cast<std::chrono::milliseconds>(time);
  const auto s = std::chrono::floor<std::chrono::seconds>(ms);
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(s)),
                     (ms - s).count());
}

}  // namespace karmad
