#include "agent/mirror_set.hpp"

#include <cassert>

namespace karmad {

MirrorSet::MirrorSet(std::vector<std::unique_ptr<Mirror>> mirrors,
                     std::unique_ptr<Strategy> strategy, std::string strategy_name,
                     KarmaRules rules, Micros period)
    : mirrors_(std::move(mirrors)),
      strategy_(std::move(strategy)),
      strategy_name_(std::move(strategy_name)),
      rules_(rules),
      period_(period) {
  assert(!mirrors_.empty() && mirrors_.size() <= 64);
  for (auto& mirror : mirrors_) mirror->karma_ = 1.0 / static_cast<double>(mirrors_.size());
}

MirrorViews MirrorSet::fill(Views& views) const {
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    const auto& mirror = *mirrors_[i];
    auto& view = views[i];
    view.errors_in_a_row = mirror.agent->vitals.errors_in_a_row.load(std::memory_order_relaxed);
    view.karma = mirror.karma_.load(std::memory_order_relaxed);
    view.rates.critical = mirror.critical_.load(std::memory_order_relaxed);
    view.rates.errors = mirror.errors_.load(std::memory_order_relaxed);
  }
  return {views.data(), mirrors_.size()};
}

std::size_t MirrorSet::pick(Candidates tried, RandomSource& random) const {
  if (mirrors_.size() == 1) return 0;
  Views views;
  return *select(fill(views), tried, *strategy_, random);
}

std::vector<double> MirrorSet::shares() const {
  Views views;
  const auto mirrors = fill(views);
  const auto shares =
      strategy_->shares(mirrors, strategy_->narrow(mirrors, Candidates::first(mirrors.size())));
  return {shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(mirrors.size())};
}

void MirrorSet::refresh(TimePoint now) {
  std::array<std::optional<Micros>, 64> running;
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    auto& mirror = *mirrors_[i];
    const auto sums = error_sums(mirror.agent->history.over(1, now));
    const auto rates = error_rates(sums.successes, sums.warnings, sums.critical);
    mirror.critical_.store(rates.critical, std::memory_order_relaxed);
    mirror.errors_.store(rates.errors, std::memory_order_relaxed);
    running[i] = mirror.latency.running_mean(now);
  }
  const std::span means(running.data(), mirrors_.size());
  floor_.store(karmad::failure_floor(means).count(), std::memory_order_relaxed);

  const auto block = now.time_since_epoch() / period_;
  const bool begun = block_ >= 0 && block != block_;
  block_ = block;
  if (!begun) return;
  std::array<double, 64> weights{};
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    weights[i] = mirrors_[i]->karma_.load(std::memory_order_relaxed);
    running[i] = mirrors_[i]->latency.mean_of_closed_block(block - 1);
  }
  next_weights({weights.data(), mirrors_.size()}, means, rules_);
  for (std::size_t i = 0; i < mirrors_.size(); ++i)
    mirrors_[i]->karma_.store(weights[i], std::memory_order_relaxed);
}

}  // namespace karmad
