#include "balancer/rules/agreed_errors.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace karmad {
namespace {

constexpr std::hash<std::string_view> kHash;

}  // namespace

bool query_is_at_fault(const Complaints& said) {
  constexpr std::size_t kEnough = 3;
  if (said.alike < 2) return said.known && said.one_shard && !said.proven_left;
  if (!said.proven_left && !said.unknown_left) return true;
  return said.proven >= (said.known ? 2 : kEnough);
}

AgreedErrors::Entry* AgreedErrors::find(std::size_t hash) {
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.agreed && entry.hash == hash; });
  return found == entries_.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> AgreedErrors::agreed(std::string_view text, TimePoint now) {
  const auto hash = kHash(text);
  const std::scoped_lock lock(mutex_);
  auto* entry = find(hash);
  if (entry == nullptr) {  // std::nullopt sorts as the oldest
    entry = &*std::ranges::min_element(entries_, {}, &Entry::agreed);
    *entry = {.hash = hash, .agreed = now, .logged = std::nullopt};
  }
  entry->agreed = now;
  const bool due = (!entry->logged || now - *entry->logged >= kSameLineEvery) &&
                   (!logged_ || now - *logged_ >= kLineEvery);
  if (!due) {
    ++left_out_;
    return std::nullopt;
  }
  entry->logged = logged_ = now;
  return std::exchange(left_out_, 0);
}

bool AgreedErrors::knows(std::string_view text, TimePoint now) const {
  const auto hash = kHash(text);
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.agreed && entry.hash == hash && now - *entry.agreed < kRemembered;
  });
}

void AgreedErrors::refuted(std::string_view text) {
  const auto hash = kHash(text);
  const std::scoped_lock lock(mutex_);
  if (auto* entry = find(hash)) *entry = {};
}

}  // namespace karmad
