#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "balancer/discovery/mirror_source.hpp"
#include "balancer/discovery/source_connection.hpp"

namespace karmad {

/// A source that is read over HTTP: what its coroutine and its owner share.
class Following {
 public:
  Following(DiscoverySource from, SourceRun with)
      : source(std::move(from)), run(std::move(with)), timer_(run.door->io()) {}

  const DiscoverySource source;
  SourceRun run;

  bool stopped() const { return stopped_; }
  void stop() {
    stopped_ = true;
    timer_.cancel();
    if (connection_) connection_->close();
  }
  void report(std::expected<FoundEntries, std::string> entries) {
    good_ = entries.has_value();
    if (!stopped_) run.report(std::move(entries));
  }
  /// The server whose turn it is.
  const Address& server() const { return source.servers[turn_ % source.servers.size()]; }

  /// A new connection; the former one is closed.
  SourceConnection& connection() {
    connection_ = std::make_unique<SourceConnection>(run.door);
    return *connection_;
  }
  boost::asio::awaitable<void> pause(Micros time);
  /// After a failure: the turn of the next server. The pause doubles up to ten seconds, and is
  /// random in its second half.
  boost::asio::awaitable<void> back_off() {
    ++turn_;
    pause_ = std::exchange(good_, false) ? kLeastPause : std::min(pause_ * 2, kLongestPause);
    std::uniform_int_distribution<std::int64_t> part(pause_.count() / 2, pause_.count());
    return pause(Micros(part(random_)));
  }

 private:
  static constexpr Micros kLeastPause = 250ms;
  static constexpr Micros kLongestPause = 10s;

  boost::asio::steady_timer timer_;
  std::unique_ptr<SourceConnection> connection_;
  std::size_t turn_ = 0;
  Micros pause_ = kLeastPause;
  std::minstd_rand random_{std::random_device{}()};
  bool good_ = false;
  bool stopped_ = false;
};

/// Runs `session` again and again until it is destroyed. A session returns why it has failed.
class FollowedSource final : public MirrorSource {
 public:
  using Session = boost::asio::awaitable<std::string> (*)(std::shared_ptr<Following>);

  FollowedSource(const DiscoverySource& source, SourceRun run, Session session)
      : following_(std::make_shared<Following>(source, std::move(run))) {
    boost::asio::co_spawn(following_->run.door->io(), follow(following_, session),
                          boost::asio::detached);
  }
  ~FollowedSource() override { following_->stop(); }

 private:
  static boost::asio::awaitable<void> follow(std::shared_ptr<Following> of, Session session);

  const std::shared_ptr<Following> following_;
};

}  // namespace karmad
