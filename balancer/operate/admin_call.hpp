#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/operate/overrides.hpp"
#include "config/effective.hpp"
#include "config/settings/settings.hpp"
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
inline constexpr auto kAdminVerbs = enumerators<AdminVerb>();

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

/// The answer to an admin call: JSON.
struct AdminResult {
  int status = 200;
  std::string body;
};

/// Does what operators ask for. Any thread may call; `done` is called once, on any thread, when
/// every worker uses the change.
class AdminApi {
 public:
  using Done = std::move_only_function<void(AdminResult)>;

  /// `who`: the operator's address, for the log.
  virtual void call(AdminCall call, std::string who, Done done) = 0;
  /// The effective settings with their sources, the expected shares, and what the operator changed.
  virtual void describe(Done done) = 0;

 protected:
  ~AdminApi() = default;
};

/// Shards that lose their last mirror that can serve searches when the settings `before` become
/// `after`, as `table t, shard 1`. A mirror can serve if it is in the state `ready` and `works`
/// says so of its address. If none of a shard works, the states alone count. Both settings have the
/// same tables and shards. Pure.
std::vector<std::string> shards_without_mirrors(
    const Settings& before, const Settings& after,
    const std::function<bool(const std::string& address)>& works);

/// The reason to refuse such a change.
std::string last_mirror_text(const std::vector<std::string>& shards);

/// The part of its shard's searches that a mirror gets: 0 to 1.
struct ExpectedShare {
  std::string table;
  std::size_t shard = 1;  ///< from 1
  std::string mirror;     ///< its address
  double share = 0;
};

/// The shares as long as nothing is measured: by strategies, weights and states alone. For settings
/// without problems.
std::vector<ExpectedShare> expected_shares(const Settings& settings);

/// `{"error":…,"problems":[…]}`.
AdminResult admin_error(int status, std::string_view reason, const Problems& problems = {});

/// `{"call":…,"changed":[{"before":…,"after":…}],"saved":…}`. `before` and `after`: subjects() of
/// the same call. `not_saved`: why the state file could not be written; empty: it was, or there is
/// none.
AdminResult admin_changed(AdminVerb verb, const std::vector<std::string>& before,
                          const std::vector<std::string>& after, std::string_view not_saved);

/// `{"call":"reload","changed":[{"setting","before","after",…}],"at_next_start":[…]}`. `fixed`:
/// names of the settings that are changed in the file and take effect at the next start.
AdminResult admin_reloaded(const std::vector<SettingChange>& changes,
                           const std::vector<std::string_view>& fixed);

/// `{"settings":[…],"shares":[…],"overrides":{…}}`. `state`: as in the state file.
AdminResult admin_config(const Settings& settings, std::string_view state);

}  // namespace karmad
