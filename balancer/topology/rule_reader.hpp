#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/mirrors/agent_slots.hpp"
#include "agent/transport/tls.hpp"
#include "balancer/rules/hedge_plan.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "balancer/topology/topology.hpp"
#include "config/settings/settings.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {

/// The value of a `max_in_flight` setting.
struct SlotLimit {
  unsigned most = 0;  ///< 0: unlimited
  bool automatic = false;
  bool limits() const { return most != 0 || automatic; }
  bool operator==(const SlotLimit&) const = default;
};

/// `unlimited` (or 0), a number up to a million, `auto`; otherwise an error.
std::expected<SlotLimit, std::string> parse_slot_limit(std::string_view text);

/// The bounds of `auto`, without a limit yet.
AgentSlotRules slot_rules(const AgentLimitSettings& settings, AdmissionMode admission);

/// Combines limits: the strictest one counts for the agent.
void add_limit(AgentSlotRules& rules, const SlotLimit& limit);

/// How TLS to a mirror of the table is done; nothing: it gets plain HTTP.
std::optional<TlsClientRules> agent_tls_rules(const MirrorSettings& mirror,
                                              const TableSettings& table);

/// The host that a certificate of the agent at this address must have, unless a name is set.
inline std::string tls_host(const Address& address) {
  return address.is_unix() ? "localhost" : address.host;
}

/// Converts effective settings to rules, and checks those that config/ cannot: strategies, read
/// preferences, roles, tags, kinds of pings, hedging. For an invalid setting the rules have the
/// default.
class RuleReader {
 public:
  RuleReader(const InstanceSettings& searchd, Problems& problems)
      : searchd_(searchd), problems_(problems) {}

  std::optional<ReadPreference> read_preference(const InheritedByTables& table);
  HedgeSetting hedge(const Located<std::string>& text);
  RetryRules retries(const TableSettings& table) const;
  ProtectionRules protection(const TableSettings& table, const ShardSettings& line) const;
  /// `preferred`: searches of the table have a read preference.
  ShardDefinition shard(const TableSettings& table, const ShardSettings& line, bool preferred);
  /// `passes_fields`: its dialect passes the fields of clients on.
  AgentCredentials credentials(const TableSettings& table, bool passes_fields) const;
  /// Checks what a level sets or inherits, whether or not a line or mirror uses it.
  void check(const InheritedByTables& level);
  void check(const InheritedByLines& level);
  /// Selection by state needs frequent pings. Call after all shards.
  void check_ping_interval();

 private:
  bool asks_clients() const;
  OutlierRules outliers(Outlier by) const;
  std::string strategy(const InheritedByLines& line, bool preferred);
  const PingKind* ping_kind(const InheritedByLines& line);
  ShardPings pings(const ShardSettings& line, const PingKind* kind) const;
  std::vector<Member> members(const ShardSettings& line);
  Tags tags(const Located<std::string>& text);
  /// Reports each wrong tag; `error`, that of all tags together, if none is wrong alone.
  void report_tags(const Located<std::string>& text, std::string_view separators,
                   const std::string& error);
  void check_role(const ShardSettings& line, const Located<std::string>& role, const Member& read);
  void problem(const Place& at, std::string message) {
    problems_.push_back({at, std::move(message)});
  }

  const InstanceSettings& searchd_;
  Problems& problems_;
  std::string needs_pings_;  ///< the first table whose selection depends on pings
};

}  // namespace karmad
