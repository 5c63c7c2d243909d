#include "balancer/discovery/following.hpp"
#include "balancer/discovery/kubernetes_json.hpp"

namespace karmad {
namespace {

constexpr Micros kLongestSilence = 330s;  // the API server ends a watch after 300 s
constexpr std::size_t kMostPages = 100;

/// Reads all pages; the error, or nothing.
boost::asio::awaitable<std::string> list_slices(std::shared_ptr<Following> of, SliceList& all) {
  for (std::size_t page = 0; page < kMostPages; ++page) {
    auto& connection = of->connection();
    const SourceRequest request{slices_target(of->source.name, all.more), {}};
    const auto begun = co_await connection.begin(of->server(), request, of->run.dns);
    if (!begun) co_return begun.error();
    const auto answer = co_await connection.rest();
    if (!answer) co_return answer.error();
    auto list = read_slice_list(*answer);
    if (!list) co_return list.error();
    all.slices.merge(list->slices);
    all.version = std::move(list->version);
    all.more = std::move(list->more);
    if (all.more.empty()) co_return std::string();
  }
  co_return std::string("the list has no end");
}

/// Follows the changes until the watch ends. Returns an error; else nothing.
boost::asio::awaitable<std::string> watch_slices(std::shared_ptr<Following> of, SliceList& all) {
  auto& connection = of->connection();
  const SourceRequest request{slices_watch_target(of->source.name, all.version), {}};
  const auto begun = co_await connection.begin(of->server(), request, of->run.dns);
  if (!begun) co_return begun.error();
  for (;;) {
    const auto line = co_await connection.next_line(kLongestSilence);
    // The end of a watch is ordinary: a new list follows, and its errors count.
    if (!line || !*line) co_return std::string();
    const auto event = read_slice_event(**line);
    if (!event) co_return event.error();
    if (event->kind == SliceEvent::Kind::expired) co_return std::string();
    apply(*event, all.slices);
    if (event->kind != SliceEvent::Kind::bookmark) of->report(merged(all.slices, of->source.port));
  }
}

boost::asio::awaitable<std::string> kubernetes_session(std::shared_ptr<Following> of) {
  constexpr Micros kBetweenLists = 1s;  // at least, should watches end at once
  while (!of->stopped()) {
    SliceList all;
    auto why = co_await list_slices(of, all);
    if (!why.empty()) co_return why;
    of->report(merged(all.slices, of->source.port));
    why = co_await watch_slices(of, all);
    if (!why.empty()) co_return why;
    co_await of->pause(kBetweenLists);
  }
  co_return std::string();
}

}  // namespace

std::unique_ptr<MirrorSource> follow_kubernetes(const DiscoverySource& source, SourceRun run) {
  return std::make_unique<FollowedSource>(source, std::move(run), kubernetes_session);
}

}  // namespace karmad
