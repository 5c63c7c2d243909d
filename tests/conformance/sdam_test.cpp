#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/state.hpp"
#include "tests/conformance/json_files.hpp"

namespace karmad::conformance {
namespace {

using namespace std::chrono_literals;

constexpr Micros kTrip = 1ms;

std::string lower(std::string text) {
  for (auto& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return text;
}

/// `host:port` in lower case; 27017 where no port is named.
std::string address(const std::string& written) {
  const auto bracket = written.rfind(']');
  const auto has_port = written.find(':', bracket == written.npos ? 0 : bracket) != written.npos;
  return lower(has_port ? written : written + ":27017");
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  while (true) {
    const auto end = text.find(by);
    if (const auto part = text.substr(0, end); !part.empty()) parts.emplace_back(part);
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// `mongodb://HOST,HOST/?OPTION=VALUE&OPTION=VALUE`
struct Uri {
  std::vector<std::string> hosts;
  std::map<std::string, std::string> options;

  bool is(const std::string& option) const {
    const auto found = options.find(option);
    return found != options.end() && found->second == "true";
  }
};

Uri parse_uri(std::string_view text) {
  constexpr std::string_view kScheme = "mongodb://";
  if (!text.starts_with(kScheme)) throw std::runtime_error("no mongodb:// in the uri");
  text.remove_prefix(kScheme.size());
  const auto query = text.find("/?");
  Uri uri;
  for (const auto& host : split(text.substr(0, std::min(query, text.find('/'))), ','))
    uri.hosts.push_back(address(host));
  if (query == text.npos) return uri;
  for (const auto& option : split(text.substr(query + 2), '&')) {
    const auto equals = option.find('=');
    if (equals == option.npos) throw std::runtime_error("no value for " + option);
    uri.options[option.substr(0, equals)] = option.substr(equals + 1);
  }
  return uri;
}

std::string as_body(const Json& value) {
  rapidjson::StringBuffer out;
  rapidjson::Writer writer(out);
  value.Accept(writer);
  return {out.GetString(), out.GetSize()};
}

/// The field of that name, if there is one and it is not null.
const Json* given(const Json& object, std::string_view name) {
  const auto* value = field(object, name);
  return value != nullptr && value->IsNull() ? nullptr : value;
}

bool is_true(const Json& answer, std::string_view name) {
  const auto* value = field(answer, name);
  return value != nullptr && value->IsBool() && value->GetBool();
}

bool is_ok(const Json& answer) {
  const auto* ok = field(answer, "ok");
  return ok != nullptr && ok->IsNumber() && ok->GetDouble() == 1;
}

std::optional<std::string> text_in(const Json& object, std::string_view name) {
  const auto* value = field(object, name);
  return value != nullptr && value->IsString() ? std::optional(text(*value)) : std::nullopt;
}

Role role_in(const Json& answer) {
  if (is_true(answer, "isreplicaset")) return Role::ghost;
  if (text_in(answer, "msg") == "isdbgrid") return Role::router;
  if (!text_in(answer, "setName")) return Role::standalone;
  if (is_true(answer, "hidden")) return Role::other;
  if (is_true(answer, "isWritablePrimary") || is_true(answer, "ismaster")) return Role::primary;
  if (is_true(answer, "secondary")) return Role::replica;
  if (is_true(answer, "arbiterOnly")) return Role::arbiter;
  return Role::other;
}

std::optional<VersionMark> version_in(const Json& answer) {
  const auto* version = given(answer, "topologyVersion");
  if (version == nullptr) return std::nullopt;
  return VersionMark{object_id(required(*version, "processId")),
                     whole(required(*version, "counter"))};
}

Description description_in(const Json& answer) {
  Description told;
  told.role = role_in(answer);
  told.set = text_in(answer, "setName");
  if (const auto me = text_in(answer, "me")) told.me = address(*me);
  if (const auto* id = given(answer, "electionId")) told.election_id = object_id(*id);
  if (const auto* version = given(answer, "setVersion")) told.set_version = whole(*version);
  told.version = version_in(answer);
  const auto* wire = given(answer, "maxWireVersion");
  told.api = wire != nullptr && whole(*wire) >= 17 ? 2 : 1;  // how elections are compared
  return told;
}

std::vector<std::string> members_in(const Json& answer) {
  std::vector<std::string> members;
  for (const auto* list : {"hosts", "passives", "arbiters"})
    for (const auto* host : elements(answer, list)) members.push_back(address(text(*host)));
  return members;
}

std::string_view server_type(Role role) {
  switch (role) {
    case Role::unknown:
      return "Unknown";
    case Role::primary:
      return "RSPrimary";
    case Role::replica:
      return "RSSecondary";
    case Role::arbiter:
      return "RSArbiter";
    case Role::other:
      return "RSOther";
    case Role::ghost:
      return "RSGhost";
    case Role::standalone:
      return "Standalone";
    case Role::router:
      return "Mongos";
  }
  return "";
}

std::string_view topology_type(const SetState& state) {
  switch (state.picture().kind) {
    case SetKind::unknown:
      return "Unknown";
    case SetKind::direct:
      return "Single";
    case SetKind::flat:
      return "Sharded";
    case SetKind::roles:
      return state.primary() ? "ReplicaSetWithPrimary" : "ReplicaSetNoPrimary";
    case SetKind::balanced:
      return "LoadBalanced";
  }
  return "";
}

/// Plays one file: its mirrors are all that it ever names, since membership is configured here.
class SdamPlay {
 public:
  explicit SdamPlay(const Json& file)
      : uri_(parse_uri(text(required(file, "uri")))),
        addresses_(all_addresses(uri_, file)),
        state_(settings(uri_), members(addresses_)) {}

  void phase(const Json& phase) {
    for (const auto* response : elements(phase, "responses")) {
      if (!response->IsArray() || response->Size() != 2)
        throw std::runtime_error("a response is no pair");
      answer(position(text((*response)[0])), (*response)[1]);
    }
    for (const auto* error : elements(phase, "applicationErrors")) meet(*error);
    compare(required(phase, "outcome"));
  }

 private:
  static std::vector<std::string> all_addresses(const Uri& uri, const Json& file) {
    auto all = uri.hosts;
    for (const auto* phase : elements(file, "phases"))
      for (const auto* response : elements(*phase, "responses"))
        for (const auto& member : members_in((*response)[1]))
          if (std::ranges::find(all, member) == all.end()) all.push_back(member);
    return all;
  }

  static SetSettings settings(const Uri& uri) {
    SetSettings settings{.ping_interval = 10s};
    if (const auto set = uri.options.find("replicaSet"); set != uri.options.end()) {
      settings.kind = SetKind::roles;
      settings.name = set->second;
    }
    if (uri.is("directConnection")) settings.kind = SetKind::direct;
    if (uri.is("loadBalanced")) {
      settings.kind = SetKind::balanced;
      settings.pinged = false;
    }
    return settings;
  }

  static std::vector<Member> members(const std::vector<std::string>& addresses) {
    std::vector<Member> members;
    for (const auto& each : addresses) members.push_back({.address = each});
    return members;
  }

  std::size_t position(const std::string& written) const {
    const auto found = std::ranges::find(addresses_, address(written));
    if (found == addresses_.end()) throw std::runtime_error(written + " is nowhere a member");
    return static_cast<std::size_t>(found - addresses_.begin());
  }

  void answer(std::size_t mirror, const Json& answer) {
    now_ += 1s;
    if (!is_ok(answer)) {
      const auto broken = answer.IsObject() && answer.ObjectEmpty();
      state_.failed(mirror, broken ? PingFailure::network : PingFailure::answer, "failed", now_);
      return;
    }
    state_.answered(mirror, description_in(answer), kTrip, now_);
    if (state_.picture().kind == SetKind::roles && state_.primary() == mirror)
      remove_others(members_in(answer));
  }

  /// A primary's list of members removes servers that it does not contain, itself included. Here
  /// only the configuration does; the closest event is a mirror that no longer answers.
  void remove_others(const std::vector<std::string>& members) {
    for (std::size_t i = 0; i < addresses_.size(); ++i)
      if (std::ranges::find(members, addresses_[i]) == members.end())
        state_.failed(i, PingFailure::answer, "not a member", now_);
  }

  void meet(const Json& met) {
    now_ += 1s;
    const auto mirror = position(text(required(met, "address")));
    const auto type = text(required(met, "type"));
    UseError error;
    if (type == "command") {
      const auto& response = required(met, "response");
      const auto found = state_error(ErrorBody(as_body(response)));
      if (!found) return;
      error = *found;
      error.version = version_in(response);  // spelled in their way
    } else {
      error.what = type == "timeout" ? UseError::What::timeout : UseError::What::network;
      if (type != "timeout" && type != "network") throw std::runtime_error("unknown type " + type);
    }
    error.when = text(required(met, "when")) == "beforeHandshakeCompletes"
                     ? UseError::When::connecting
                     : UseError::When::in_use;
    const auto* generation = field(met, "generation");
    error.generation = generation != nullptr ? static_cast<std::uint64_t>(whole(*generation))
                                             : state_[mirror].generation;
    state_.on_error(mirror, error, now_);
  }

  void compare(const Json& outcome) const {
    EXPECT_EQ(topology_type(state_), text(required(outcome, "topologyType")));
    const auto& servers = required(outcome, "servers");
    std::set<std::size_t> named;
    for (const auto& server : servers.GetObject()) {
      const auto mirror = position(text(server.name));
      named.insert(mirror);
      compare(mirror, server.value);
    }
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      if (named.contains(i)) continue;
      EXPECT_EQ(state_.facts(i).role, Role::unknown) << addresses_[i];
    }
  }

  void compare(std::size_t mirror, const Json& server) const {
    SCOPED_TRACE(addresses_[mirror]);
    const auto& known = state_[mirror];
    const auto role = state_.facts(mirror).role;
    const auto type = text(required(server, "type"));
    EXPECT_EQ(server_type(role), type == "PossiblePrimary" ? "Unknown"
                                 : type == "LoadBalancer"  ? "Mongos"  // that is always there
                                                           : type);
    if (const auto* pool = field(server, "pool"); pool != nullptr) {
      EXPECT_EQ(known.generation, static_cast<std::uint64_t>(whole(required(*pool, "generation"))));
    }
    if (field(server, "topologyVersion") != nullptr) {
      EXPECT_EQ(known.version, version_in(server));
    }
    if (const auto error = text_in(server, "error")) {
      EXPECT_NE(known.why.find(*error), std::string::npos) << known.why;
    }
    if (role == Role::unknown) return;  // what it said last is no longer true
    const auto wanted = description_in(server);
    if (wanted.set) {
      EXPECT_EQ(known.description.set, wanted.set);
    }
    if (wanted.election_id) {
      EXPECT_EQ(known.description.election_id, wanted.election_id);
    }
    if (wanted.set_version) {
      EXPECT_EQ(known.description.set_version, wanted.set_version);
    }
  }

  Uri uri_;
  std::vector<std::string> addresses_;
  SetState state_;
  TimePoint now_{};
};

class Sdam : public ::testing::TestWithParam<DataFile> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Sdam);

constexpr std::string_view kFolder = "server-discovery-and-monitoring/tests";
INSTANTIATE_TEST_SUITE_P(, Sdam, ::testing::ValuesIn(files_below(kFolder)), by_name);

// SD-008, SD-009, SD-014 … SD-016, SD-020 … SD-024
TEST_P(Sdam, TakesTheMirrorsAsTheFileSays) {
  const auto file = read(GetParam(), {"description", "uri", "phases"});
  SCOPED_TRACE(text(required(file, "description")));
  SdamPlay play(file);
  std::size_t number = 0;
  for (const auto* phase : elements(file, "phases")) {
    SCOPED_TRACE(fmt::format("phase {}", ++number));
    play.phase(*phase);
  }
  EXPECT_GT(number, 0U);
}

}  // namespace
}  // namespace karmad::conformance
