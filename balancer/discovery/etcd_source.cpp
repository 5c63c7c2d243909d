#include "balancer/discovery/source_json.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "agent/json/json_tree.hpp"
#include "agent/stats/document.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "balancer/discovery/following.hpp"
#include "config/text/number_in.hpp"

namespace karmad {
namespace {

/// The first key behind all with the prefix.
std::string range_end(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (end.empty()) return std::string(1, '\0');  // etcd's word for: no end
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

/// etcd writes numbers as texts; also takes a number.
std::optional<std::uint64_t> number_member(const JsonValue* of, std::string_view name) {
  const auto* found = member_of(of, name);
  if (found != nullptr && found->IsUint64()) return found->GetUint64();
  return number_in<std::uint64_t>(text_of(found));
}

/// The error that etcd answers instead.
std::string etcd_error(const JsonValue& value) {
  const auto* error = member_of(&value, "error");
  if (error == nullptr) return {};
  if (const auto text = text_member(*error, "message"); !text.empty())
    return fmt::format("etcd says: {}", text.substr(0, 200));
  return fmt::format("etcd says: {}", shown(*error));
}

constexpr Micros kReadAgain = 60s;  // without a change, in case a watch is dead
constexpr Micros kGather = 100ms;   // changes that come together are read together
constexpr Micros kAfterWrong = 1s;  // until a wrong value is read again

/// Until a key changes, the watch ends, or it is time to read again. Returns an error of the
/// connection; else nothing.
Task<std::string> watch_keys(Following& of, SourceClient& client, std::uint64_t revision) {
  const SourceRequest watch{"/v3/watch", watch_request(of.source.name, revision)};
  const auto begun = co_await client.watch(watch);
  if (!begun) co_return begun.error();
  for (;;) {
    const auto line = co_await client.next_line(kReadAgain);
    if (!line) co_return line.error();
    if (!*line) co_return std::string();
    const auto note = read_watch_line(**line);
    if (!note) co_return note.error();
    if (*note == EtcdNote::nothing) continue;
    co_await of.pause(kGather);
    co_return std::string();
  }
}

/// With USER:PASSWORD in the file of the token, gets a token from etcd, which is sent from then on.
/// Returns an error; else nothing.
Task<std::string> log_in(SourceClient& client) {
  client.authorization(std::nullopt);
  const auto user = client.token();
  if (!user) co_return user.error();
  if (!user->contains(':')) co_return std::string();
  client.authorization(std::string());
  const SourceRequest request{"/v3/auth/authenticate", login_request(*user)};
  auto token = co_await client.ask(request);
  if (token) token = read_login(*token);
  if (!token) co_return "authentication failed: " + token.error();
  client.authorization(*std::move(token));
  co_return std::string();
}

Task<std::string> etcd_session(Following& of, SourceClient& client) {
  const SourceRequest all_keys{"/v3/kv/range", range_request(of.source.name)};
  bool works = false;
  while (!of.stopped()) {
    if (!works) {
      auto why = co_await log_in(client);
      if (!why.empty()) co_return why;
    }
    const auto answer = co_await client.ask(all_keys);
    // A token of etcd ends after minutes: asks once more with another.
    if (!answer && std::exchange(works, false)) continue;
    if (!answer) co_return answer.error();
    works = true;
    auto range = read_range(*answer);
    if (!range) {
      // Not the connection's fault, and another server would answer the same.
      of.report(std::unexpected(range.error()));
      co_await of.pause(kAfterWrong);
      continue;
    }
    of.report(std::move(range->entries));
    auto why = co_await watch_keys(of, client, range->revision + 1);
    if (!why.empty()) co_return why;
  }
  co_return std::string();
}

}  // namespace

std::string range_request(std::string_view prefix) {
  return fmt::format(R"({{"key":"{}","range_end":"{}","limit":"{}"}})", base64_of(prefix),
                     base64_of(range_end(prefix)), kMostEntries + 1);
}

std::string watch_request(std::string_view prefix, std::uint64_t revision) {
  return fmt::format(
      R"({{"create_request":{{"key":"{}","range_end":"{}","start_revision":"{}"}}}})",
      base64_of(prefix), base64_of(range_end(prefix)), revision);
}

std::string login_request(std::string_view user) {
  const auto colon = user.find(':');
  return json_object([&](Document& out) {
    out.text("name", user.substr(0, colon));
    out.text("password", user.substr(colon + 1));
  });
}

std::expected<std::string, std::string> read_login(std::string_view json) {
  const auto document = parse_source(json);
  if (!document) return std::unexpected(document.error());
  if (auto error = etcd_error(*document); !error.empty()) return std::unexpected(error);
  std::string token(text_member(*document, "token"));
  if (!is_sound_token(token))
    return std::unexpected("not an answer of etcd: it has no token that can be sent");
  return token;
}

std::expected<EtcdRange, std::string> read_range(std::string_view json) {
  const auto document = parse_source(json);
  if (!document) return std::unexpected(document.error());
  if (auto error = etcd_error(*document); !error.empty()) return std::unexpected(error);
  EtcdRange range;
  const auto revision = number_member(member_of(&*document, "header"), "revision");
  if (!revision) return std::unexpected("not an answer of etcd: it has no header.revision");
  range.revision = *revision;
  for (const auto& pair : list_member(*document, "kvs")) {
    const auto key = bytes_of_base64(text_member(pair, "key"));
    const auto value = bytes_of_base64(text_member(pair, "value"));
    if (!key || !value) return std::unexpected("a key or value is not in base64");
    const auto content = parse_source(*value);
    auto entry = content ? read_entry(*content) : std::unexpected(content.error());
    if (!entry)
      return std::unexpected(fmt::format("key {}: {}", key->substr(0, 200), entry.error()));
    range.entries.push_back(*std::move(entry));
  }
  if (auto sound = check_entries(range.entries); !sound) return std::unexpected(sound.error());
  return range;
}

std::expected<EtcdNote, std::string> read_watch_line(std::string_view line) {
  const auto document = parse_source(line);
  if (!document) return std::unexpected(document.error());
  if (auto error = etcd_error(*document); !error.empty()) return std::unexpected(error);
  const auto* result = member_of(&*document, "result");
  if (result == nullptr) return std::unexpected("not an answer of etcd: it has no result");
  const auto* cancelled = member_of(result, "canceled");
  if (cancelled != nullptr && cancelled->IsTrue()) return EtcdNote::lost;  // also: compacted
  return list_member(*result, "events").empty() ? EtcdNote::nothing : EtcdNote::changed;
}

std::unique_ptr<MirrorSource> follow_etcd(const DiscoverySource& source, SourceRun run) {
  return std::make_unique<FollowedSource>(source, std::move(run), etcd_session);
}

}  // namespace karmad
