#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/operate/overrides.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {

/// What an operator can ask for: `POST /admin/NAME`, or `karmad ctl NAME`.
enum class AdminVerb : std::uint8_t {
  ready,
  drain,
  maint,
  weight,
  strategy,
  hedging,
  log_level,
  reset_karma,
  restore,  ///< what the operator changed becomes as configured
  reload,
};
inline constexpr auto kAdminVerbs = enum_names<AdminVerb>({{AdminVerb::ready, "ready"},
                                                           {AdminVerb::drain, "drain"},
                                                           {AdminVerb::maint, "maint"},
                                                           {AdminVerb::weight, "weight"},
                                                           {AdminVerb::strategy, "strategy"},
                                                           {AdminVerb::hedging, "hedging"},
                                                           {AdminVerb::log_level, "log_level"},
                                                           {AdminVerb::reset_karma, "reset_karma"},
                                                           {AdminVerb::restore, "restore"},
                                                           {AdminVerb::reload, "reload"}});

/// One call. Which members a verb has: members_of().
struct AdminCall {
  AdminVerb verb = AdminVerb::ready;
  std::optional<std::string> mirror;  ///< its address; unset: all mirrors
  std::optional<std::string> table;   ///< unset: all tables
  std::optional<unsigned> weight;
  std::optional<std::string> strategy;
  std::optional<bool> on;
  std::optional<LogLevel> level;
  bool force = false;  ///< also if it takes the last mirror of a shard out of service
};

/// The members of the call's JSON: the required ones, then the optional ones. For messages, the
/// manual and the command line.
struct AdminMembers {
  std::vector<std::string_view> required;
  std::vector<std::string_view> optional;
};
AdminMembers members_of(AdminVerb verb);

/// Reads the body of a call; an empty one is `{}`. The error says what would be right.
std::expected<AdminCall, std::string> parse_admin_call(AdminVerb verb, std::string_view body);

/// A call that cannot be done, with the status of the answer.
struct AdminRefusal {
  int status = 400;
  std::string reason;
};

/// Enters the call into `overrides`. `configured`: the settings without them. The call changes
/// nothing if it is refused: an unknown table or mirror (404), too many changes (409), hedging
/// where none is configured (409). Pure. Not for `reset_karma` and `reload`, which change no
/// setting.
std::expected<Overrides, AdminRefusal> apply(const AdminCall& call, const Settings& configured,
                                             Overrides overrides);

/// The mirrors of the call, as in `settings`; 404 if it names none that exists.
std::expected<std::vector<MirrorName>, AdminRefusal> mirrors_of(const AdminCall& call,
                                                                const Settings& settings);

/// What the call is about, with its state in these settings: elements of a JSON array such as
/// `{"table":"t","mirror":"10.0.0.1:9308","state":"ready","weight":1}`.
std::vector<std::string> subjects(const AdminCall& call, const Settings& settings);

}  // namespace karmad
