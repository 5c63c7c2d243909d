#include "balancer/mirror_finder.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <tuple>
#include <utility>

#include "agent/transport/loop/thread_pool.hpp"
#include "balancer/discovery/found.hpp"
#include "config/agent_line.hpp"

namespace karmad {
namespace {

constexpr Micros kWaitForAnswers = 500ms;  // of new names, and at the start of sources
constexpr Micros kBetweenChanges = 250ms;  // changes that come together are adopted together

}  // namespace

DnsSettings dns_settings(const NameSettings& names) {
  return {.servers = names.dns_servers.value,
          .timeout = names.dns_timeout.value,
          .tries = names.dns_tries.value};
}

MirrorFinder::MirrorFinder(Loop& main, DnsSettings dns, SourceStatus& board, Hooks hooks)
    : main_(main),
      hooks_(std::move(hooks)),
      discovery_(main, dns, board,
                 {.judge =
                      [this](const Pictures& pictures) {
                        return hooks_.judge({pictures, finder_.answers()});
                      },
                  .changed = [this] { on_change(); },
                  .failed = [this] { explain_missing_mirrors(); }}),
      finder_(main, std::move(dns), board,
              {.judge =
                   [this](const NameAnswers& names) {
                     return hooks_.judge({discovery_.pictures(), names});
                   },
               .mirrors_changed = [this] { on_change(); },
               .addresses_changed = [this] { on_change(); }}),  // saves them
      change_timer_(main.io) {}

void MirrorFinder::start(const Settings& file, LastFound last, bool keeps_gone) {
  discovery_.remember(file, last.pictures);
  finder_.remember(std::move(last.names));
  discovery_.adopt(file);
  // Time for the first answers, so that the first queries find mirrors.
  const auto end = std::chrono::steady_clock::now() + kWaitForAnswers;
  while (discovery_.waiting() && main_.io.run_one_until(end) > 0) {
  }
  if (!keeps_gone) discovery_.adopt(file);
  ask(file, kWaitForAnswers);
}

void MirrorFinder::adopt(const Settings& file) {
  discovery_.adopt(file);
  ask(file, Micros{0});
  finder_.refresh();
}

void MirrorFinder::ask_names(const Settings& file) {
  ask(file, Micros{0});
}

void MirrorFinder::ask(const Settings& file, Micros wait) {
  const auto pictured = with_pictures(file, discovery_.pictures());
  finder_.ask(questions_of(pictured, false), questions_of(pictured, true),
              file.searchd.dns_refresh.value, wait);
}

FoundMirrors MirrorFinder::found_for(const Settings& now, const Settings& next) {
  const auto pictures = discovery_.pictures_for(next);
  const auto pictured_now = with_pictures(now, discovery_.pictures());
  const auto pictured_next = with_pictures(next, pictures);
  auto all = questions_of(pictured_now, false);
  auto expanding = questions_of(pictured_now, true);
  all.merge(questions_of(pictured_next, false));
  expanding.merge(questions_of(pictured_next, true));
  finder_.ask(all, expanding, now.searchd.dns_refresh.value, kWaitForAnswers);
  return {pictures, finder_.answers()};
}

void MirrorFinder::on_change() {
  if (std::exchange(change_due_, true)) return;
  change_timer_.expires_at(std::max(std::chrono::steady_clock::now(), next_change_));
  change_timer_.async_wait([this](error_code error) {
    if (error) return;
    change_due_ = false;
    next_change_ = std::chrono::steady_clock::now() + kBetweenChanges;
    hooks_.changed();
  });
}

void MirrorFinder::name_agents(const std::shared_ptr<const Topology>& topology, bool at_start) {
  finder_.adopt(topology, at_start);
  topology_ = topology;
  explain_missing_mirrors();
}

void MirrorFinder::explain_missing_mirrors() {
  if (!topology_) return;
  for (const auto& agent : topology_->agents) {
    if (!is_placeholder(agent->address)) continue;
    const auto why = discovery_.why(table_of_placeholder(agent->address));
    agent->unresolved(why);
    agent->last_error(why);
    agent->counters.errors_in_a_row = topology_->settings.dead_after.value + 1;
  }
}

void MirrorFinder::stop() {
  discovery_.stop();
  finder_.stop();
}

void MirrorFinder::end() {
  stop();
  main_.io.restart();
  while (!discovery_.ended()) main_.io.run_one();
}

namespace {

constexpr Micros kTick = 100ms;
constexpr Micros kRetryInterval = 1s;  // between two look-ups of a name that failed
constexpr std::string_view kHeld = "the last addresses stay in use";
constexpr std::string_view kNone = "the look-up is repeated until it succeeds";

}  // namespace

std::vector<NamedMirror> mirrors_at(std::vector<HostAddress> addresses) {
  std::ranges::sort(addresses);
  std::vector<NamedMirror> mirrors;
  for (const auto& address : addresses)
    mirrors.push_back(
        {.address = {.host = address.to_string(), .port = 0, .unix_path = {}}, .weight = {}});
  const auto twins = std::ranges::unique(mirrors);
  mirrors.erase(twins.begin(), twins.end());
  return mirrors;
}

std::vector<NamedMirror> mirrors_of(const std::vector<SrvTarget>& targets) {
  unsigned lowest = std::numeric_limits<unsigned>::max();
  for (const auto& target : targets)
    if (!target.addresses.empty()) lowest = std::min<unsigned>(lowest, target.priority);
  unsigned heaviest = 1;
  for (const auto& target : targets)
    if (target.priority == lowest) heaviest = std::max<unsigned>(heaviest, target.weight);
  const auto scaled = [&](unsigned weight) {
    return std::max(1U, heaviest > kMostWeight ? weight * kMostWeight / heaviest : weight);
  };

  struct FoundPlace {
    HostAddress address;
    unsigned port, weight;
  };
  std::vector<FoundPlace> places;
  for (const auto& target : targets)
    for (const auto& address : target.addresses)
      places.push_back(
          {address, target.port, target.priority == lowest ? scaled(target.weight) : 0});
  // Of an address that occurs twice the larger weight counts.
  std::ranges::sort(places, [](const FoundPlace& a, const FoundPlace& b) {
    return std::tie(a.address, a.port, b.weight) < std::tie(b.address, b.port, a.weight);
  });
  const auto twins = std::ranges::unique(places, [](const FoundPlace& a, const FoundPlace& b) {
    return a.address == b.address && a.port == b.port;
  });
  places.erase(twins.begin(), twins.end());
  std::vector<NamedMirror> mirrors;
  for (const auto& [address, port, weight] : places)
    mirrors.push_back({.address = {.host = address.to_string(),
                                   .port = static_cast<std::uint16_t>(port),
                                   .unix_path = {}},
                       .weight = weight});
  return mirrors;
}

std::string source_name(const NameQuestion& question) {
  return fmt::format("{} {}", question.srv ? "srv" : "name", question.host);
}

NameFinder::NameFinder(Loop& loop, DnsSettings dns, SourceStatus& board, Hooks hooks)
    : loop_(loop), dns_(std::move(dns)), board_(board), hooks_(std::move(hooks)), timer_(loop.io) {}

void NameFinder::stop() {
  stopped_ = true;
  *alive_ = false;
  timer_.cancel();
}

NameFinder::Result NameFinder::look_up(const NameQuestion& question, const DnsSettings& dns) {
  if (question.srv) {
    const auto targets = look_up_srv(question.host, dns);
    if (!targets) return std::unexpected(targets.error());
    return FoundName{.addresses = {}, .mirrors = mirrors_of(*targets)};
  }
  auto addresses = look_up_addresses(question.host, dns);
  if (!addresses) return std::unexpected(addresses.error());
  return FoundName{.addresses = *addresses, .mirrors = mirrors_at(*addresses)};
}

/// Look-ups whose results the main thread waits for.
struct NameFinder::Batch {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::pair<NameQuestion, Result>> results;
  std::size_t asked = 0;
  bool over = false;  ///< it waits no longer

