#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "agent/transport/http/http_head.hpp"
#include "agent/transport/pool.hpp"
#include "balancer/discovery/discovery.hpp"

namespace karmad {

struct ReplyLimits;

/// Ends what its owner waits for, one wait at a time, and all later waits at once.
class Ending {
 public:
  explicit Ending(Loop& loop) : loop_(loop) {}
  void request() {
    requested_ = true;
    if (current_ != nullptr) current_->request(StopReason::cancelled);
  }
  bool requested() const { return requested_; }

  /// While it lives, a request ends what waits with its stop.
  class Wait {
   public:
    explicit Wait(Ending& of) : stop(of.loop_), of_(of) {
      of.current_ = &stop;
      if (of.requested_) stop.request(StopReason::cancelled);
    }
    Wait& operator=(Wait&&) = delete;
    ~Wait() { of_.current_ = nullptr; }
    Stop stop;

   private:
    Ending& of_;
  };

 private:
  Loop& loop_;
  Stop* current_ = nullptr;
  bool requested_ = false;
};

struct SourceRequest {
  std::string target;
  std::string body;  ///< empty: a GET, else a POST of JSON
};

/// Whether it may stand in a field of HTTP: not empty, not too long, ASCII without blanks.
bool is_sound_token(std::string_view token);

/// Asks one server of a source over HTTP, with TLS if that is its access; each request has a
/// connection of its own. The loop's thread only. Every step has a time limit, and fails after
/// `ending`; texts are bounded by kLongestSource. References must stay valid until the step has
/// ended.
class SourceClient {
 public:
  template <class T>
  using Step = Task<std::expected<T, std::string>>;
  struct Done {};

  SourceClient(const SourceRun& run, const SourceAccess& access, const Address& server,
               Ending& ending);

  /// The token in its file, which is sent as `Bearer`; empty without a file.
  std::expected<std::string, std::string> token() const;
  /// From now on sends this instead, or nothing if it is empty; without a value, that again.
  void authorization(std::optional<std::string> words) { authorization_ = std::move(words); }
  /// The answer, whose status must be 200.
  Step<std::string> ask(const SourceRequest& request);
  /// The same for an answer without an end, which next_line() reads.
  Step<Done> watch(const SourceRequest& request);
  /// Its next line; nothing: none came in that time, and none will. The end is an error.
  Step<std::optional<std::string>> next_line(Micros longest);
  /// Closes what is open. Must be awaited before the destruction.
  Task<void> close();

 private:
  Step<Done> send(const SourceRequest& request, ReplyLimits limits);
  /// False: nothing came in that time.
  Step<bool> read_some(Micros longest);
  bool take(std::string_view bytes);

  Loop& loop_;
  const SourceAccess& access_;
  Ending& ending_;
  const std::shared_ptr<PlainServer> server_;
  ConnectionLimits limits_{1, {.kept = 0}};
  Pool pool_;
  ConnectionPtr connection_;             ///< null: nothing more comes
  std::uint64_t left_ = 0;               ///< Reply::left
  std::unique_ptr<ChunkedBody> chunks_;  ///< Reply::chunks
  std::optional<std::string> authorization_;
  std::string text_;          ///< of the answer, not handed out yet
  std::size_t searched_ = 0;  ///< bytes of it without the end of a line
};

/// A source that is read over HTTP: what its task and its owner share.
class Following {
 public:
  Following(DiscoverySource from, SourceRun with)
      : source(std::move(from)), run(std::move(with)), ending_(run.loop) {}

  const DiscoverySource source;
  SourceRun run;

  bool stopped() const { return ending_.requested(); }
  void stop() { ending_.request(); }
  void report(std::expected<FoundEntries, std::string> entries) {
    good_ = entries.has_value();
    if (!stopped()) run.report(std::move(entries));
  }
  /// The server whose turn it is.
  const Address& server() const { return source.servers[turn_ % source.servers.size()]; }
  SourceClient client() { return {run, source.access, server(), ending_}; }

  Task<void> pause(Micros time);
  /// After a failure: the turn of the next server. The pause doubles up to ten seconds, and is
  /// random in its second half.
  Task<void> back_off() {
    ++turn_;
    pause_ = std::exchange(good_, false) ? kLeastPause : std::min(pause_ * 2, kLongestPause);
    std::uniform_int_distribution<std::int64_t> part(pause_.count() / 2, pause_.count());
    return pause(Micros(part(random_)));
  }

 private:
  static constexpr Micros kLeastPause = 250ms;
  static constexpr Micros kLongestPause = 10s;

  Ending ending_;
  std::size_t turn_ = 0;
  Micros pause_ = kLeastPause;
  std::minstd_rand random_{std::random_device{}()};
  bool good_ = false;
};

/// Runs `session` again and again until it is destroyed. A session returns why it has failed.
class FollowedSource final : public MirrorSource {
 public:
  using Session = Task<std::string> (*)(Following&, SourceClient&);

  FollowedSource(const DiscoverySource& source, SourceRun run, Session session)
      : following_(std::make_shared<Following>(source, std::move(run))) {
    spawn(follow(following_, session));
  }
  ~FollowedSource() override { following_->stop(); }

 private:
  static Task<void> follow(std::shared_ptr<Following> of, Session session);

  const std::shared_ptr<Following> following_;
};

}  // namespace karmad
