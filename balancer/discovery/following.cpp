#include "balancer/discovery/following.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <expected>

namespace karmad {

boost::asio::awaitable<void> Following::pause(Micros time) {
  if (stopped_) co_return;
  timer_.expires_after(time);
  co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

boost::asio::awaitable<void> FollowedSource::follow(std::shared_ptr<Following> of,
                                                    Session session) {
  while (!of->stopped()) {
    const auto server = text(of->server());
    auto why = co_await session(of);
    if (of->stopped()) break;
    of->report(std::unexpected(server + ": " + why));
    co_await of->back_off();
  }
}

}  // namespace karmad
