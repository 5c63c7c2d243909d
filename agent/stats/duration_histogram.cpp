#include "agent/stats/duration_histogram.hpp"

namespace karmad {

void OwnedDurations::add_to(Durations& durations) const {
  for (std::size_t i = 0; i < counts_.size(); ++i) durations.counts[i] += counts_[i].get();
  durations.sum += Micros{sum_.get()};
}

}  // namespace karmad
