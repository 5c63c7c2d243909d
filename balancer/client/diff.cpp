#include <fmt/format.h>

#include <expected>
#include <iostream>
#include <map>

#include "agent/json/json_tree.hpp"
#include "balancer/client/commands.hpp"
#include "balancer/discovery/source_json.hpp"
#include "balancer/endpoints/endpoints.hpp"
#include "balancer/operate/admin_call.hpp"
#include "balancer/operate/configuration.hpp"
#include "balancer/trace/plain_text.hpp"
#include "config/effective.hpp"

namespace karmad {
namespace {

constexpr int kDiffers = 1;
constexpr int kWrongCall = 2;
constexpr int kNoAnswer = 71;
constexpr int kConfigProblems = 78;

/// One of the two sides.
struct Side {
  std::vector<EffectiveSetting> settings;
  std::vector<ExpectedShare> shares;
};

std::optional<Settings> settings_of_file(const std::string& path) {
  auto loaded = load(path, real_environment(), FileKind::any, judge);
  for (const auto& problem : loaded.problems) std::cerr << text(problem) << '\n';
  return std::move(loaded.settings);
}

Side side_of(const Settings& settings) {
  return {effective_settings(settings), expected_shares(settings)};
}

/// The settings after a reload of the file by a process in this state (state_text()): it keeps the
/// mirrors that it has found and the changes of its operator. An error: what is wrong with the
/// state.
std::expected<Settings, std::string> after_reload(Settings file, const std::string& state) {
  Configuration configuration(std::move(file));
  auto overrides = parse_overrides(state);
  auto last = last_found_in(state);
  if (!overrides || !last) return std::unexpected(overrides ? last.error() : overrides.error());
  configuration.restore(*std::move(overrides));
  FoundMirrors found{.pictures = std::move(last->pictures), .names = {}};
  for (auto& [question, name] : last->names) found.names[question] = std::move(name.mirrors);
  return configuration.on_mirrors(found).configuration.settings();
}

std::string plain_member(const rapidjson::Value& item, std::string_view name) {
  return without_controls(text_member(item, name));
}

std::optional<Side> side_of_answer(const rapidjson::Document& document) {
  const auto* settings = member_of(&document, "settings");
  const auto* shares = member_of(&document, "shares");
  if (settings == nullptr || shares == nullptr || !settings->IsArray() || !shares->IsArray())
    return std::nullopt;
  Side side;
  for (const auto& item : settings->GetArray())
    side.settings.push_back(
        {plain_member(item, "name"), plain_member(item, "value"), plain_member(item, "source")});
  for (const auto& item : shares->GetArray()) {
    const auto* shard = member_of(&item, "shard");
    const auto* share = member_of(&item, "share");
    if (shard == nullptr || share == nullptr || !shard->IsUint() || !share->IsNumber()) continue;
    side.shares.push_back({plain_member(item, "table"), shard->GetUint(),
                           plain_member(item, "mirror"), share->GetDouble()});
  }
  return side;
}

std::string percent(const std::map<std::string, double>& shares, const std::string& mirror) {
  const auto found = shares.find(mirror);
  return found == shares.end() ? "-" : fmt::format("{:.1f} %", found->second * 100);
}

std::map<std::string, double> by_name(const std::vector<ExpectedShare>& shares) {
  std::map<std::string, double> all;
  for (const auto& share : shares)
    all[fmt::format("{}, shard {}: {}", share.table, share.shard, share.mirror)] += share.share;
  return all;
}

int print_difference(const Side& before, const Side& after) {
  const auto changes = difference(before.settings, after.settings);
  if (changes.empty()) {
    std::cout << "no difference\n";
    return 0;
  }
  for (const auto& change : changes) std::cout << text(change) << '\n';
  const auto then = by_name(before.shares);
  const auto now = by_name(after.shares);
  auto all = then;
  all.insert(now.begin(), now.end());
  std::cout << "\nexpected share of its shard's searches, with nothing measured:\n";
  for (const auto& [mirror, ignored] : all)
    std::cout << fmt::format("  {}: {} -> {}\n", mirror, percent(then, mirror),
                             percent(now, mirror));
  return kDiffers;
}

}  // namespace

int run_diff(const std::string& before, const std::string& after) {
  const auto from = settings_of_file(before);
  const auto to = settings_of_file(after);
  return from && to ? print_difference(side_of(*from), side_of(*to)) : kConfigProblems;
}

int run_diff_running(const CtlOptions& running, const std::string& after) {
  auto to = settings_of_file(after);
  if (!to) return kConfigProblems;
  const auto server = admin_server(running);
  if (!server) return failed("karmad", server.error(), kWrongCall);
  const auto answer = http_ask(*server, {.target = "/admin/config"}, kAdminWait);
  if (!answer) return failed("karmad", answer.error(), kNoAnswer);
  if (answer->status != 200) return failed("karmad", refusal_text(*answer), kNoAnswer);
  const auto document = tree_of(answer->body);
  const auto from = side_of_answer(document);
  const auto* state = member_of(&document, "overrides");
  if (!from || state == nullptr)
    return failed("karmad", "the answer is not a configuration of karmad", kNoAnswer);
  const auto reloaded = after_reload(*std::move(to), json_of(*state));
  if (!reloaded)
    return failed("karmad", "the state of the process: " + reloaded.error(), kNoAnswer);
  return print_difference(*from, side_of(*reloaded));
}

}  // namespace karmad
