#include "balancer/rules/quorum_plan.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace karmad {

QuorumVerdict judge(std::span<const QuorumAnswer> answers, std::size_t needed,
                    std::span<const std::optional<std::uint64_t>> seen,
                    std::optional<std::uint64_t> fresh) {
  using Kind = QuorumVerdict::Kind;
  if (answers.size() < needed || answers.empty()) return {};
  const auto rank = [](const QuorumAnswer& answer) {
    return std::tuple(answer.generation, answer.succeeded);
  };
  const auto verdict = [&](Kind kind, auto winner) {
    return QuorumVerdict{.kind = kind,
                         .winner = static_cast<std::size_t>(winner - answers.begin()),
                         .generation = winner->generation.value_or(0)};
  };
  const auto newest = std::ranges::max_element(answers, {}, rank);
  if (needed <= 1) return verdict(Kind::met, newest);
  const auto told = std::ranges::count_if(
      answers, [](const auto& answer) { return answer.generation.has_value(); });
  if (told == 0) return {.kind = Kind::unknown};
  if (static_cast<std::size_t>(told) < needed) return {.kind = Kind::too_few};
  const auto least = fresh.value_or(*newest->generation);
  const auto agreed = [&](const QuorumAnswer& answer) {
    if (!answer.generation || *answer.generation < least) return false;
    const auto reached = std::ranges::count_if(
        seen, [&](const auto& generation) { return generation >= answer.generation; });
    return static_cast<std::size_t>(reached) >= needed;
  };
  auto best = answers.end();
  for (auto answer = answers.begin(); answer != answers.end(); ++answer)
    if (agreed(*answer) && (best == answers.end() || rank(*best) < rank(*answer))) best = answer;
  return best != answers.end() ? verdict(Kind::met, best) : verdict(Kind::behind, newest);
}

std::optional<Micros> barrier_pause(unsigned step, bool several_zones) {
  struct Part {
    unsigned steps;
    std::int64_t ms;
  };
  constexpr std::array<Part, 3> parts{{{6, 5}, {4, 10}, {30, 30}}};
  for (const auto& part : std::span(parts).first(several_zones ? parts.size() : 1)) {
    if (step < part.steps) return std::chrono::milliseconds(part.ms);
    step -= part.steps;
  }
  return std::nullopt;
}

QuorumPlan::Step QuorumPlan::after(const QuorumVerdict& verdict, bool can_settle) {
  switch (verdict.kind) {
    case QuorumVerdict::Kind::met:
      return {.what = Do::answer};
    case QuorumVerdict::Kind::behind:
      if (can_settle) return {.what = Do::settle};
      second_barrier_ = first_asks_primary_ || !primary_;
      return {.what = Do::barrier, .with_primary = first_asks_primary_};
    case QuorumVerdict::Kind::unknown:
      return {.what = Do::fail};
    case QuorumVerdict::Kind::too_few:
      break;
  }
  if (!primary_ || primary_tries_ >= kPrimaryTries) return next_round(kPrimaryPause);
  ++primary_tries_;
  return {.what = Do::primary};
}

QuorumPlan::Step QuorumPlan::after_barrier(bool reached, bool pointless) {
  if (reached) return {.what = Do::answer};
  if (second_barrier_ || pointless) return next_round(Micros{0});
  second_barrier_ = true;
  return {.what = Do::barrier, .with_primary = true};
}

QuorumPlan::Step QuorumPlan::after_primary(bool answered, bool newest) {
  if (answered && newest) return {.what = Do::answer};
  if (!answered || primary_tries_ >= kPrimaryTries) return next_round(kPrimaryPause);
  ++primary_tries_;
  return {.what = Do::primary, .pause = kPrimaryPause};
}

QuorumPlan::Step QuorumPlan::next_round(Micros pause) {
  if (rounds_ >= kRounds) return {.what = Do::fail};
  ++rounds_;
  return {.what = Do::read, .pause = pause};
}

}  // namespace karmad