  /// False if no caller waits.
  bool take(const NameQuestion& question, Result& result) {
    const std::scoped_lock lock(mutex);
    if (over) return false;
    results.emplace_back(question, std::move(result));
    changed.notify_one();
    return true;
  }
  std::vector<std::pair<NameQuestion, Result>> wait(Micros longest) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, longest, [&] { return results.size() == asked; });
    over = true;
    return std::move(results);
  }
};

void NameFinder::start(const NameQuestion& question, Name& name, std::shared_ptr<Batch> batch) {
  name.asking = true;
  name.again = false;
  name.last = Loop::now();
  run_detached([this, question, dns = dns_, door = loop_.door(), alive = alive_,
                batch = std::move(batch)]() mutable {
    auto result = look_up(question, dns);
    if (batch && batch->take(question, result)) return;
    door->post([this, question, alive = std::move(alive), late = std::move(result)]() mutable {
      if (*alive) answered(question, std::move(late));
    });
  });
}

void NameFinder::ask(const std::set<NameQuestion>& all, const std::set<NameQuestion>& expanding,
                     Micros refresh, Micros wait) {
  if (stopped_) return;
  refresh_ = refresh;
  std::erase_if(names_, [&](const auto& entry) {
    if (all.contains(entry.first)) return false;
    board_.remove(source_name(entry.first));
    return true;
  });
  const auto batch = wait > Micros{0} ? std::make_shared<Batch>() : nullptr;
  for (const auto& question : all) {
    auto [entry, is_new] = names_.try_emplace(question);
    entry->second.expands = expanding.contains(question);
    if (!is_new) continue;
    if (const auto last = remembered_.find(question); last != remembered_.end())
      entry->second.found = last->second;
    if (batch) ++batch->asked;
    start(question, entry->second, batch);
  }
  if (batch && batch->asked > 0)
    for (auto& [question, result] : batch->wait(wait)) answered(question, std::move(result));
  answers_.clear();
  for (const auto& [question, name] : names_)
    if (name.expands && name.found) answers_[question] = name.found->mirrors;
  start_ticking();
}

