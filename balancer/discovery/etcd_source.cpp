#include "balancer/discovery/etcd_json.hpp"
#include "balancer/discovery/following.hpp"

namespace karmad {
namespace {

constexpr Micros kReadAgain = 60s;  // without a change, in case a watch is dead
constexpr Micros kGather = 100ms;   // changes that come together are read together
constexpr Micros kAfterWrong = 1s;  // until a wrong value is read again

/// Until a key changes, the watch ends, or it is time to read again. Returns an error of the
/// connection; else nothing.
boost::asio::awaitable<std::string> watch_keys(std::shared_ptr<Following> of,
                                               std::uint64_t revision) {
  auto& connection = of->connection();
  const SourceRequest watch{"/v3/watch", watch_request(of->source.name, revision)};
  const auto begun = co_await connection.begin(of->server(), watch, of->run.dns);
  if (!begun) co_return begun.error();
  for (;;) {
    const auto line = co_await connection.next_line(kReadAgain);
    if (!line) co_return line.error();
    if (!*line) co_return std::string();
    const auto note = read_watch_line(**line);
    if (!note) co_return note.error();
    if (*note == EtcdNote::nothing) continue;
    if (*note == EtcdNote::changed) co_await of->pause(kGather);
    co_return std::string();
  }
}

boost::asio::awaitable<std::string> etcd_session(std::shared_ptr<Following> of) {
  const SourceRequest all_keys{"/v3/kv/range", range_request(of->source.name)};
  while (!of->stopped()) {
    auto& connection = of->connection();
    const auto begun = co_await connection.begin(of->server(), all_keys, of->run.dns);
    if (!begun) co_return begun.error();
    const auto answer = co_await connection.rest();
    if (!answer) co_return answer.error();
    auto range = read_range(*answer);
    if (!range) {
      // Not the connection's fault, and another server would answer the same.
      of->report(std::unexpected(range.error()));
      co_await of->pause(kAfterWrong);
      continue;
    }
    of->report(std::move(range->entries));
    auto why = co_await watch_keys(of, range->revision + 1);
    if (!why.empty()) co_return why;
  }
  co_return std::string();
}

}  // namespace

std::unique_ptr<MirrorSource> follow_etcd(const DiscoverySource& source, SourceRun run) {
  return std::make_unique<FollowedSource>(source, std::move(run), etcd_session);
}

}  // namespace karmad
