#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <expected>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "agent/transport/dns.hpp"
#include "balancer/discovery/mirror_source.hpp"

namespace karmad {

struct SourceRequest {
  std::string target;
  std::string body;  ///< empty: a GET, else a POST of JSON
};

/// A connection to a source over HTTP, with TLS if that is its access, for one request. Main thread
/// only. Every step has a time
/// limit, and fails after close(); texts are bounded by kLongestSource. References must stay valid
/// until the step has ended.
class SourceConnection {
 public:
  template <class T>
  using Step = boost::asio::awaitable<std::expected<T, std::string>>;
  struct Done {};

  SourceConnection(std::shared_ptr<MainThreadExecutor> door, const SourceAccess& access)
      : door_(std::move(door)), access_(access), stream_(door_->io()) {}

  /// Connects, sends the request and reads the head of the answer, whose status must be 200.
  Step<Done> begin(const Address& server, const SourceRequest& request, const DnsSettings& dns);
  /// The rest of the answer.
  Step<std::string> rest();
  /// The next line of the answer; nothing: none came in that time. The end is an error.
  Step<std::optional<std::string>> next_line(Micros longest);

  void close();

 private:
  using Encrypted = boost::asio::ssl::stream<boost::beast::tcp_stream&>;

  Step<Done> connect(const Address& server, const DnsSettings& dns);
  Step<Done> encrypt(const Address& server);
  Step<std::size_t> read_some(Micros longest);
  /// `step` on the stream that carries HTTP.
  template <class OnStream>
  auto over(OnStream step) {
    return encrypted_ ? step(*encrypted_) : step(stream_);
  }

  const std::shared_ptr<MainThreadExecutor> door_;
  const SourceAccess& access_;
  boost::beast::tcp_stream stream_;
  std::optional<boost::asio::ssl::context> context_;
  std::optional<Encrypted> encrypted_;
  boost::beast::flat_buffer buffer_{64 << 10};
  std::optional<boost::beast::http::response_parser<boost::beast::http::buffer_body>> parser_;
  std::string text_;          ///< of the body, not handed out yet
  std::size_t searched_ = 0;  ///< bytes of it without the end of a line
  bool timed_out_ = false;
  bool closed_ = false;
};

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
    connection_ = std::make_unique<SourceConnection>(run.door, source.access);
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