std::map<NameQuestion, FoundName> NameFinder::known() const {
  std::map<NameQuestion, FoundName> known;
  for (const auto& [question, name] : names_)
    if (name.found) known.emplace(question, *name.found);
  return known;
}

void NameFinder::refresh() {
  if (stopped_) return;
  for (auto& [question, name] : names_) {
    if (name.asking) {
      name.again = true;  // that look-up began before the caller's change
    } else {
      start(question, name);
    }
  }
}

void NameFinder::answered(const NameQuestion& question, Result result) {
  const auto entry = names_.find(question);
  if (entry == names_.end()) return;
  auto& name = entry->second;
  name.asking = false;
  name.asked = true;
  const auto now = Loop::now();
  if (result && name.expands && (!name.found || name.found->mirrors != result->mirrors))
    if (auto why = hooks_.judge({{question, result->mirrors}}))
      result = std::unexpected(*std::move(why));
  if (!result) {
    name.why = fmt::format("cannot look up the name '{}': {}", question.host, result.error());
    name.next = now + (name.found && refresh_ > Micros{0} ? std::min(refresh_, Micros(30s))
                                                          : kRetryInterval);
    board_.failed(source_name(question), result.error(), name.found ? kHeld : kNone,
                  WallTime::clock::now());
  } else {
    board_.good(source_name(question), result->mirrors.size(), WallTime::clock::now());
    name.next = now + refresh_;
    const bool is_new = !name.found || name.found->mirrors != result->mirrors;
    name.found = *std::move(result);
    name.why.clear();
    if (name.expands) answers_[question] = name.found->mirrors;
    if (is_new && name.expands) hooks_.mirrors_changed();
  }
  bool changed = false;
  if (topology_ != nullptr && !question.srv)
    for (const auto& agent : topology_->agents)
      if (agent->named() && agent->address.host == question.host)
        changed = give(*agent, name, false) || changed;
  if (changed) hooks_.addresses_changed();
}

/// True if the agent had other addresses.
bool NameFinder::give(Agent& agent, const Name& name, bool at_start) const {
  if (name.found && !name.found->addresses.empty()) {
    Endpoints endpoints;
    for (const auto& address : name.found->addresses)
      endpoints.emplace_back(asio::ip::tcp::endpoint(address, agent.address.port));
    const bool was_unresolved = !agent.endpoints();
    const bool had_failed = agent.unresolved().has_value();
    if (!agent.endpoints(std::move(endpoints))) return false;
    if (!was_unresolved) {
      spdlog::info("agent {}: its name has other addresses now", agent.name);
    } else if (had_failed) {
      agent.counters.errors_in_a_row = 0;
      spdlog::info("agent {}: its name is resolved now", agent.name);
    }
    return true;
  }
  if (agent.endpoints() || (!name.asked && !at_start)) return false;
  const auto why = name.asked ? name.why
                              : fmt::format("the look-up of the name '{}' has no answer yet",
                                            agent.address.host);
  agent.unresolved(why);
  agent.last_error(why);
  // Dead from the start: strategies that consider errors use it only if no other mirror is left.
  agent.counters.errors_in_a_row = topology_->settings.dead_after.value + 1;
  return false;
}

void NameFinder::adopt(std::shared_ptr<const Topology> topology, bool at_start) {
  topology_ = std::move(topology);
  for (const auto& agent : topology_->agents) {
    if (!agent->named() || agent->endpoints()) continue;
    auto name = names_.find({agent->address.host, false});
    if (name == names_.end()) name = names_.find({agent->address.host, true});
    if (name != names_.end()) give(*agent, name->second, at_start);
  }
}

/// Looks up names again whose addresses could not be connected to.
void NameFinder::note_failed_connects() {
  if (topology_ == nullptr) return;
  std::set<Address> failed;
  for (const auto& agent : topology_->agents)
    if (agent->take_connect_failed()) failed.insert(agent->address);
  if (failed.empty()) return;
  for (auto& [question, name] : names_) {
    const auto stands_for = [&](const Address& address) {
      if (address.host == question.host) return true;
      return name.expands && name.found &&
             std::ranges::any_of(name.found->mirrors, [&](const NamedMirror& mirror) {
               return mirror.address.host == address.host;
             });
    };
    if (std::ranges::any_of(failed, stands_for)) name.again = true;
  }
}

void NameFinder::start_ticking() {
  if (stopped_ || names_.empty() || std::exchange(ticking_, true)) return;
  timer_.expires_after(kTick);
  timer_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (error || !*alive) return;
    ticking_ = false;
    tick();
    start_ticking();
  });
}

void NameFinder::tick() {
  note_failed_connects();
  const auto now = Loop::now();
  for (auto& [question, name] : names_) {
    if (name.asking) continue;
    const bool repeated =
        (refresh_ > Micros{0} || !name.found || !name.why.empty()) && now >= name.next;
    if (repeated || (name.again && now >= name.last + kRetryInterval)) start(question, name);
  }
}

}  // namespace karmad
