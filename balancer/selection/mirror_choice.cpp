#include "balancer/selection/mirror_choice.hpp"

#include <algorithm>
#include <array>

#include "balancer/rules/zones.hpp"

namespace karmad {
namespace {

/// Interval of probes to mirrors whose level of the preference is left out. Pings do not show
/// whether searches succeed.
constexpr Micros kLevelProbe = std::chrono::seconds(1);
/// Shortest interval of probes to a mirror that does not answer in time: each costs a search the
/// whole timeout.
constexpr Micros kSilentProbe = std::chrono::seconds(10);

/// Whether nothing speaks against any mirror, as for nearly all first attempts: a few loads.
bool is_calm(const ShardRules& rules, const ChainLearned& chain, const ShardInputs& moment) {
  const auto& against = moment.protection;
  const auto& mirrors = moment.mirrors;
  const auto learned = chain.tried | chain.avoided | chain.left_zones | chain.excluded |
                       chain.behind | chain.among | chain.only | mirrors.view().unreachable;
  return learned.empty() && chain.marked_unreachable.empty() && !rules.only && !rules.quorum &&
         !rules.min_generation && !against.standings.any_unreachable() &&
         !against.standings.any_silent() && !against.standings.any_down() &&
         !against.unavailable.any() && !against.breaker && !against.outliers &&
         mirrors.out_of_service().all().empty() && mirrors.at_starting_limit().empty() &&
         !mirrors.limited();
}

}  // namespace

Candidates MirrorChoice::suiting(Candidates from) const {
  const auto* need = rules_.needed();
  return need == nullptr ? from : suitable_for(*need, view_.picture, from);
}

PreferenceLevels MirrorChoice::levels(Candidates from) const {
  if (const auto* need = rules_.needed()) return levels_for(*need, view_.picture, from);
  PreferenceLevels one;
  one.add(from);
  return one;
}

/// The first levels of the preference, if no mirror of theirs has answered lately while a later
/// level is not so. Single queries probe them.
Candidates MirrorChoice::failing_levels(Candidates possible) const {
  const auto& standings = moment_.protection.standings;
  if (rules_.needed() == nullptr || !standings.any_down()) return {};
  const auto stand = standings.groups();
  Candidates failing;
  for (const auto level : levels(possible)) {
    if (!(level - stand.failing).empty() || (level & stand.down).empty()) return failing;
    failing = failing | level;
  }
  return {};  // all are
}

/// Mirrors known to lack data that the client has seen or, for a quorum read, that another mirror
/// has (CO-077). They are avoided but not excluded: this knowledge is as old as the last ping or
/// answer, and a mirror reports itself when it is behind.
Candidates MirrorChoice::too_old() const {
  auto old = chain_.behind;
  if (!rules_.reads()) return old;
  const auto& marks = moment_.protection.behind;
  if (rules_.quorum) old = old | marks.behind_others(view_, moment_.now);
  if (!rules_.min_generation) return old;
  old = old | marks.behind(view_, *rules_.min_generation, moment_.now);
  for (std::size_t i = 0; i < view_.mirrors.size(); ++i) {
    const auto& generation = view_.mirrors[i].description.generation;
    if (generation && *generation < *rules_.min_generation &&
        view_.picture.mirrors[i].role != Role::primary)
      old.insert(i);
  }
  return old;
}

/// Mirrors that refused the last connection and have not answered since (SD-022 keeps their state).
/// Avoided while others are suitable; queries or pings probe them.
Candidates MirrorChoice::unreachable() const {
  const auto& standings = moment_.protection.standings;
  if (!standings.any_unreachable()) return {};
  return standings.unreachable() & moment_.mirrors.failing();
}

/// Mirrors that the operator has taken out. Updates that only the primary can take still go to it
/// while it is drained.
Candidates MirrorChoice::taken_out() const {
  const auto out = moment_.mirrors.out_of_service();
  if (rules_.only) return out.maint;  // a drained mirror stays as new as the others
  auto drained = out.drained;
  if (rules_.need->operation == Operation::write && !rules_.any_takes_updates) {
    Candidates primary;
    if (view_.primary) primary.insert(*view_.primary);
    if (view_.mirrors.size() == 1) primary.insert(0);
    drained = drained - primary;
  }
  return drained | out.maint;
}

bool MirrorChoice::all_out_of_service() const {
  const auto out = taken_out();
  return !out.empty() && (suiting(all()) - out).empty() && !suiting(out).empty();
}

Candidates MirrorChoice::excluded() const {
  auto excluded = chain_.excluded | taken_out();
  if (rules_.only) excluded = excluded | (all() - Candidates::only(*rules_.only));
  for (const auto& [mirror, at] : chain_.marked_unreachable)
    if (view_.picture.mirrors[mirror].updated <= at) excluded.insert(mirror);
  return excluded;
}

/// Sets every mirror with an objection that is not an exclusion.
void MirrorChoice::object(Candidates possible, AvoidReasons& all) const {
  using enum AvoidReason;
  const auto& protection = moment_.protection;
  all[tried] = chain_.avoided;
  all[not_preferred] = chain_.among.empty() ? Candidates{} : possible - chain_.among;
  all[refuses_connects] = unreachable();
  if (protection.standings.any_silent()) all[silent] = protection.standings.silent();
  all[ping_unanswered] = view_.unreachable;
  all[outdated] = too_old();
  if (protection.unavailable.any())
    all[unavailable] =
        protection.unavailable.marked(view_.picture, rules_.pings_describe, moment_.now);
  if (protection.breaker) all[breaker_open] = protection.breaker->tripped(moment_.now);
  if (protection.outliers) all[ejected] = protection.outliers->ejected();
  all[starting] = moment_.mirrors.at_starting_limit();
  all[zone_left] = chain_.left_zones;
  // The primary is asked last if a mirror was behind in this query (CO-077).
  if (!chain_.behind.empty() && view_.primary) all[primary_last].insert(*view_.primary);
}

SelectionCriteria MirrorChoice::criteria() const {
  using enum AvoidReason;
  if (is_calm(rules_, chain_, moment_))
    return {.need = rules_.needed(), .window = rules_.window, .now = moment_.now};
  const auto never = excluded();
  const auto possible = all() - never;
  SelectionCriteria asked{.need = rules_.needed(),
                          .excluded = never,
                          .window = rules_.window,
                          .takes_turn = chain_.tried.empty() && chain_.among.empty(),
                          .now = moment_.now};
  auto& against = asked.objections;
  object(possible, against);
  const auto& outliers = moment_.protection.outliers;
  const bool panic = outliers && outliers->panic();  // ejected mirrors are used, but said to be
  const auto last = against[outdated] | against[ping_unanswered] | against[unavailable] |
                    against[breaker_open] | against[starting] |
                    (panic ? Candidates() : against[ejected]);
  const std::array reasons{
      against[tried], against[not_preferred], against[refuses_connects], against[silent],
      last,           against[zone_left],     against[primary_last]};
  const auto out = moment_.mirrors.out_of_service();
  against[removed] = never - out.all();
  against[drained] = never & out.drained;
  against[maint] = never & out.maint;
  const auto avoided = avoided_for(rules_.needed(), view_.picture, possible, reasons);
  against[level_fails] = failing_levels(possible - avoided);
  asked.avoided = avoided | against[level_fails];
  if (!moment_.mirrors.limited()) return asked;
  // A slot at a mirror that works comes sooner than an answer of one that gives none.
  const auto mute = against[refuses_connects] | against[silent] | against[ping_unanswered];
  const auto left = chain_.only - never;
  asked.excluded = asked.excluded | (left.empty() ? asked.avoided & mute : all() - left);
  return asked;
}

SelectionCriteria MirrorChoice::criteria_now() const {
  auto asked = criteria();
  const auto full = moment_.mirrors.full();
  if (full.empty()) return asked;
  asked.excluded = asked.excluded | full;
  asked.objections[AvoidReason::full] = full;
  return asked;
}

std::optional<Pick> MirrorChoice::choose(SelectionCriteria criteria) const {
  for (;;) {
    const auto pick = moment_.mirrors.pick(criteria, moment_.random);
    if (!pick || moment_.mirrors.try_take_slot(pick->mirror)) return pick;
    criteria.excluded.insert(pick->mirror);
    criteria.objections[AvoidReason::full].insert(pick->mirror);
  }
}

/// A mirror that its strategy has left out for so long that it may work again, if no ping tells.
std::optional<std::size_t> MirrorChoice::unasked() const {
  const auto unasked = moment_.mirrors.unasked(moment_.now);
  if (unasked.empty()) return std::nullopt;
  const auto left_out = unasked - moment_.mirrors.acceptable(criteria_now());
  return moment_.protection.standings.try_probe(left_out, moment_.now, kUnasked);
}

std::optional<Pick> MirrorChoice::probe() const {
  auto& protection = moment_.protection;
  std::optional<std::size_t> due;
  if (protection.breaker && rules_.reads()) due = protection.breaker->try_probe(moment_.now);
  if (!due && protection.standings.any_unreachable())
    due = protection.standings.try_probe(unreachable(), moment_.now, rules_.probe_every);
  if (!due && rules_.reads() && protection.standings.any_silent())
    due = protection.standings.try_probe(protection.standings.silent(), moment_.now,
                                         std::max(rules_.probe_every, kSilentProbe));
  if (!due && rules_.reads() && rules_.needed() != nullptr && protection.standings.any_down())
    due = protection.standings.try_probe(criteria().objections[AvoidReason::level_fails],
                                         moment_.now, kLevelProbe);
  if (!due && !moment_.mirrors.pinged()) due = unasked();
  if (!due) return std::nullopt;
  auto only_it = criteria_now();
  const auto others = all() - Candidates::only(*due);
  only_it.takes_turn = false;
  only_it.excluded = excluded() | moment_.mirrors.full() | others;
  only_it.objections[AvoidReason::not_probed] = others;
  return choose(only_it);
}

Candidates MirrorChoice::suitable() const {
  return levels(all() - excluded()).all();
}

PreferenceLevels MirrorChoice::untried_levels(Candidates without) const {
  return levels(all() - chain_.tried - excluded() - without);
}

bool MirrorChoice::has_up_to_date() const {
  const auto suitable = suiting(all() - excluded() - moment_.mirrors.full());
  return !(suitable - chain_.tried - too_old()).empty();
}

bool MirrorChoice::has_other_zone(std::optional<std::size_t> last) const {
  const auto& picture = view_.picture;
  if (!last || zone_of(picture, *last).empty()) return false;
  const auto asked = criteria_now();
  auto others = all() - chain_.tried - chain_.left_zones - asked.excluded - asked.avoided;
  others = (others - zone_mates(picture, *last)).where([&](std::size_t i) {
    return !zone_of(picture, i).empty();
  });
  return !suiting(others).empty();
}

Candidates MirrorChoice::suitable_if_free() const {
  auto asked = criteria();
  const auto possible = all() - asked.excluded;
  Candidates suitable;
  for (const auto mirror : possible) {
    asked.excluded = all() - Candidates::only(mirror);
    if (!moment_.mirrors.acceptable(asked).empty()) suitable.insert(mirror);
  }
  return suitable;
}

Candidates MirrorChoice::all_full() const {
  // Called after a failed choice: the suitable mirrors were full then, even if they no longer are.
  return moment_.mirrors.limited() ? suitable_if_free() : Candidates();
}

}  // namespace karmad
