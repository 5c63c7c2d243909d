#include "balancer/watch/mirror_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad {
namespace {

constexpr int kClientLeft = 499;
constexpr std::size_t kOther = kCountedCodes.size();

bool has_succeeded(std::size_t place) {
  return place < kOther && kCountedCodes[place] < 400;
}

bool is_mistake(std::size_t place) {
  if (place >= kOther) return false;
  const auto code = kCountedCodes[place];
  return code >= 400 && code < 500 && code != 404 && code != 429 && code != kClientLeft;
}

bool counts(std::size_t place) {
  return place >= kOther || kCountedCodes[place] != kClientLeft;
}

/// Neither a success nor the client's: of 4xx only a refusal because of overload.
bool has_failed(std::size_t place) {
  return place >= kOther || kCountedCodes[place] >= 500 || kCountedCodes[place] == 429;
}

template <class Counts, class Which>
std::uint64_t sum(const Counts& responses, Which which) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < responses.size(); ++i)
    if (which(i)) all += responses[i];
  return all;
}

/// `58 got 400, 2 got 502`: the three most frequent ones.
template <class Counts>
std::string by_code(const Counts& responses) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < responses.size(); ++i)
    if (counts(i) && responses[i] != 0) places.push_back(i);
  std::ranges::stable_sort(places, std::greater{}, [&](auto place) { return responses[place]; });
  constexpr std::size_t kShown = 3;
  if (places.size() > kShown) places.resize(kShown);
  std::string text;
  for (const auto place : places)
    text += fmt::format(
        "{}{} got {}", text.empty() ? "" : ", ", responses[place],
        place < kOther ? fmt::format("{}", kCountedCodes[place]) : std::string("another status"));
  return text;
}

}  // namespace

void TableSuccess::observe(const TableTotals& totals, TimePoint now) {
  const auto& before = samples_[(sampled_ + kSamples - 1) % kSamples];
  const auto& oldest = samples_[sampled_ < kSamples ? 0 : sampled_ % kSamples];
  const bool first = sampled_ == 0;
  Responses step{};
  for (std::size_t i = 0; i < step.size(); ++i) {
    step[i] = first ? 0 : totals.responses[i] - before[i];
    lately_[i] = first ? 0 : totals.responses[i] - oldest[i];
    unsuccessful_[i] += step[i];
  }
  samples_[sampled_++ % kSamples] = totals.responses;
  if (sum(step, has_succeeded) != 0) unsuccessful_ = {};
  if (sum(step, counts) != 0) last_ = now;
  past_ = !last_ || now - *last_ > kPast;
}

std::string TableSuccess::trouble() const {
  if (past_) return {};
  const auto none = sum(unsuccessful_, counts);
  if (none >= kMany || sum(unsuccessful_, has_failed) >= kFew)
    return fmt::format("none of the last {} queries succeeded: {}", none, by_code(unsuccessful_));
  const auto all = sum(lately_, counts);
  const auto mistakes = sum(lately_, is_mistake);
  if (all >= kMany && static_cast<double>(mistakes) >= kMistakes * static_cast<double>(all))
    return fmt::format(
        "{:.0f} % of the last {} queries were refused as their clients' mistakes: {}",
        100 * static_cast<double>(mistakes) / static_cast<double>(all), all, by_code(lately_));
  return {};
}

}  // namespace karmad
