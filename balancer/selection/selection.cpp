#include "balancer/selection/selection.hpp"

#include <fmt/format.h>

#include <set>

#include "agent/json/json_line.hpp"
#include "balancer/selection/shard_mirrors.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {

Selection::Selection(const std::optional<ReadPreference>& of_request, const Table& table,
                     const SelectionSettings& settings, SelectionClass of) {
  any_takes_updates_ = table.updates != Updates::primary;
  if (of == SelectionClass::must_use_primary ||
      (of == SelectionClass::unclassified && !of_request)) {
    need_.operation = Operation::write;
    return;
  }
  if (of == SelectionClass::should_use_primary) {
    need_.preference.mode = Mode::primary;
    return;
  }
  need_.preference.mode = Mode::nearest;  // SS-030: any mirror may answer searches
  const auto& preference = of_request ? of_request : table.preference;
  if (!preference) return;
  need_.preference = *preference;
  preferred_ = true;
  window_ = settings.local_threshold.value;
}

std::string Selection::passed_on(const SetDescription& picture, std::size_t mirror) const {
  if (need_.operation == Operation::write) return {};
  // In a set with roles the default is `nearest` (SS-030, SS-097).
  const bool in_force = preferred_ || picture.kind == SetKind::roles;
  const auto preference =
      karmad::passed_on(in_force ? std::optional(need_.preference) : std::nullopt, picture.kind,
                        picture.mirrors[mirror].role);
  return preference ? text(*preference) : std::string();
}

std::string criteria_of(const Need& need) {
  return need.operation == Operation::write ? R"({"operation":"write"})" : text(need.preference);
}

std::optional<Refusal> refusal_of(const Need& need, bool any_takes_updates, const SetView& view) {
  if (need.operation == Operation::read) {
    auto wrong = invalid_for(need.preference, view.picture.kind, view.picture.ping_interval);
    if (wrong)
      return Refusal{.status = 400,
                     .type = "bad_read_preference",
                     .reason = std::move(wrong->why),
                     .code = wrong->code};
  }
  if (need.operation == Operation::write && view.picture.kind == SetKind::flat &&
      view.mirrors.size() > 1 && !any_takes_updates)
    return Refusal{.status = 403,
                   .type = "no_primary",
                   .reason = fmt::format(
                       "the table has {} mirrors and none of them is the primary: an update "
                       "would reach one copy only. Configure role=primary for one mirror or, "
                       "if the mirrors pass updates on to each other, updates = any, or "
                       "updates = all, which sends them to each mirror. Paths of "
                       "requests that only read belong in reads (dialect http)",
                       view.mirrors.size())};
  if (view.picture.incompatible)
    return Refusal{.type = "incompatible_mirrors",
                   .reason =
                       "no mirror speaks a known version of "
                       "the ping answer: " +
                       view.mirrors.front().why};
  return std::nullopt;
}

Refusal nothing_suitable(const Need& need, const ShardMirrors& mirrors) {
  const auto& view = mirrors.view();
  const auto has_failed = mirrors.failing();
  const auto criteria = criteria_of(need);
  Refusal refusal{.type = "selection_timeout"};
  std::set<std::string> errors;
  bool available = false;
  {
    JsonLine details(refusal.details);
    details.add(R"("criteria":)", criteria, R"(,"kind":)", Quoted{name(view.picture.kind)},
                R"(,"mirrors":[)");
    for (std::size_t i = 0; i < view.mirrors.size(); ++i) {
      const auto& why = view.mirrors[i].why;
      const bool known = view.picture.mirrors[i].role != Role::unknown;
      // An error that is over says nothing of a mirror that is well.
      const bool failing = !known || has_failed.contains(i);
      const auto last =
          mirrors.shown_error(i, why.empty() && failing ? mirrors.last_error(i) : why);
      available = available || known;
      errors.insert(last);
      details.add(i > 0 ? R"(,{"address":)" : R"({"address":)");
      details.add(Quoted{mirrors.shown_name(i)}, R"(,"role":)",
                  Quoted{name(view.picture.mirrors[i].role)}, R"(,"why":)",
                  Quoted{why_unsuitable(need, view.picture, i)}, R"(,"last_error":)", Quoted{last},
                  '}');
    }
    details.add(']');
  }
  refusal.reason = fmt::format("no mirrors are suitable for {}", criteria);
  errors.erase("");
  if (!available && !errors.empty())
    fmt::format_to(std::back_inserter(refusal.reason), ": {}", fmt::join(errors, "; "));
  return refusal;
}

}  // namespace karmad
