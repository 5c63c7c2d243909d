#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "config/settings/inherit.hpp"
#include "config/settings/values.hpp"

namespace karmad {

/// Whether it is valid in a request line: a slash, then visible ASCII without a fragment.
bool is_target(std::string_view text);

/// Checks of settings that `searchd` and tables share.
class CheckSteps {
 public:
  CheckSteps(const InstanceSettings& searchd, Problems& problems, Problems& notices)
      : searchd_(searchd), problems_(problems), notices_(notices) {}

 protected:
  void problem(const Place& at, std::string message) {
    problems_.push_back({at, std::move(message)});
  }
  void notice(const Place& at, std::string message) {
    notices_.push_back({at, std::move(message)});
  }
  /// For a setting that several tables and shards inherit.
  void notice_once(Problem problem) {
    if (std::ranges::find(notices_, problem) == notices_.end())
      notices_.push_back(std::move(problem));
  }

  void check_ping_path(const std::optional<Located<std::string>>& path);
  /// A preference belongs to one level as a whole, so its parts need the mode at that level
  /// (SS-081).
  void check_preference(const InheritedByTables& here, const InheritedByTables& above,
                        std::string_view level);
  void check_retries(unsigned count, const Place& at);
  void check_timeouts(const InheritedByTables& owner);
  /// Checks the times of single attempts and of parts of an attempt.
  void check_search_times(const InheritedByTables& owner);
  /// A burst must hold at least one token, as only whole ones are taken.
  void check_burst(std::string_view name, const Located<Rate>& rate, const Located<Micros>& burst);

  template <class Owner>
  void check_bounds(std::span<const Key<Owner>> keys, const Owner& owner) {
    for (const auto& key : keys)
      if (key.alias_of.empty())
        std::visit([&](const auto field) { check_field(key, owner, field); }, key.field);
  }

  template <class Owner, class Other>
  void check_field(const Key<Owner>&, const Owner&, Other) {}
  template <class Owner, class T>
  void check_field(const Key<Owner>& key, const Owner& owner, Located<T> Owner::*field) {
    check_value(key, owner.*field);
  }
  template <class Owner, class T>
  void check_field(const Key<Owner>& key, const Owner& owner,
                   std::optional<Located<T>> Owner::*field) {
    if (owner.*field) check_value(key, *(owner.*field));
  }

  template <class Owner, class T>
  void check_value(const Key<Owner>& key, const Located<T>& setting) {
    const auto size = measure(setting.value);
    if (!size || (*size == 0 && key.bounds.zero)) return;
    constexpr bool is_time = std::is_same_v<T, Micros>;
    const auto say = [&](std::string_view comparison, std::int64_t bound) {
      const auto spelled =
          is_time && Micros{bound} == Micros{1s} ? "one second" : bound_text<T>(bound);
      problem(setting.at, fmt::format("{} is {} than {}: {}", key.name, comparison, spelled,
                                      value_text(setting.value)));
    };
    if (*size < key.bounds.lowest) say(is_time ? "shorter" : "smaller", key.bounds.lowest);
    if (*size > key.bounds.highest) say(is_time ? "longer" : "larger", key.bounds.highest);
  }

  template <class Owner>
  void check_value(const Key<Owner>& key, const Located<std::vector<Micros>>& times) {
    for (const auto time : times.value) check_value(key, Located<Micros>{time, times.at});
  }

  const InstanceSettings& searchd_;
  Problems& problems_;
  Problems& notices_;
};

}  // namespace karmad
