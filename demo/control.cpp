#include "demo/control.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "demo/data/document.hpp"
#include "demo/data/text.hpp"

namespace karmad::demo {

namespace {

constexpr std::size_t kKeptBody = 2000;

/// A JSON value in the form of a query string.
std::string plain(const rapidjson::Value& json) {
  if (json.IsString()) return {json.GetString(), json.GetStringLength()};
  if (json.IsBool()) return json.GetBool() ? "1" : "0";
  if (json.IsInt64()) return fmt::to_string(json.GetInt64());
  if (json.IsNumber()) return fmt::to_string(json.GetDouble());
  return "?";
}

using Changes = std::vector<std::pair<std::string, std::string>>;

Changes from_query(std::string_view query) {
  Changes out;
  while (!query.empty()) {
    const auto pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    out.emplace_back(url_decoded(pair.substr(0, equals)),
                     equals == pair.size() ? "" : url_decoded(pair.substr(equals + 1)));
  }
  return out;
}

std::optional<Changes> from_json(std::string_view body) {
  Changes out;
  const auto json = parse_object(body);
  if (!json.IsObject()) return std::nullopt;
  for (const auto& member : json.GetObject())
    out.emplace_back(std::string(member.name.GetString(), member.name.GetStringLength()),
                     plain(member.value));
  return out;
}

}  // namespace

Switches Control::current(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return current_locked(now);
}

Switches Control::current_locked(Clock::time_point now) const {
  if (switches_.for_seconds > 0 &&
      now - set_at_ >= std::chrono::duration<double>(switches_.for_seconds))
    return {};
  return switches_;
}

Membership Control::membership() const {
  const std::lock_guard lock(mutex_);
  return membership_;
}

void Control::set_address(std::string me) {
  const std::lock_guard lock(mutex_);
  membership_.me = std::move(me);
}

void Control::count_updates(std::size_t updates) {
  const std::lock_guard lock(mutex_);
  membership_.updates += updates;
  membership_.generation += updates;
}

Control::ControlResult Control::answer(std::string_view parameters, std::string_view body,
                                       bool last_way_in, Clock::time_point now, WallMs wall) {
  auto changes = from_query(parameters);
  if (!body.empty()) {
    const auto more = from_json(body);
    if (!more) return {error_answer(400, "the body should be a JSON object of switches"), false};
    changes.insert(changes.end(), more->begin(), more->end());
  }
  std::stable_partition(changes.begin(), changes.end(),
                        [](const auto& change) { return change.first == "reset"; });

  const std::lock_guard lock(mutex_);
  auto wanted = current_locked(now);
  auto member = membership_;
  bool changes_switches = false;
  for (const auto& [name, value] : changes) {
    const bool is_member = is_membership(name);
    changes_switches = changes_switches || !is_member;
    const auto problem =
        is_member ? change(member, name, value, wall) : change(wanted, name, value);
    if (problem) return {error_answer(400, *problem), false};
  }
  if (last_way_in && wanted.mode == Mode::refuse && wanted.for_seconds <= 0)
    return {error_answer(400,
                         "mode=refuse needs for=SECONDS, or --control for a separate control port"),
            false};
  membership_ = std::move(member);
  if (changes_switches) {  // a change of the role alone does not extend a time limit
    switches_ = wanted;
    set_at_ = now;
  }
  return {{200, write(now), {}}, changes_switches};
}

Effects Control::decide(Purpose purpose, const RequestParts& request, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  ++requests_[static_cast<std::size_t>(purpose)];
  if (purpose != Purpose::ping) {
    last_timeout_ = request.timeout_ms;
    last_target_ = request.target;
    last_body_ = request.body.substr(0, kKeptBody);
  }
  const auto effects = demo::decide(current_locked(now), purpose, now - set_at_, dice_);
  if (effects.mode != Mode::ok || effects.error || effects.overloaded) ++disturbed_;
  return effects;
}

void Control::connection_opened() {
  const std::lock_guard lock(mutex_);
  ++opened_;
  ++open_;
}

void Control::connection_closed() {
  const std::lock_guard lock(mutex_);
  --open_;
}

std::string Control::write(Clock::time_point now) const {
  return fmt::format(
      R"({{{},"switches":{},"member":{},"updates":{},"requests":{{"search":{},"sql":{},"ping":{},)"
      R"("update":{},"other":{},"disturbed":{}}},)"
      R"("connections":{{"accepted":{},"open":{}}},"last":{{"timeout_ms":{},"target":{},"body":{}}}}})",
      description_, write_switches(current_locked(now)), write_membership(membership_),
      membership_.updates, requests_[0], requests_[1], requests_[2], requests_[3], requests_[4],
      disturbed_, opened_, open_, json_string(last_timeout_), json_string(last_target_),
      json_string(last_body_));
}

}  // namespace karmad::demo
