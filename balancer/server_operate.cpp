// What operators ask for while the server runs.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "balancer/discovery/mirror_json.hpp"
#include "balancer/operate/admin_call.hpp"
#include "balancer/operate/admin_json.hpp"
#include "balancer/operate/state_file.hpp"
#include "balancer/server.hpp"

namespace karmad {
namespace {

constexpr std::string_view kTakenOver =
    "another process takes over from this one; repeat the call, which it will get";

/// A call in a few words, for the log and the event.
std::string text(const AdminCall& call) {
  std::string text(kAdminVerbs[call.verb]);
  if (call.mirror) text += ' ' + *call.mirror;
  if (call.table) text += " of table " + *call.table;
  if (call.weight) text += fmt::format(": {}", *call.weight);
  if (call.strategy) text += ": " + *call.strategy;
  if (call.on) text += *call.on ? ": on" : ": off";
  return text;
}

/// The sets with mirrors at these names, and their positions there.
std::vector<std::pair<std::shared_ptr<MirrorSet>, Candidates>> sets_with(
    const Topology& topology, const std::vector<MirrorName>& names) {
  std::vector<std::pair<std::shared_ptr<MirrorSet>, Candidates>> found;
  for (const auto& table : topology.tables)
    for (const auto& shard : table->shards) {
      const auto& set = *shard->mirrors;
      Candidates mirrors;
      for (std::size_t i = 0; i < set.size(); ++i)
        if (std::ranges::find(names, MirrorName{table->name, set[i].agent->name}) != names.end())
          mirrors.insert(i);
      if (!mirrors.empty()) found.emplace_back(shard->mirrors, mirrors);
    }
  return found;
}

void add_karma(const MirrorSet& set, Candidates mirrors, std::vector<std::string>& to) {
  for (const auto i : mirrors)
    to.push_back(
        fmt::format(R"({{"mirror":"{}","karma":{:.4f}}})", set[i].agent->name, set[i].karma()));
}

}  // namespace

void Server::call(AdminCall call, std::string who, Done done) {
  asio::post(main_, [this, call = std::move(call), who = std::move(who),
                     done = std::move(done)]() mutable { operate(call, who, std::move(done)); });
}

void Server::describe(Done done) {
  asio::post(main_, [this, done = std::move(done)]() mutable {
    done(admin_config(settings_, overrides_));
  });
}

void Server::operate(const AdminCall& call, const std::string& who, Done done) {
  if (stopping_) return done(admin_error(503, "karmad is stopping"));
  spdlog::info("operator ({}): {}", who, text(call));
  if (call.verb == AdminVerb::reload) return reload(std::move(done));
  if (call.verb == AdminVerb::reset_karma) return reset_karma(call, who, std::move(done));
  const std::scoped_lock lock(overrides_mutex_);
  if (handed_over_) return done(admin_error(503, kTakenOver));
  auto changed = apply(call, configured_, overrides_);
  if (!changed) return done(admin_error(changed.error().status, changed.error().reason));
  const auto before = subjects(call, settings_);
  auto settings = with_overrides(configured_, *changed);
  if (!call.force)
    if (const auto shards = shards_without_mirrors(
            settings_, settings, [this](const std::string& address) { return works(address); });
        !shards.empty())
      return done(admin_error(409, last_mirror_text(shards)));
  const auto after = subjects(call, settings);
  const auto reply = std::make_shared<Done>(std::move(done));
  const auto not_saved = std::make_shared<std::string>();
  const auto problems =
      adopt(std::move(settings),
            {.kind = OperatorEvent::Kind::admin,
             .message = fmt::format("operator ({}): {}", who, text(call)),
             .done = [this, reply, before, after, not_saved, verb = call.verb] {
               asio::post(main_, [=] { (*reply)(admin_changed(verb, before, after, *not_saved)); });
             }});
  if (!problems.empty())
    return (*reply)(admin_error(400, "the change is not possible; nothing was changed", problems));
  overrides_ = *std::move(changed);
  *not_saved = save_state();
}

/// Whether the agent at this address is neither dead nor without an address.
bool Server::works(const std::string& address) const {
  const auto found = std::ranges::find(topology_->agents, address, &Agent::name);
  if (found == topology_->agents.end()) return false;
  const auto& agent = **found;
  return !(agent.named() && agent.unresolved()) &&
         !is_down(agent, topology_->settings.dead_after.value);
}

std::string Server::state_text() const {
  const LastFound found{.pictures = discovery_->pictures(), .names = finder_->known()};
  return overrides_json(overrides_, found == LastFound() ? "" : last_found_json(found));
}

/// Returns why the state could not be saved; empty: it was, or need not be.
std::string Server::save_state() {
  const auto& file = settings_.searchd.state_file;
  if (!file) return {};
  auto text = state_text();
  const bool nothing = saved_state_.empty() && text == overrides_json({});
  if (nothing || text == saved_state_) return {};
  const auto written = write_state_file(file->value, text);
  if (written) {
    saved_state_ = std::move(text);
    return {};
  }
  const auto why = fmt::format("state_file {}: {}", file->value, written.error());
  spdlog::error("{}; what was changed or found at run time is lost at the end", why);
  return why;
}

/// Reads what the former process has handed over, or else the state file, at the start. What it
/// cannot use is told and left out: a wrong file must not prevent a start.
void Server::read_state() {
  const auto& file = configured_.searchd.state_file;
  const auto content =
      file ? read_state_file(file->value) : std::expected<std::string, std::string>();
  saved_state_ = content.value_or("");
  if (learned_ && !learned_->overrides.empty())
    return use_state(learned_->overrides, "what the former process has sent");
  if (!file) return;
  const auto source = fmt::format("state_file {}", file->value);
  if (content) return use_state(*content, source);
  spdlog::error("{} is not used: {}", source, content.error());
  add_event(OperatorEvent::Kind::admin, fmt::format("{} is not used: {}", source, content.error()));
}

void Server::use_state(const std::string& text, const std::string& source) {
  if (text.empty()) return;
  auto read = parse_overrides(text);
  if (!read) {
    const auto message = fmt::format("{} is not used: {}", source, read.error());
    spdlog::error("{}", message);
    return add_event(OperatorEvent::Kind::admin, message);
  }
  overrides_ = *std::move(read);
  last_found_ = last_found_in(text);
}

/// Forgets changes of settings that the configuration has changed meanwhile.
void Server::forget_overrides() {
  const std::scoped_lock lock(overrides_mutex_);
  for (const auto& what : forget_reconfigured(overrides_, configured_)) {
    const auto message = fmt::format(
        "the operator's change of {} ends: the configuration has changed it, too", what);
    spdlog::info("{}", message);
    add_event(OperatorEvent::Kind::admin, message);
  }
}

void Server::reset_karma(const AdminCall& call, const std::string& who, Done done) {
  if (handed_over_ || (takeover_service_ && takeover_service_->offering()))
    return done(admin_error(503, kTakenOver));
  const auto names = mirrors_of(call, configured_);
  if (!names) return done(admin_error(names.error().status, names.error().reason));
  add_event(OperatorEvent::Kind::admin, fmt::format("operator ({}): {}", who, text(call)));
  workers_.front()->post([sets = sets_with(*topology_, *names), done = std::move(done)]() mutable {
    std::vector<std::string> before;
    std::vector<std::string> after;
    for (const auto& [set, mirrors] : sets) {
      add_karma(*set, mirrors, before);
      set->reset_karma(mirrors);
      add_karma(*set, mirrors, after);
    }
    done(admin_changed(AdminVerb::reset_karma, before, after, {}));
  });
}

namespace {

void read_secret(const std::optional<Located<std::string>>& file, std::string_view key,
                 std::string& secret, Problems& problems) {
  if (!file) return;
  auto text = read_token_file(file->value);
  if (text)
    secret = *std::move(text);
  else
    problems.push_back({file->at, fmt::format("{} {}: {}", key, file->value, text.error())});
}

}  // namespace

Problems Server::read_secrets(InstanceSettings& searchd) {
  Problems problems;
  read_secret(searchd.admin_token_file, "admin_token_file", searchd.admin_token, problems);
  read_secret(searchd.scroll_key_file, "scroll_key_file", searchd.scroll_key, problems);
  return problems;
}

}  // namespace karmad
