#include "balancer/rules/crashing_requests.hpp"

#include <algorithm>

namespace karmad {

void CrashingRequests::take_over(const CrashingRequests& before) {
  const std::scoped_lock lock(mutex_, before.mutex_);
  entries_ = before.entries_;
  any_ = before.any_.load();
}

void CrashingRequests::add(std::size_t fingerprint, TimePoint now) {
  const std::scoped_lock lock(mutex_);
  auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.added && entry.fingerprint == fingerprint;
  });
  if (found == entries_.end())  // std::nullopt sorts as the oldest
    found = std::ranges::min_element(entries_, {}, &Entry::added);
  *found = {fingerprint, now};
  any_ = true;
}

bool CrashingRequests::contains(std::size_t fingerprint, TimePoint now) const {
  if (!any()) return false;
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.added && entry.fingerprint == fingerprint && now - *entry.added < kRefused;
  });
}

}  // namespace karmad
